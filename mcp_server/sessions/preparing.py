"""A fresh look at what a call asks for: does it make sense, and which permissions would it need? Nothing happens here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from mcp_server.errors import NoSuchHandle, ToolFailure
from mcp_server.policy.chain import Authority
from mcp_server.policy.decide import decide, opinions_of
from mcp_server.policy.values import Action, PathValue, PlainValue, Request, ToolCall
from mcp_server.records import CallEnded
from mcp_server.sessions import refusals
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.looking import Look
from mcp_server.sessions.models.base import MALFORMED
from mcp_server.sessions.work import AnyTool, SessionContext, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call that makes sense."""

    tool: AnyTool
    arguments: BaseModel
    context: SessionContext
    requests: tuple[Request, ...]


class Preparing:
    """Reads calls against the deployment's tools."""

    def __init__(self, deployment: Deployment, tools: Mapping[str, AnyTool]) -> None:
        self._deployment = deployment
        self._tools = tools

    def prepare(self, work: Work, look: Look) -> Prepared | CallEnded:
        """The call with all that its decision needs, or why it makes no sense. Nothing has happened yet."""
        tool = self._tools.get(work.call.tool)
        shown = look.standing.definition.tools if look.standing.definition else None
        if tool is None or (shown is not None and work.call.tool not in shown):
            known = ", ".join(name for name in self._tools if shown is None or name in shown)
            return refusals.failed(work.call, f"{work.session.agent} has no tool `{work.call.tool}`; it has: {known or 'none'}")
        if MALFORMED in work.call.arguments:
            return refusals.failed(
                work.call, f"`{work.call.tool}` needs a JSON object of arguments; what came was none, and nothing was done"
            )
        context = self._context(work, look)
        try:
            arguments = tool.spec.arguments.model_validate(dict(work.call.arguments))
            requests = tool.requests(arguments, context)
        except ValidationError as error:
            return refusals.failed(work.call, malformed(work.call, error))
        except (ToolFailure, NoSuchHandle) as error:
            return refusals.failed(work.call, str(error))
        if work.looping:
            requests = (*requests, Request(permission="doom_loop", values=(PlainValue(text=work.call.tool),)))
        return Prepared(tool=tool, arguments=arguments, context=context, requests=requests)

    def _context(self, work: Work, look: Look) -> SessionContext:
        def readable(paths: Sequence[PathValue]) -> Sequence[bool]:
            return [may_read(look.authority, path) for path in paths]

        def closings(permission: str, paths: Sequence[PathValue]) -> Sequence[frozenset[str]]:
            return [said_against(look.authority, permission, path) for path in paths]

        def allowed(request: Request) -> bool:
            return decide(look.authority, (request,)).action is Action.ALLOW

        return SessionContext(
            session_id=work.session.id,
            session_path=look.standing.path,
            workspace=Path(work.session.workspace),
            outputs=self._deployment.outputs / work.session.id,
            store=self._deployment.store,
            readable=readable,
            closings=closings,
            allowed=allowed,
            progress=work.progress,
            environment=self._deployment.environment,
            call=work.call,
            standing=look.standing,
            run=work.run,
            authority=look.authority,
        )


def may_read(authority: Authority, path: PathValue) -> bool:
    """Would `read` be allowed for this file now, without asking anybody?"""
    return decide(authority, (Request(permission="read", values=(path,)),)).action is Action.ALLOW


def said_against(authority: Authority, permission: str, path: PathValue) -> frozenset[str]:
    """The denies and asks that rules say of it."""
    said = opinions_of(authority, permission, path, {})
    return frozenset(f"{each.layer.owner}: {each.rule}" for each in said if each.action is not None and each.action is not Action.ALLOW)


def malformed(call: ToolCall, error: ValidationError) -> str:
    """What is wrong with a call's arguments, for the model."""
    faults = [f"- {'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}" for fault in error.errors()]
    return f"`{call.tool}` was called with arguments it does not take; nothing was done:\n" + "\n".join(faults)
