"""What in the store is one person's: everything that came about for them, by whatever program, and nothing of anybody else's."""

from dataclasses import dataclass

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import Principal, TokenPrincipal, is_machines
from mcp_server.records import Prompt, PromptState, SessionRecord
from mcp_server.sessions.standing_rulings import Ruled, read_ruled
from mcp_server.store.protocol import Store, StoredAudit


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """One person's part of a store, as one request found it. What is not theirs is answered as what is not there."""

    store: Store
    by: str
    """Who looks: what their answers are signed with."""
    keys: tuple[str, ...]
    """The principals whose things are theirs, `by` among them."""

    async def prompt(self, prompt_id: str) -> Prompt | None:
        """One prompt of theirs."""
        for key in self.keys:
            if (found := await self.store.prompt(prompt_id, key)) is not None:
                return found
        return None

    async def open_prompts(self) -> tuple[Prompt, ...]:
        """Oldest first."""
        found = [one for key in self.keys for one in await self.store.prompts(principal=key, state=PromptState.OPEN)]
        return tuple(sorted(found, key=lambda one: one.created_at))

    async def session(self, session_id: str) -> SessionRecord | None:
        """One session of theirs."""
        for key in self.keys:
            if (found := await self.store.session(session_id, key)) is not None:
                return found
        return None

    async def roots(self) -> tuple[SessionRecord, ...]:
        """Sessions of their clients."""
        return tuple([one for key in self.keys for one in await self.store.sessions(key, roots=True)])

    async def ruled(self, *, now: float) -> list[Ruled]:
        """What they ruled and still stands, oldest first."""
        found = [one for key in self.keys for one in await read_ruled(self.store, key, now=now)]
        return sorted(found, key=lambda one: one.record.created_at)

    async def audit(self, *, session_id: SessionId | None, before: int | None, limit: int) -> list[StoredAudit]:
        """The newest `limit` events, oldest of them first. `before`: of those whose `seq` is smaller."""
        found: list[StoredAudit] = []
        for key in self.keys:
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
