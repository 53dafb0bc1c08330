"""Whose a request is, from what the reception said of it."""

from typing import Any

from mcp.server.context import ServerRequestContext
from starlette.requests import Request as HttpRequest

from mcp_server.errors import RemitError
from mcp_server.gateway.reception import RECEIVED
from mcp_server.gateway.seen import seen_of
from mcp_server.protocol.calls import Noted
from mcp_server.protocol.lines import Line
from mcp_server.sessions.front import Caller
from mcp_server.telemetry.base import Telemetry

Request = ServerRequestContext[Line, Any]


class NobodyKnown(RemitError):
    """A request over HTTP that came past no door. It is not answered."""


class Callers:
    """Who makes a request, asked anew for each."""

    def __init__(self, local: Caller, *, known_only: bool) -> None:
        """`known_only`: over HTTP nobody is served whose token was not checked."""
        self._local = local
        self._known_only = known_only

    def __call__(self, ctx: Request) -> Caller:
        """The caller.

        Raises:
            NobodyKnown: Nobody said who it is, and somebody had to.
        """
        request: HttpRequest | None = ctx.request
        found = None if request is None else request.scope.get(RECEIVED)
        if isinstance(found, Caller):
            return found
        if self._known_only and request is not None:
            raise NobodyKnown("the request came past no door")
        return self._local


def noting(telemetry: Telemetry) -> Noted:
    """Has what came of a call stand in the access log, with the place of its span."""

    def note(ctx: Request, verdict: str) -> None:
        request: HttpRequest | None = ctx.request
        if request is not None:
            seen = seen_of(request.scope)
            seen.verdict, seen.trace = verdict, telemetry.here()

    return note
