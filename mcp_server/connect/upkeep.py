"""Keeping a session up to 2025-11-25: its stream of what the server sends unasked, its opening again, its end."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio
import httpx2
from anyio.abc import TaskGroup

from mcp_server.connect.messages import Answer, Unreadable, notification_text, read, request_text
from mcp_server.connect.reaching import Failed, Server
from mcp_server.connect.receiving import is_stream, received
from mcp_server.connect.sessions import Opened, Session

POST = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
GET = {"accept": "text/event-stream", "cache-control": "no-store"}

PAUSE = 1.0
"""Seconds before a stream that broke is opened again, where the server names no other; doubled each time that fails."""
_LONGEST_PAUSE = 30.0

_NONE_OFFERED = (400, 404, 405)
"""What a server without such a stream answers."""


class Upkeep:
    """Of one bridge's session, whichever it is just now."""

    group: TaskGroup
    """Where streams are listened to."""

    def __init__(self, server: Server, session: Session, passed: Callable[[str], Awaitable[None]], say: Callable[[str], None]) -> None:
        """`passed`: given what the host is to get."""
        self._server = server
        self._session = session
        self._passed = passed
        self._say = say
        self._reopening = anyio.Lock()
        self._own = 0

    def listen(self, opened: Opened) -> None:
        """Pass on what the server sends of its own accord, for as long as the session lasts."""
        if opened.id is not None:
            self.group.start_soon(self._listen, opened)

    async def reopen(self, ended: Opened) -> None:
        """The host's own handshake again, and what it had set up, unless another request has brought that about already.

        Raises:
            Failed: The server does not open another.
        """
        async with self._reopening:
            if self._session.now is not ended or self._session.opening is None:
                return
            result, session_id = await self._request("initialize", self._session.opening, {})
            if result.get("protocolVersion") != ended.version:
                raise Failed("the server has changed and speaks another version now; start the connection in your client anew")
            opened = self._session.opened(self._session.opening, result, session_id)
            async with self._server.exchange("POST", {**POST, **opened.headers}, notification_text("notifications/initialized")):
                pass
            for method, params in self._session.again():
                with suppress(Failed):
                    await self._request(method, params, opened.headers)
            self.listen(opened)
        self._say("the server had ended the session; a new one is open")
        for method in self._session.changes():
            await self._passed(notification_text(method))

    async def leave(self) -> None:
        """End the session at the server, if that is to be had."""
        opened = self._session.now
        if opened is None or opened.id is None:
            return
        with suppress(Failed, httpx2.HTTPError):
            async with self._server.exchange("DELETE", opened.headers, pauses=(), ask=False):
                pass

    async def _request(self, method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Mapping[str, Any], str | None]:
        """The result of a request that the host did not make, and the session that it opened."""
        self._own += 1
        number = f"remit-connect-{self._own}"
        async with self._server.exchange("POST", {**POST, **headers}, request_text(number, method, params)) as answer:
            if answer.status_code == 200:
                async for event in received(answer):
                    with suppress(Unreadable):
                        message = read(event.text)
                        if isinstance(message, Answer) and message.id == number and message.result is not None:
                            return message.result, answer.headers.get("mcp-session-id")
        raise Failed(f"{self._server.shown} has ended the session and opens no other; start the connection in your client anew")

    async def _listen(self, opened: Opened) -> None:
        """Asks nobody to sign in: a stream that nobody waits for is no reason to."""
        stream = _Stream()
        while self._session.now is opened:
            wait = stream.pause
            with suppress(Failed, httpx2.HTTPError):
                status = await self._listened(opened, stream)
                if status == 404 and stream.held:
                    break
                if status in _NONE_OFFERED:
                    return
                wait = stream.wait
            await anyio.sleep(wait)
            stream.pause = min(2 * stream.pause, _LONGEST_PAUSE)
        with suppress(httpx2.HTTPError):
            try:
                await self.reopen(opened)
            except Failed as error:
                self._say(str(error))

    async def _listened(self, opened: Opened, stream: "_Stream") -> int:
        """Hold the stream once, to its end. The status that it was answered with."""
        headers = {**GET, **opened.headers, **({"last-event-id": stream.last} if stream.last else {})}
        async with self._server.exchange("GET", headers, pauses=(), ask=False) as answer:
            if is_stream(answer):
                stream.held, stream.pause, stream.wait = True, PAUSE, PAUSE
                async for event in received(answer):
                    stream.last = event.id or stream.last
                    stream.wait = stream.wait if event.retry is None else event.retry
                    if event.text:
                        await self._passed(event.text)
            return answer.status_code


class _Stream:
    """How far a stream has been read."""

    def __init__(self) -> None:
        self.last = ""
        """By which it is taken up again."""
        self.held = False
        """Has it been open? Only then a 404 says that the session has ended."""
        self.pause = PAUSE
        self.wait = PAUSE
        """Before it is opened again, as the server wants it."""
