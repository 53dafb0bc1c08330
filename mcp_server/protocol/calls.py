"""One `tools/call`: attach to the call, stay with it as long as the request can, put its prompts, leave.

A visitor's work: the call is begun and goes on in the sessions room, whatever becomes of the request.
"""

from collections.abc import Callable
from typing import Any, Protocol, assert_never

import anyio
import structlog
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult
from pydantic import ValidationError

from mcp_server.protocol.apps import Panel, beside, declares_apps
from mcp_server.protocol.arriving import Arriving
from mcp_server.protocol.asking import Channel, Exhausted, LookAgain, Suspend, Visit
from mcp_server.protocol.asking_rounds import read_state, take_replies
from mcp_server.protocol.channels import Elsewhere, channel_of, lends_of, level_of
from mcp_server.protocol.company import Attached, accompanied, passed_on
from mcp_server.protocol.lines import Line
from mcp_server.protocol.param_headers import HeadersDisagree, refuse_unless_they_agree
from mcp_server.protocol.wire import ended, failure, misfit, tool_error, unknown_tool, waiting
from mcp_server.records import PromptId
from mcp_server.sessions.front import Caller, Ended, Open
from mcp_server.tools.base import SEPARATOR, ToolSpec

log = structlog.get_logger("protocol")

_GONE = "the client has gone"

RUNS, ASKS = "running", "a person is asked"
"""What is noted of calls that have not ended, beside the words of `Ending`."""

_AT_ONCE, _BEFORE_HANDLE = 0.25, 0.05
"""Seconds. A call that ends within them needs no company: no progress is due, and no reader has lost patience. The second holds for clients
that take a handle, which they are given soon.
"""

Request = ServerRequestContext[Line, Any]
CallerOf = Callable[[Request], Caller]
Noted = Callable[[Request, str], None]
"""Told of each call of a tool, once it is answered: what came of it, in a word or a few."""


def unnoted(ctx: Request, verdict: str) -> None:
    """Nobody wants to know."""


Told = CallToolResult | InputRequiredResult | dict[str, Any]
"""The last is a task: a shape that is the extension's own."""


class Keeper(Protocol):
    """Gives clients that take one a handle for a result that no request can wait for."""

    def keeps(self, ctx: Request, spec: ToolSpec) -> bool:
        """Does this request's client take handles, and may this tool's calls be kept?"""
        ...

    async def handed_over(self, ctx: Request, visit: Visit) -> dict[str, Any] | None:
        """The handle as it is told. None: the call has ended, or cannot be kept."""
        ...


class ToolCalls:
    """Answers `tools/call` in both eras. Not to be given to a server as `on_call_tool`, which knows no results that an extension claims."""

    def __init__(
        self,
        arriving: Arriving,
        *,
        caller_of: CallerOf,
        keeper: Keeper | None = None,
        panel: Panel | None = None,
        noted: Noted = unnoted,
    ) -> None:
        self._noted = noted
        self._arriving = arriving
        self._keeper = keeper
        self._panel = panel
        self._of_panel = frozenset(tool.name for tool in panel.tools()) if panel is not None else frozenset[str]()
        self._front = arriving.front
        self._caller_of = caller_of
        self._specs = {spec.name: spec for spec in self._front.specs()}

    async def __call__(self, ctx: Request, params: CallToolRequestParams) -> Told:
        """The result, one more round, or a task. What goes wrong is told as far as it is anybody's business.

        Raises:
            HeadersDisagree: The request says two different things.
        """
        panel = self._panel if self._panel is not None and declares_apps(ctx) else None
        if panel is not None and params.name in self._of_panel:
            return await self._panelled(ctx, panel, params)
        try:
            spec = self._specs.get(params.name) or await self._foreign(ctx, params)
            if spec is None:
                return unknown_tool(params.name, tuple(self._specs), self._front.wrong_with(self._caller_of(ctx), params.name))
            keeper = self._keeper if self._keeper is not None and self._keeper.keeps(ctx, spec) else None
            return await self._answered(ctx, spec, params, panel, keeper)
        except HeadersDisagree:
            raise  # an error of HTTP, for whoever wrote the client
        except Exception as error:
            return failure(error, params.name)

    async def made(self, ctx: Request, spec: ToolSpec, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """What comes of a request that is no `tools/call`, and goes the same way: without a panel, and with no handle for later."""
        try:
            told = await self._answered(ctx, spec, params, None, None)
        except Exception as error:
            return failure(error, spec.name)
        return told if not isinstance(told, dict) else failure(TypeError("a handle that nobody can take"), spec.name)

    async def _foreign(self, ctx: Request, params: CallToolRequestParams) -> ToolSpec | None:
        spec = await self._front.foreign(self._caller_of(ctx), params.name) if SEPARATOR in params.name else None
        if spec is not None and spec.foreign is not None:
            refuse_unless_they_agree(ctx, spec.foreign, params.arguments or {})
        return spec

    async def _answered(
        self, ctx: Request, spec: ToolSpec, params: CallToolRequestParams, panel: Panel | None, keeper: Keeper | None
    ) -> Told:
        try:
            return await self._answer(ctx, spec, params, panel, keeper)
        except ValidationError as error:
            return misfit(spec.name, error) if error.title == spec.arguments.__name__ else failure(error, spec.name)

    async def _panelled(self, ctx: Request, panel: Panel, params: CallToolRequestParams) -> CallToolResult:
        try:
            caller = self._caller_of(ctx)
            root, _ = await self._arriving.root(ctx, caller)
            return await panel.call(caller, root, params)
        except Exception as error:
            return failure(error, params.name)

    async def _answer(
        self, ctx: Request, spec: ToolSpec, params: CallToolRequestParams, panel: Panel | None, keeper: Keeper | None
    ) -> Told:
        caller = self._caller_of(ctx)
        root, line = await self._arriving.root(ctx, caller)
        back = read_state(params.request_state)
        visit = await self._arriving.visit(caller, root, spec.name, params.arguments or {}, back)
        attached = Attached(self._front, visit.call_id, visit.timing.leave)
        outcome: Ended | Open | Suspend | None = None
        lends = lends_of(ctx, line)
        self._front.lends(visit.call_id, lends)
        self._front.listens(visit.call_id, level_of(ctx, line))
        try:
            if back is None:
                outcome = await self._front.settle(root, visit.call_id, seconds=_AT_ONCE if keeper is None else _BEFORE_HANDLE)
                if isinstance(outcome, Ended):
                    await passed_on(ctx, visit)
                if isinstance(outcome, Ended) or (keeper is not None and spec.outlasts):
                    return await _handed(ctx, spec, visit, outcome, keeper)
            async with accompanied(ctx, visit, lends, attached) as asked:
                put_off = frozenset[PromptId]() if back is None else await take_replies(visit, back, params.input_responses or {})
                channel = channel_of(ctx, visit, line, back, panel) if keeper is None else Elsewhere()
                outcome = put_off if isinstance(put_off, Ended) else await _stay(visit, channel, put_off, _patience(visit, spec, keeper))
                attached.back = not isinstance(outcome, Ended)
                if asked is not None:
                    await asked.landed()
                told = await _handed(ctx, spec, visit, outcome, keeper)
                if panel is not None and isinstance(outcome, Open) and isinstance(told, CallToolResult):
                    return await beside(panel, caller, root, outcome, told)
                return told
            # Reached where the reader's going cut the stay short; nobody reads it.
            return tool_error(_GONE)
        finally:
            self._noted(ctx, _verdict_of(outcome))
            await attached.let_go()


def _patience(visit: Visit, spec: ToolSpec, keeper: Keeper | None) -> float:
    return visit.timing.task_after if keeper is not None and spec.foreign is not None else visit.timing.patience


async def _handed(ctx: Request, spec: ToolSpec, visit: Visit, outcome: Ended | Open | Suspend, keeper: Keeper | None) -> Told:
    """What came of the stay, or the handle where the call goes on. A call that goes on in the background has ended for its request only."""
    if keeper is not None and (isinstance(outcome, Open) or spec.outlasts):
        with anyio.fail_after(visit.timing.begin, shield=True):
            handle = await keeper.handed_over(ctx, visit)
        if handle is not None:
            return handle
    return _told(spec, outcome)


def _verdict_of(outcome: Ended | Open | Suspend | None) -> str:
    match outcome:
        case Ended(result=result):
            return result.ending.value
        case Open(prompts=prompts):
            return ASKS if prompts else RUNS
        case Suspend():
            return ASKS
        case None:
            return ""
        case _:
            assert_never(outcome)


def _told(spec: ToolSpec, outcome: Ended | Open | Suspend) -> CallToolResult | InputRequiredResult:
    match outcome:
        case Ended(result=result):
            return ended(spec, result)
        case Open():
            return waiting(spec, outcome)
        case Suspend(result=result):
            return result
        case _:
            assert_never(outcome)


async def _stay(visit: Visit, channel: Channel | None, put_off: frozenset[PromptId], patience: float) -> Ended | Open | Suspend:
    """Wait for the end of the call, putting its prompts; leave once no form has kept the request for `patience` seconds."""
    leave_at = anyio.current_time() + patience
    seen: frozenset[str] = put_off
    while True:
        seconds = max(0.0, leave_at - anyio.current_time())
        settled = await visit.front.settle(visit.root, visit.call_id, seconds=seconds, shown=tuple(seen))
        if isinstance(settled, Ended) or settled.parting:
            return settled
        if channel is not None and channel.carries(settled, put_off):
            put = await channel.put(settled, put_off)
            match put:
                case LookAgain(put_off=more):
                    put_off |= more
                    leave_at = anyio.current_time() + patience
                    seen = put_off
                    continue
                case Suspend() | Ended():
                    return put
                case Exhausted():
                    return settled
                case _:
                    assert_never(put)
        if anyio.current_time() >= leave_at or _held_up(settled, put_off):
            return settled
        seen = settled.ids


def _held_up(still: Open, put_off: frozenset[PromptId]) -> bool:
    """The person closed a form that the call itself waits for: to wait on would only keep the host."""
    return any(prompt.id in put_off and not prompt.background for prompt in still.prompts)
