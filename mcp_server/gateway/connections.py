"""Connections up to 2025-11-25, as far as a gateway must know them: whose each is, so that it can be ended."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_server.gateway.requests import header
from mcp_server.gateway.verified import VERIFIED, Verified
from mcp_server.store.polling import poll
from mcp_server.store.protocol import Store

log = structlog.get_logger("gateway")

POLL = 1.0
"""Seconds between two looks at what was revoked. No request waits for it: each is looked at by itself."""

FEWEST_OF_ONE = 20
"""Connections that one person may have in any case, by whatever clients: a dozen programs and what they left behind."""

KEPT = ("type", "asgi", "http_version", "scheme", "server", "client", "root_path", "path", "raw_path", "user", "auth")
"""What of a request's scope must be there for another one in its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    names: tuple[str, ...]
    whose: str
    """The person or program, by whatever clients."""
    key: str
    """The principal that the connection is bound to."""
    scope: Mapping[str, Any]


class Connections:
    """Stands in front of the SDK's application, and ends in it what an operator ends, as a client ends it."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        """`most`: connections that the application holds at once."""
        self._app = app
        self._most = most
        self._most_of_one = max(FEWEST_OF_ONE, most // 10)
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        given = header(scope, MCP_SESSION_ID_HEADER)
        if given in self._known:
            self._known.move_to_end(given)

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, given, message)
            await send(message)

        await self._app(scope, receive, noting)
        if given is None and VERIFIED in scope:
            await self._make_room(scope[VERIFIED].principal.beginning)

    def _note(self, scope: Scope, given: str | None, answer: Message) -> None:
        """One that was opened is known from then on; one that is not there any more is forgotten."""
        verified: Verified | None = scope.get(VERIFIED)
        if given is not None:
            known = self._known.get(given)
            theirs = known is not None and verified is not None and known.key == verified.principal.key
            if theirs and (answer["status"] == 404 or (scope["method"] == "DELETE" and answer["status"] < 400)):
                del self._known[given]
            return
        name = MCP_SESSION_ID_HEADER.encode()
        opened = next((value.decode("latin-1") for key, value in answer["headers"] if key.lower() == name), None)
        if opened is None or verified is None or answer["status"] >= 400:
            return
        self._known[opened] = _Known(
            names=verified.principal.names,
            whose=verified.principal.beginning,
            key=verified.principal.key,
            scope={key: scope[key] for key in KEPT if key in scope},
        )
        # Those that ended in silence were never heard of again: the ones silent longest.
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    async def _make_room(self, whose: str) -> None:
        """So that nobody's connections take everybody's: of too many of one person's the one silent longest ends."""
        theirs = [number for number, known in self._known.items() if known.whose == whose]
        for number in theirs[: max(0, len(theirs) - self._most_of_one)]:
            await self._finish(number)
            log.info("a connection was ended, as its holder has many newer ones", name=whose)

    async def run(self, store: Store) -> None:
        """Until cancelled: end those of whoever was revoked, by whatever process. A store that cannot be read is looked at again."""
        seen = max((one.seq for one in await store.revoked_after(0)), default=0)

        async def look() -> None:
            nonlocal seen
            for one in await store.revoked_after(seen):
                await self._end(one.name)
                seen = one.seq

        await poll(look, every=POLL)

    async def _end(self, name: str) -> None:
        for number in [number for number, known in self._known.items() if name in known.names]:
            await self._finish(number)
            log.info("a connection was ended, as everything of its holder's was", name=name)

    async def _finish(self, number: str) -> None:
        known = self._known.pop(number, None)
        if known is None:
            return
        headers = [(MCP_SESSION_ID_HEADER.encode(), number.encode("latin-1"))]
        await self._app({**known.scope, "method": "DELETE", "query_string": b"", "headers": headers}, _empty, _nowhere)


async def _empty() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nowhere(_message: Message) -> None:
    """Nobody reads the answer."""
