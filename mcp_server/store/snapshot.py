"""A whole copy of a store while others write to it, and putting one in a store's place."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from mcp_server.errors import StoreError
from mcp_server.store.audit_rows import newest_seq
from mcp_server.store.faults import from_sqlite
from mcp_server.store.files import COMPANIONS
from mcp_server.store.glance import NEWEST, WAIT_SECONDS, glance, refuse_newer
from mcp_server.store.seals import KEY, SEALS, NotASeal, SealFile, is_signed_with, read_seal

IN_USE = "is in use; end every server and command that has it open, and try again"


def files_of(database: Path) -> tuple[Path, ...]:
    """All that belongs to a store, whether or not it is there."""
    return tuple(database.with_name(database.name + end) for end in ("", *COMPANIONS, SEALS, KEY))


def snapshot(database: Path, target: Path) -> None:
    """Copy a store to `target`, with its checkpoints and their key, as it was at one moment. Others may write to it meanwhile.

    Raises:
        StoreError: It cannot be read, is damaged, or is another version's.
        OSError: There is no room for the copy.
    """
    refuse_newer(database, glance(database, whole=False))
    try:
        with (
            closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_SECONDS)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
            # One file, without a log beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
            newest = newest_seq(copy)
    except sqlite3.Error as error:
        raise from_sqlite(database, error, waited=WAIT_SECONDS) from error
    standing = glance(target, whole=True)
    if standing.wrong:
        raise StoreError(f"the store {database} is damaged: {standing.wrong[0]}. No copy was made")
    there, here = SealFile(database), SealFile(target)
    key = there.key()
    if lines := _until(there.lines(), key or b"", newest):
        here.path.write_bytes(b"".join(line + b"\n" for line in lines))
    if key is not None:
        here.key_path.write_bytes(key)


def _until(lines: list[bytes], key: bytes, newest: int) -> list[bytes]:
    """The checkpoints of events that the copy holds: what was signed since is of later ones."""
    found: list[bytes] = []
    for line in lines:
        try:
            seal = read_seal(line)
        except NotASeal:
            return lines  # that it was changed is for the proof to find
        if not is_signed_with(seal, key):
            return lines
        if seal.last > newest:
            break
        found.append(line)
    return found


@contextmanager
def unused(database: Path) -> Generator[None]:
    """Hold a store so that nobody else can open it. What lies in its log is brought into the file first.

    Raises:
        StoreError: Somebody has it open.
    """
    if not database.exists():
        yield
        return
    try:
        with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            # Only whoever is alone with a file may take its log away.
            if connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
                raise StoreError(f"the store {database} {IN_USE}")
            connection.execute("BEGIN EXCLUSIVE")
            yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"the store {database} {IN_USE}") from error


def refuse_unfit(database: Path) -> None:
    """Raises `StoreError` where a copy is damaged, empty, or of a newer Remit."""
    standing = glance(database, whole=True)
    refuse_newer(database, standing)
    if standing.wrong or not standing.version:
        raise StoreError(f"the copy holds no whole store: {standing.wrong[0] if standing.wrong else f'its schema is 0, not {NEWEST}'}")
