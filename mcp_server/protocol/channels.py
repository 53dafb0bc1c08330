"""Which way to a person one request has, what of its client's own model it lends, and what it wants to hear."""

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.protocol.apps import Panel
from mcp_server.protocol.asking import Channel, Exhausted, Put, Visit, fresh
from mcp_server.protocol.asking_forms import FormChannel
from mcp_server.protocol.asking_links import LinkChannel
from mcp_server.protocol.asking_rounds import RoundChannel, RoundState
from mcp_server.protocol.lines import Line
from mcp_server.protocol.sampling import lent
from mcp_server.protocol.showing import Shape
from mcp_server.records import PromptId
from mcp_server.sessions.front import Open, Sampling
from mcp_server.tools.hearing import LEVELS, Level

Request = ServerRequestContext[Line, Any]


class Elsewhere:
    """The channel of a request whose client takes a handle: what is open is shown by that."""

    def carries(self, still: Open, put_off: frozenset[PromptId]) -> bool:
        return bool(still.prompts)

    async def put(self, still: Open, put_off: frozenset[PromptId]) -> Exhausted:
        return Exhausted()


class PanelChannel:
    """The channel of a request whose client is to show a panel: it leaves with what no panel has yet, since that is how one gets
    it. What a panel has is answered there while the request stays.
    """

    def __init__(self, visit: Visit, panel: Panel, turns: Channel | None) -> None:
        self._visit = visit
        self._panel = panel
        self._turns = turns
        """Carries what is asked of the client's own model."""

    def carries(self, still: Open, put_off: frozenset[PromptId]) -> bool:
        carried = self._turns is not None and self._turns.carries(still, put_off)
        return carried or self._panel.missing(self._visit.root, fresh(still, put_off))

    async def put(self, still: Open, put_off: frozenset[PromptId]) -> Put:
        if self._turns is not None and self._turns.carries(still, put_off):
            return await self._turns.put(still, put_off)
        return Exhausted()


def lends_of(ctx: Request, line: Line | None) -> Sampling:
    """What this request's client lends of its own model, where there is a way to ask it."""
    modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    reachable = modern or (line is not None and ctx.session.can_send_request)
    return lent(ctx.session.client_capabilities, ctx.protocol_version) if reachable else Sampling.NONE


def level_of(ctx: Request, line: Line | None) -> Level | None:
    """From which level up it wants log messages. From 2026-07-28 on the request itself says so; before, its connection did, or hears what
    is no mere detail. None: it wants none.
    """
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        said = dict(ctx.meta or {}).get(LOG_LEVEL_META_KEY)
        return next((level for level in LEVELS if level == said), None)
    return None if line is None else line.log_level


def channel_of(ctx: Request, visit: Visit, line: Line | None, back: RoundState | None, panel: Panel | None) -> Channel | None:
    """The way to a person that this request declares and settings prefer, or from 2026-07-28 on to whatever it lends; None: there is
    none.
    """
    modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    reached = modern or (line is not None and ctx.session.can_send_request)
    capabilities = ctx.session.client_capabilities if reached else None
    shape = visit.showing.shape(capabilities, ctx.protocol_version, principal=visit.principal.key, panel=panel is not None)
    opens = visit.showing.opens(capabilities, ctx.protocol_version)
    if modern:
        asked: Channel | None = RoundChannel(visit, back or RoundState(call=visit.call_id), shape, opens=opens)
    else:
        asked = _on_the_wire(ctx, visit, line, shape, opens=opens)
    return PanelChannel(visit, panel, asked) if shape == "panel" and panel is not None else asked


def _on_the_wire(ctx: Request, visit: Visit, line: Line | None, shape: Shape | None, *, opens: bool) -> FormChannel | LinkChannel | None:
    if line is None:
        return None
    if shape == "link":
        return LinkChannel(visit, session=ctx.session, request_id=ctx.request_id, lock=line.wire)
    if shape == "form" or opens:
        return FormChannel(visit, session=ctx.session, request_id=ctx.request_id, lock=line.wire, shape=shape, opens=opens)
    return None
