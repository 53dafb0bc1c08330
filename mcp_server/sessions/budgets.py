"""Budgets: what a session, and what a whole tree, may use up before a person is asked whether it may go on; and the end of the day's use.

Looked at before each model turn. Nothing of it is kept but the prompts themselves: what was extended is read from their answers, so a
restart forgets nothing, and a tree's runs, in whichever process, stand before one and the same prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from mcp_server.errors import PersonAwaited, StoreError
from mcp_server.policy.chain import authority
from mcp_server.policy.values import Mode
from mcp_server.records import BudgetSubject, Choice, Prompt, PromptId, PromptState, Resource, RunRecord, SessionRecord
from mcp_server.sessions.allowance import used_up
from mcp_server.sessions.deployment import Budget, Deployment
from mcp_server.sessions.prompting import Prompting
from mcp_server.sessions.standing import standing_of
from mcp_server.sessions.wants import amount
from mcp_server.store.ids import derive
from mcp_server.store.spent import Spent

Scope = Literal["session", "tree"]

DIGESTS: Mapping[Scope, str] = {"session": "budget of a session: ", "tree": "budget of a tree: "}
"""What stands in a prompt for the call that it would be about. No call's digest looks like it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """One resource of one budget."""

    scope: Scope
    resource: Resource
    base: float
    spent: float

    @property
    def digest(self) -> str:
        return f"{DIGESTS[self.scope]}{self.resource}"


class Budgets:
    """Holds runs to their budgets."""

    def __init__(self, deployment: Deployment, prompting: Prompting) -> None:
        self._deployment = deployment
        self._prompting = prompting

    async def reached(self, session: SessionRecord, run: RunRecord) -> str | None:
        """Why the run is to end here, in words; None: it may go on.

        Raises:
            PersonAwaited: The person is asked.
        """
        today = await used_up(self._deployment, session.principal)
        if today is not None:
            return today  # nobody extends what a gateway gives: no one is asked
        for bound in await self._reached(session):
            words = await self._beyond(bound, session, run)
            if words is not None:
                return words
        return None

    async def tell(self, session: SessionRecord, waited_for: Sequence[str]) -> None:
        """Tell telemetry of the questions of this session that its run waited for and that were answered."""
        if not self._deployment.telemetry.on:
            return
        for prompt_id in [key for key in waited_for if key.startswith("prm_")]:
            prompt = await self._deployment.store.prompt(prompt_id, session.principal)
            asked_here = prompt is not None and prompt.session_id == session.id and isinstance(prompt.subject, BudgetSubject)
            if prompt is not None and asked_here and prompt.answer is not None:
                self._deployment.telemetry.prompt(prompt, "budget", prompt.answer.at)

    async def _reached(self, session: SessionRecord) -> list[_Bound]:
        """What is used up as far as the settings go, extensions left out."""
        found: list[_Bound] = []
        limits, store = self._deployment.limits, self._deployment.store
        if limits.session_budget != Budget():
            found += _used_up("session", limits.session_budget, await store.spent(session_id=session.id))
        if limits.tree_budget != Budget():
            found += _used_up("tree", limits.tree_budget, await store.spent(root_id=session.root_id))
        return found

    async def _beyond(self, bound: _Bound, session: SessionRecord, run: RunRecord) -> str | None:
        asked = await self._asked(bound, session)
        allowed = bound.base + sum(_extension(prompt) for prompt in asked)
        if bound.spent < allowed:
            return None
        last = asked[-1] if asked else None
        if last is not None and last.state is PromptState.OPEN:
            raise PersonAwaited(last.id)
        words = f"the {bound.scope}'s budget of {amount(bound.resource, allowed)}"
        if last is not None and last.created_at >= run.created_at:
            ended = _ended_by(last)
            if ended:
                return f"{words}; {ended}"
        if not await self._may_ask(session):
            return f"{words}; nobody can be asked to extend it"
        raise PersonAwaited(await self._ask(bound, session, run, allowed, len(asked)))

    async def _asked(self, bound: _Bound, session: SessionRecord) -> tuple[Prompt, ...]:
        store = self._deployment.store
        if bound.scope == "session":
            return await store.prompts(session_id=session.id, digest=bound.digest)
        return await store.prompts(root_id=session.root_id, digest=bound.digest)

    async def _may_ask(self, session: SessionRecord) -> bool:
        standing = await standing_of(self._deployment, session)
        current = authority(standing.members, standing.commons, ())
        return current.may_ask and current.mode is not Mode.DONT_ASK

    async def _ask(self, bound: _Bound, session: SessionRecord, run: RunRecord, allowed: float, before: int) -> PromptId:
        """Open the prompt, unless somebody in the tree has opened the very same one."""
        whose = session.id if bound.scope == "session" else session.root_id
        prompt_id = PromptId(derive("prm", f"{whose} {bound.digest} {before}".encode()))
        subject = BudgetSubject(scope=bound.scope, resource=bound.resource, allowed=allowed, spent=bound.spent, more=bound.base)
        try:
            await self._prompting.open_budget(prompt_id, session, subject, bound.digest, run)
        except StoreError:
            if await self._deployment.store.prompt(prompt_id, session.principal) is None:
                raise
        return prompt_id


def _used_up(scope: Scope, budget: Budget, spent: Spent) -> Iterator[_Bound]:
    for field in fields(budget):
        base: float | None = getattr(budget, field.name)
        resource: Resource = field.name  # pyright: ignore[reportAssignmentType] - the fields of a budget are the resources
        used: float = getattr(spent, resource)
        if base is not None and used >= base:
            yield _Bound(scope=scope, resource=resource, base=base, spent=used)


def _extension(prompt: Prompt) -> float:
    """What the person's answer added."""
    granted = prompt.answer is not None and prompt.answer.choice is Choice.ALLOW_ONCE
    return prompt.subject.more if granted and isinstance(prompt.subject, BudgetSubject) else 0.0


def _ended_by(prompt: Prompt) -> str:
    """How the question ended the run; empty: it did not."""
    match prompt.state:
        case PromptState.ANSWERED if prompt.answer is not None and prompt.answer.choice is Choice.DENY:
            return "the person did not extend it"
        case PromptState.EXPIRED:
            return f"nobody extended it: {prompt.reason}"
        case PromptState.UNASKABLE:
            return f"nobody could be asked to extend it: {prompt.reason}"
        case PromptState.OPEN | PromptState.ANSWERED | PromptState.WITHDRAWN:
            return ""
