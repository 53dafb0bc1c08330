"""The back ends that must keep what `Store` promises, and how each is opened. `test_conformance_*` holds every one of them to it.

A back end joins with one more row here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Handles:
    """Two views of one store: tests write through one and look through the other. They may be the same."""

    one: Store
    two: Store

    async def close(self) -> None:
        """Close both; closing twice is no error."""
        await self.one.close()
        await self.two.close()


def _one_sqlite_handle(folder: Path) -> Handles:
    store = open_store(folder / "remit.db")
    return Handles(one=store, two=store)


def _two_sqlite_handles(folder: Path) -> Handles:
    return Handles(one=open_store(folder / "remit.db"), two=open_store(folder / "remit.db"))


BACK_ENDS: dict[str, Callable[[Path], Handles]] = {
    "sqlite": _one_sqlite_handle,
    "two handles on one sqlite file": _two_sqlite_handles,
}
