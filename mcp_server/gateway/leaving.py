"""How a gateway ends: it takes nothing new, lets what is under way come to its end for a while, and cuts what then is left.

What a call began goes on: runs stay stored, and the next process, or another one on the same store, takes them up.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

import anyio
import structlog
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_server.gateway.requests import NAMED, Named
from mcp_server.gateway.streams import LISTEN
from mcp_server.gateway.turning_away import as_event, error_of, not_now
from mcp_server.protocol.http import Serves

log = structlog.get_logger("gateway")

AGAIN = 5.0
"""Seconds after which a client is told to ask again: about what a restart takes."""

PARTING = 1.5
"""Seconds for what only waits to say so and go."""

MOMENT = 0.3
"""Seconds without a call after which none is expected: an answer is often followed by a look at the lists."""

ENDING = "This gateway is ending, and takes nothing new. Ask again in a few seconds."
BEGIN = frozenset({"initialize", "server/discover", "tools/call", LISTEN, "resources/subscribe"})
"""What begins something. Whatever else is asked may be a part of what is under way: the SDK's client reads `tools/list` once a call has
ended, and loses the call's result without it.
"""
CUT = (
    "This gateway ended before the call did. What the call began goes on once the gateway is there again: ask for it with task_status, "
    "or make the same call again."
)


Kind = Literal["call", "listening", "stream"]
"""Of what is under way: somebody waits for its answer; it ends with an answer once it is asked to end; it has no end of its own."""


class Leaving:
    """Whether the server is on its way out, how far, and what is still under way."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: for what is under way."""
        self._seconds = seconds
        self._asked = anyio.Event()
        self._under_way: dict[anyio.CancelScope, Kind] = {}
        self._changed = anyio.Event()
        self.over = False
        """Nothing is left to wait for."""

    @property
    def begun(self) -> bool:
        """Nothing new is taken any more."""
        return self._asked.is_set()

    def begin(self) -> None:
        """Be on the way out from now on."""
        self._asked.set()

    def count(self, *kinds: Kind) -> int:
        """How much of these kinds is under way."""
        return sum(kind in kinds for kind in self._under_way.values())

    @contextmanager
    def entered(self, kind: Kind) -> Generator[anyio.CancelScope]:
        """Something is under way, until the scope is left."""
        with anyio.CancelScope() as scope:
            self._under_way[scope] = kind
            self._ring()
            try:
                yield scope
            finally:
                del self._under_way[scope]
                self._ring()

    def _ring(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def run(self, part: Callable[[], None]) -> None:
        """Once begun, see to the end. `part`: has requests that only wait for something answered as far as they are."""
        await self._asked.wait()
        log.info("ending: nothing new is taken", calls=self.count("call"), seconds=self._seconds)
        await self._quiet(self._seconds, "call")
        part()
        await self._quiet(PARTING, "call", "listening")
        if calls := self.count("call"):
            log.warning("calls that did not come to their end are cut off; what they began goes on", calls=calls)
        for scope in tuple(self._under_way):
            scope.cancel()
        with anyio.move_on_after(PARTING):
            while self._under_way:
                await self._changed.wait()
        self.over = True

    async def _quiet(self, seconds: float, *kinds: Kind) -> None:
        """Until nothing of these kinds was under way for a moment, at most so long."""
        with anyio.move_on_after(seconds):
            while True:
                while self.count(*kinds):
                    await self._changed.wait()
                with anyio.move_on_after(MOMENT) as moment:
                    await self._changed.wait()
                if moment.cancelled_caught:
                    return


def orderly(config: Any, leaving: Leaving) -> Serves:
    """Uvicorn's server, which is over when `leaving` is. A first signal begins that, a second one ends at once."""
    import uvicorn  # noqa: PLC0415 - heavy, and stdio needs none of it

    class Orderly(uvicorn.Server):
        """One server."""

        signals = 0

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """In the middle of anything: takes note, and no more."""
            self.signals += 1
            if self.signals > 1:
                # Not uvicorn's `force_exit`, which also leaves out the end of what it serves.
                self.config.timeout_graceful_shutdown = 0
                super().handle_exit(sig, frame)

        async def on_tick(self, counter: int) -> bool:
            """Ten times a second."""
            if self.signals:
                leaving.begin()
            return await super().on_tick(counter) or leaving.over

    return Orderly(config)


class UnderWay:
    """Behind the door: counts requests, turns new ones away at the end, and ends streams in order."""

    def __init__(self, app: ASGIApp, leaving: Leaving) -> None:
        self._app = app
        self._leaving = leaving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        named: Named | None = scope.get(NAMED)
        asked = named if named is not None and named.asks else None
        if self._leaving.begun and (scope["method"] == "GET" or (asked is not None and asked.method in BEGIN)):
            await not_now(named, 503, ENDING, AGAIN)(scope, receive, send)
            return
        answer = _Answer(send)
        with self._leaving.entered(_kind(asked)) as cut:
            await self._app(scope, receive, answer)
        if cut.cancelled_caught:
            await answer.ended(asked, scope, receive)


def _kind(asked: Named | None) -> Kind:
    if asked is None:
        return "stream"
    return "listening" if asked.method == LISTEN else "call"


class _Answer:
    """What was sent of one answer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started: Message | None = None
        self._done = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = message
        self._done = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def ended(self, named: Named | None, scope: Scope, receive: Receive) -> None:
        """End it as its reader expects one to end, whatever was sent of it. `named`: whose answer is missing."""
        if self._done:
            return
        if self._started is None:
            await JSONResponse(error_of(named, CUT), 500)(scope, receive, self._send)
            return
        streamed = any(
            name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in self._started["headers"]
        )
        body = as_event(error_of(named, CUT)) if named is not None and streamed else b""
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
