"""What somebody may see in a store, and do there: what came about for them, by whatever program; and of others what their roles open."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mcp_server.gateway.oversight import Oversight
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import Principal, TokenPrincipal, is_machines, principal_of
from mcp_server.records import Prompt, PromptState, SessionRecord
from mcp_server.sessions.events import looked
from mcp_server.sessions.standing_rulings import Ruled, read_ruled
from mcp_server.settings.vocabulary import Role
from mcp_server.store.protocol import Store, StoredAudit

NOBODY: Mapping[str, frozenset[Role]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """One person's part of a store, as one request found it. What is not theirs, nor opened by a role, is answered as what is not there."""

    store: Store
    by: str
    """Who looks: what their answers are signed with."""
    keys: tuple[str, ...]
    """The principals whose things are theirs, `by` among them."""
    over: Mapping[str, frozenset[Role]] = field(default_factory=lambda: NOBODY)
    """Other principals, and what this person is over them."""
    oversight: Oversight | None = None
    """None: they have no role."""

    # ---- which principals -----------------------------------------------------------------------

    @property
    def read(self) -> tuple[str, ...]:
        """Those of whom everything may be read: their own, and an auditor's."""
        return (*self.keys, *(key for key, roles in self.over.items() if "auditor" in roles))

    @property
    def listed(self) -> tuple[str, ...]:
        """Those whose sessions may be seen as a list: what is read, and an operator's."""
        return (*self.keys, *(key for key, roles in self.over.items() if roles & {"auditor", "operator"}))

    def is_own(self, principal: str) -> bool:
        """Is it theirs, by whatever program?"""
        return principal in self.keys

    def roles_over(self, principal: str) -> frozenset[Role]:
        """What they are over somebody else."""
        return self.over.get(principal, frozenset())

    def named(self, principal: str) -> str:
        """Whose something is, for a page; empty: their own."""
        who = principal_of(principal)
        if self.is_own(principal) or not isinstance(who, TokenPrincipal) or self.oversight is None:
            return ""
        teams = self.oversight.teams_of(principal)
        return f"for {self.oversight.called(who)}" + "".join(f" · team {team}" for team in teams)

    async def tell(self, at: float, what: str, *, others: Collection[str], ref: str = "") -> None:
        """Keep in the audit that this person looks at what is others', before it is shown. `others`: whose a page may show."""
        if not set(others) <= set(self.keys):
            await self.store.audit((looked(at, self.by, f"looked at {what}", ref),))

    # ---- things ---------------------------------------------------------------------------------

    async def prompt(self, prompt_id: str) -> Prompt | None:
        """One prompt of theirs, or of somebody else's that a role of theirs reads or answers."""
        for key in self.read:
            if (found := await self.store.prompt(prompt_id, key)) is not None:
                return found
        for key in self.over:
            found = await self.store.prompt(prompt_id, key)
            if found is not None and (self.answers_as(found) or (found.answer is not None and found.answer.by == self.by)):
                return found
        return None

    def answers_as(self, prompt: Prompt) -> tuple[str, ...]:
        """The roles by which they may answer what somebody else was asked. Empty: they may not."""
        return () if self.oversight is None or self.is_own(prompt.principal) else self.oversight.answers_as(prompt)

    async def open_prompts(self) -> tuple[Prompt, ...]:
        """What waits for them, oldest first: their own, and what their roles must answer."""
        found = [one for key in self.keys for one in await self.store.prompts(principal=key, state=PromptState.OPEN)]
        others = await self.oversight.answerable() if self.oversight is not None else ()
        return tuple(sorted((*found, *(one for one in others if not self.is_own(one.principal))), key=lambda one: one.created_at))

    async def session(self, session_id: str) -> SessionRecord | None:
        """One session that they may see. Whether its content is shown goes by `reads`."""
        for key in self.listed:
            if (found := await self.store.session(session_id, key)) is not None:
                return found
        return None

    def reads(self, session: SessionRecord) -> bool:
        """May they read what it did? An operator sees that it works, and not what it reads and writes."""
        return session.principal in self.read

    def may_end(self, session: SessionRecord) -> bool:
        """May they end it, or what runs in it? Who looks after others' sessions may; an auditor reads."""
        return self.is_own(session.principal) or "operator" in self.roles_over(session.principal)

    async def roots(self) -> tuple[SessionRecord, ...]:
        """Sessions of their clients."""
        return tuple([one for key in self.keys for one in await self.store.sessions(key, roots=True)])

    async def ruled(self, *, now: float, own: bool = False) -> list[Ruled]:
        """What was ruled and still stands, oldest first. `own`: by or for this person alone."""
        found = [one for key in (self.keys if own else self.read) for one in await read_ruled(self.store, key, now=now)]
        return sorted(found, key=lambda one: one.record.created_at)

    async def audit(self, *, session_id: SessionId | None, before: int | None, limit: int) -> list[StoredAudit]:
        """The newest `limit` events, oldest of them first. `before`: of those whose `seq` is smaller."""
        found: list[StoredAudit] = []
        for key in self.read:
            found += await self.store.audit_log(principal=key, session_id=session_id, before=before, limit=limit)
        return sorted(found, key=lambda one: one.seq)[-limit:]


async def belongings_of(principal: Principal, store: Store) -> Belongings:
    """What is theirs now. A person is one subject of one issuer, by whatever client; a program that acts for itself is itself alone, and
    is never taken for the person who may be called the same.
    """
    others: tuple[str, ...] = ()
    if isinstance(principal, TokenPrincipal) and not principal.is_machine:
        others = tuple(key for key in await store.principals(principal.beginning) if not is_machines(key))
    return Belongings(store=store, by=principal.key, keys=tuple(dict.fromkeys((principal.key, *others))))


async def with_roles(mine: Belongings, oversight: Oversight) -> Belongings:
    """The same, and what this person's roles open of others that have a session here."""
    over: dict[str, frozenset[Role]] = {}
    for key in await mine.store.principals('["'):
        if not mine.is_own(key) and (roles := oversight.roles_over(key)):
            over[key] = roles
    return Belongings(store=mine.store, by=mine.by, keys=mine.keys, over=MappingProxyType(over), oversight=oversight)
