"""What a tool is lent for one call: its session's place, and answers of the rules as they were looked at for this very attempt."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mcp_server.elicited import ElicitationSubject
from mcp_server.policy.chain import Authority
from mcp_server.policy.decide import decide, opinions_of
from mcp_server.policy.values import Action, PathValue, Request
from mcp_server.sandbox.derive import Approval
from mcp_server.sandbox.enclosing import Enclosure
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.looking import Look
from mcp_server.sessions.work import SessionContext, Work


def context_of(deployment: Deployment, work: Work, look: Look) -> SessionContext:
    """What the call's tool is lent."""

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
        outputs=deployment.outputs / work.session.id,
        store=deployment.store,
        readable=readable,
        closings=closings,
        allowed=allowed,
        progress=work.progress,
        hearer=work.hearer,
        environment=deployment.environment,
        enclose=_enclose(deployment, work, look),
        call=work.call,
        elicit=_nobody,
        standing=look.standing,
        run=work.run,
        authority=look.authority,
    )


async def _nobody(_: ElicitationSubject) -> None:
    """Before the call is let through, nobody is asked for it."""


def _enclose(deployment: Deployment, work: Work, look: Look) -> Callable[[Approval], Enclosure] | None:
    """Draws each enclosure of one attempt once: it looks through the workspace."""
    enclosing = deployment.enclosing
    if enclosing is None:
        return None
    drawn: dict[Approval, Enclosure] = {}

    def enclose(approval: Approval) -> Enclosure:
        if approval not in drawn:
            drawn[approval] = enclosing.enclosure(look.authority, work.session.workspace, work.session.id, approval)
        return drawn[approval]

    return enclose


def may_read(authority: Authority, path: PathValue) -> bool:
    """Would `read` be allowed for this file now, without asking anybody?"""
    return decide(authority, (Request(permission="read", values=(path,)),)).action is Action.ALLOW


def said_against(authority: Authority, permission: str, path: PathValue) -> frozenset[str]:
    """The denies and asks that rules say of it."""
    said = opinions_of(authority, permission, path, {})
    return frozenset(f"{each.layer.owner}: {each.rule}" for each in said if each.action is not None and each.action is not Action.ALLOW)
