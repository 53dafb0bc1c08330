"""A look at a database file that changes nothing of it: whose it is, of which version, and whether it is whole."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mcp_server.errors import StoreError
from mcp_server.store.faults import damaged, from_sqlite
from mcp_server.store.schema import APPLICATION_ID, MIGRATIONS

NEWEST = len(MIGRATIONS)
"""The version that this Remit brings a store to."""

WAIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a store stands."""

    version: int
    """0: an empty file, as one is before its first start."""
    wrong: tuple[str, ...]
    """What SQLite finds wrong in it, a line each."""

    @property
    def is_newer(self) -> bool:
        """Written by a newer Remit than this one."""
        return self.version > NEWEST

    @property
    def is_older(self) -> bool:
        """The next start brings it up to this version; an older Remit does not open it from then on."""
        return self.version < NEWEST


def glance(path: Path, *, whole: bool) -> Standing:
    """How the store at `path` stands. `whole`: every check that SQLite has, and of references; else the quick one.

    Raises:
        StoreError: It cannot be opened, or is no store of Remit's.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_SECONDS)) as connection:
            return _standing(connection, path, whole=whole)
    except sqlite3.Error as error:
        raise from_sqlite(path, error, waited=WAIT_SECONDS) from error


def _standing(connection: sqlite3.Connection, path: Path, *, whole: bool) -> Standing:
    version, ours, tables = (
        int(connection.execute(question).fetchone()[0])
        for question in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    if (version or tables) and ours != APPLICATION_ID:
        raise damaged(path, "it is an SQLite database, but not one of Remit's")
    check = "PRAGMA integrity_check" if whole else "PRAGMA quick_check(1)"
    said = [str(row[0]) for row in connection.execute(check).fetchall()]
    wrong = [line for line in said if line != "ok"]
    if whole:
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
        wrong += [f"row {row[1]} of {row[0]} refers to something that is not there" for row in broken]
    return Standing(version=version, wrong=tuple(wrong))


def refuse_newer(path: Path, standing: Standing) -> None:
    """Raises `StoreError` where this Remit does not know its tables."""
    if standing.is_newer:
        raise StoreError(
            f"{path} was written by a newer Remit (schema {standing.version}; this one knows {NEWEST}). It is left untouched; "
            "use that version"
        )
