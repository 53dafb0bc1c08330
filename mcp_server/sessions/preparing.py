"""A fresh look at what a call asks for: does it make sense, and which permissions would it need? Nothing happens here."""

from dataclasses import dataclass, replace

from pydantic import BaseModel, ValidationError

from mcp_server.errors import NoSuchHandle, ToolFailure
from mcp_server.policy import rulings
from mcp_server.policy.values import PlainValue, Request, ToolCall
from mcp_server.policy.verdicts import Verdict
from mcp_server.records import CallEnded
from mcp_server.sessions import refusals
from mcp_server.sessions.lending import context_of
from mcp_server.sessions.looking import Look
from mcp_server.sessions.models.base import MALFORMED
from mcp_server.sessions.toolbox import Toolbox
from mcp_server.sessions.work import AnyTool, Foreseeing, SessionContext, Work
from mcp_server.tools.base import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call that makes sense."""

    tool: AnyTool
    spec: ToolSpec
    """The tool's, as it is for this call: `task`'s is made anew from the files each time."""
    arguments: BaseModel
    context: SessionContext
    requests: tuple[Request, ...]


class Preparing:
    """Reads calls against the deployment's tools."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def prepare(self, work: Work, look: Look) -> Prepared | CallEnded:
        """The call with all that its decision needs, or why it makes no sense. Nothing has happened yet."""
        name, named = work.call.tool, look.standing.definition.tools if look.standing.definition else None
        tool = await self._toolbox.find(work.session, name, named)
        if tool is None:
            return refusals.failed(work.call, self._toolbox.unknown(work.session, name, named))
        if MALFORMED in work.call.arguments:
            return refusals.failed(
                work.call, f"`{work.call.tool}` needs a JSON object of arguments; what came was none, and nothing was done"
            )
        context, spec = context_of(self._toolbox.deployment, work, look), tool.spec
        try:
            arguments = spec.arguments.model_validate(dict(work.call.arguments))
            requests = tool.requests(arguments, context)
            if isinstance(tool, Foreseeing):
                await tool.foresee(arguments, context)
        except ValidationError as error:
            return refusals.failed(work.call, malformed(work.call, error))
        except (ToolFailure, NoSuchHandle) as error:
            return refusals.failed(work.call, str(error))
        if work.looping:
            requests = (*requests, Request(permission="doom_loop", values=(PlainValue(text=work.call.tool),)))
        return Prepared(tool=tool, spec=spec, arguments=arguments, context=context, requests=requests)


def permitted(prepared: Prepared, look: Look, verdict: Verdict) -> Prepared:
    """The call with what its tool is told of the verdict that lets it run."""
    given = look.authority.rulings
    told = replace(
        prepared.context,
        judged=prepared.requests,
        lifted=rulings.lifted(verdict, given),
        in_person=rulings.in_person(verdict, given),
    )
    return replace(prepared, context=told)


def malformed(call: ToolCall, error: ValidationError) -> str:
    """What is wrong with a call's arguments, for the model."""
    faults = [f"- {'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}" for fault in error.errors()]
    return f"`{call.tool}` was called with arguments it does not take; nothing was done:\n" + "\n".join(faults)
