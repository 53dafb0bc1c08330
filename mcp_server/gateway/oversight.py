"""What somebody may see and do of what is another's, by their roles. Whose things those are is told by the teams of their owner."""

from dataclasses import dataclass

from mcp_server.principal import TokenPrincipal, same_person
from mcp_server.records import ApprovalSubject, Prompt, PromptState
from mcp_server.sessions.book import Rulebook
from mcp_server.sessions.memberships import membership_in
from mcp_server.settings.membership import Membership
from mcp_server.settings.vocabulary import ROLES, Role
from mcp_server.store.protocol import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversight:
    """One person's view of the others, as settings are now."""

    store: Store
    rulebook: Rulebook
    by: TokenPrincipal
    membership: Membership

    async def teams_of(self, principal: str) -> tuple[str, ...]:
        """The teams of a principal, by its key."""
        known = await membership_in(self.store, self.rulebook, principal)
        return () if known is None else known.teams

    async def roles_over(self, principal: str) -> frozenset[Role]:
        """What they are over somebody else; nothing over themselves, by whatever client."""
        if same_person(self.by.key, principal):
            return frozenset()
        teams = await self.teams_of(principal)
        return frozenset(role for role in ROLES if self.membership.holds(role, teams))

    async def answers_as(self, prompt: Prompt) -> tuple[str, ...]:
        """The roles by which they may answer it, for `Answer.roles`. Empty: they may not."""
        if not isinstance(prompt.subject, ApprovalSubject) or not prompt.subject.answer_by or prompt.state is not PromptState.OPEN:
            return ()
        held = await self.roles_over(prompt.principal)
        return tuple(prompt.subject.answer_by) if held.issuperset(prompt.subject.answer_by) else ()

    async def answerable(self) -> tuple[Prompt, ...]:
        """The open prompts of others that wait for them, oldest first."""
        waiting = await self.store.prompts(state=PromptState.OPEN)
        return tuple([prompt for prompt in waiting if await self.answers_as(prompt)])
