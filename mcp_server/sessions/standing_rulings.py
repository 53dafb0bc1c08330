"""What a person has ruled, as every channel lists it, and taking it back."""

from dataclasses import dataclass

from mcp_server.records import RulingRecord
from mcp_server.sessions import events
from mcp_server.store.protocol import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """One ruling, whose session it is for, and whether it still counts."""

    record: RulingRecord
    path: tuple[str, ...]
    """Agents, root first."""
    stands: bool

    @property
    def rule(self) -> str:
        """The rule; a `once` ruling has none, but its one call."""
        return "that one call" if self.record.ruling.digest else str(self.record.ruling.rule)

    @property
    def state(self) -> str:
        """Whether it counts, or why no more."""
        if self.stands:
            return "stands"
        if self.record.revoked_at is not None:
            return "revoked"
        return "used" if self.record.used else "expired"


async def read_ruled(store: Store, principal: str, *, now: float, spent: bool = False) -> list[Ruled]:
    """Those that stand, oldest first; with `spent` all others too."""
    standing = await store.rulings(principal=principal, standing_at=now)
    known = {record.id for record in standing}
    shown = await store.rulings(principal=principal) if spent else standing
    return [await ruled(store, record, stands=record.id in known) for record in shown]


async def ruled(store: Store, record: RulingRecord, *, stands: bool) -> Ruled:
    """With the path that it belongs to."""
    path = tuple(session.agent for session in await store.chain(record.ruling.session_id))
    return Ruled(record=record, path=path, stands=stands)


async def take_back(store: Store, one: Ruled, *, by: str, now: float) -> bool:
    """Revoke it: what it answered asks again. False: it did not stand any more, and nothing was changed.

    `by`: who does so. That it is theirs to revoke was looked at.
    """
    told = (events.ruled(now, one.record, one.path, "revoked", by=by),)
    return await store.revoke(one.record.id, principal=one.record.principal, now=now, events=told)
