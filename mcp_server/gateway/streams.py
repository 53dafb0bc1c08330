"""Open streams: each lasts as long as the token that opened it counts and its caller is received, and no request can be longer than that
but one which waits for its own answer.
"""

from collections.abc import Awaitable, Callable

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOK = 10.0
"""Seconds between two looks whether a stream is still its caller's to have: so much longer it may last. One costs less than a request."""

LEAVE = 5.0
"""Seconds that the application has to leave a stream which is over, before it is broken off."""

LISTEN = "subscriptions/listen"
"""The request of 2026-07-28 whose answer is a stream without end. Up to 2025-11-25 it is the method GET."""

_HUNG_UP: Message = {"type": "http.disconnect"}


class Lasting:
    """Serves one stream until its token ends: to the application it looks as if the client had hung up, to the client as if the stream
    had come to its end, so that a client with a newer token opens another.
    """

    def __init__(self, app: ASGIApp, counts: Callable[[], Awaitable[bool]], look: float) -> None:
        """`counts`: does the token still count, for the same caller? `look`: seconds between two questions."""
        self._app = app
        self._counts = counts
        self._look = look
        self._over = anyio.Event()
        self._open = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, group.cancel_scope)
            await self._app(scope, self._heard(receive), self._noting(send))
            group.cancel_scope.cancel()
        if self._open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, scope: anyio.CancelScope) -> None:
        while True:
            await anyio.sleep(self._look)
            if not await self._counts():
                break
        self._over.set()
        await anyio.sleep(LEAVE)
        scope.cancel()

    def _heard(self, receive: Receive) -> Receive:
        """`receive`, until it is over."""

        async def heard() -> Message:
            found: list[Message] = []

            async def take(wait: Callable[[], Awaitable[Message]]) -> None:
                found.append(await wait())
                group.cancel_scope.cancel()

            async with anyio.create_task_group() as group:
                group.start_soon(take, receive)
                group.start_soon(take, self._ended)
            return found[0]

        return heard

    async def _ended(self) -> Message:
        await self._over.wait()
        return _HUNG_UP

    def _noting(self, send: Send) -> Send:
        """`send`; notes whether there is an answer that has begun and not ended."""

        async def noting(message: Message) -> None:
            self._open = message["type"] == "http.response.start" or bool(message.get("more_body", False))
            await send(message)

        return noting
