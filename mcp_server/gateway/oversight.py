"""What somebody may see and do of what is another's, by their roles. Whose things those are is told by the teams of their owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mcp_server.principal import API_KEYS, LOCAL, TokenPrincipal, principal_of, same_person
from mcp_server.records import ApprovalSubject, Prompt, PromptState
from mcp_server.sessions.book import Rulebook
from mcp_server.settings.membership import Membership
from mcp_server.settings.vocabulary import ROLES, Role
from mcp_server.store.protocol import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversight:
    """One person's view of the others, as settings are now, for one page."""

    store: Store
    rulebook: Rulebook
    by: TokenPrincipal
    membership: Membership
    claims: Mapping[str, Mapping[str, Any]]
    """What issuers said last of everybody, by their principals: read once, however many there are."""
    several: bool = False
    """More than one issuer names people here, so that a name alone does not say who somebody is."""

    def teams_of(self, principal: str) -> tuple[str, ...]:
        """The teams of a principal, by its key."""
        who = principal_of(principal)
        known = None if who == LOCAL else self.rulebook.membership(who, self.claims.get(principal, {}))
        return () if known is None else known.teams

    def called(self, who: TokenPrincipal) -> str:
        """Somebody's name, for a page."""
        if who.issuer == API_KEYS:
            return f"the key {who.subject}"
        issuer = urlsplit(who.issuer)
        return f"{who.subject} of {issuer.netloc}{issuer.path.rstrip('/')}" if self.several else who.subject

    def roles_over(self, principal: str) -> frozenset[Role]:
        """What they are over somebody else who came by the gateway; nothing over themselves, by whatever client. Whose hands a machine's
        key is in nobody can tell: neither for it nor with it does somebody count as just another member. Who holds a role over somebody
        counts as one.
        """
        asker = principal_of(principal)
        if not isinstance(asker, TokenPrincipal) or same_person(self.by.key, principal):
            return frozenset()
        teams = self.teams_of(principal)
        named = frozenset[Role](role for role in ROLES if role != "member" and self.membership.holds(role, teams))
        anybody = not (asker.is_machine or self.by.is_machine) and self.membership.holds("member", teams)
        member: frozenset[Role] = frozenset({"member"}) if named or anybody else frozenset()
        return named | member

    def answers_as(self, prompt: Prompt) -> tuple[str, ...]:
        """The roles by which they may answer it, for `Answer.roles`. Empty: they may not."""
        if not isinstance(prompt.subject, ApprovalSubject) or not prompt.subject.answer_by or prompt.state is not PromptState.OPEN:
            return ()
        held = self.roles_over(prompt.principal)
        return tuple(prompt.subject.answer_by) if held.issuperset(prompt.subject.answer_by) else ()

    async def answerable(self) -> tuple[Prompt, ...]:
        """The open prompts of others that wait for them, oldest first."""
        waiting = await self.store.prompts(state=PromptState.OPEN)
        return tuple(prompt for prompt in waiting if self.answers_as(prompt))
