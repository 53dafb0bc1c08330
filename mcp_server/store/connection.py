"""One SQLite connection: opened with care, migrated, read and written with a bound on every wait.

Not what is stored: that is the tables' modules. SQLite runs inline on the event loop's thread. A commit is one flush to the disk, on an
idle local disk about as long as handing it to another thread and back; and since nothing is awaited inside a transaction, no task of this
process can see or disturb half of one. On a slow disk each commit holds the loop up for as long as its flush takes: keep the store on a
local one. Waiting for another process is done in the loop, between attempts, so it never holds the loop up.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import anyio

from mcp_server.errors import StoreError, StoreLocked
from mcp_server.store.faults import UnreadableRow, UnwritableValue, damaged, from_sqlite
from mcp_server.store.files import identity, prepare
from mcp_server.store.schema import APPLICATION_ID, MIGRATIONS, Migration

T = TypeVar("T")
P = ParamSpec("P")

WAIT_SECONDS = 5.0
"""How long another process may hold the file. A commit takes well under a millisecond, so a longer hold is a fault that people must see."""

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.005
"""Between attempts, seconds. Short against `WAIT_SECONDS`, so that a busy neighbour leaves a thousand chances; long against a commit."""

_SYNCED, _UNSYNCED = "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"

_SETTINGS = (
    "PRAGMA foreign_keys = ON",
    _SYNCED,
    "PRAGMA fullfsync = ON",  # macOS: a plain fsync leaves the data in the drive's cache
    "PRAGMA trusted_schema = OFF",
    "PRAGMA journal_size_limit = 16777216",
)


class Database:
    """A connection and the file it stands on. For one thread, one event loop, one process."""

    def __init__(self, path: Path, *, wait_seconds: float = WAIT_SECONDS, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
        """Open, check, migrate. Blocks while another process migrates, up to the bound: call it before the loop serves anybody.

        Raises:
            StoreLocked: Another process held the file for `wait_seconds`.
            StoreDamaged: It is not a store that can be read; it is left as it is.
            StoreFull: No room to create or migrate it.
            StoreError: It is another user's, a link, read-only, or written by a newer Remit.
        """
        self.path = path
        self._wait = wait_seconds
        self._version = len(migrations)
        self._own_commits = 0
        self._changes = 0
        self._syncing: bool = True
        prepare(path)
        # isolation_level None: transactions are begun and ended here alone. timeout 0: waiting is done here as well.
        self._connection = self._guarded(sqlite3.connect, path, timeout=0, isolation_level=None)
        try:
            self._patiently(self._inspect)
            self._patiently(self._configure)
            self._patiently(self._migrate, migrations)
            self._file = identity(path)
            self._seen = self._guarded(self._pragma, "data_version")
        except BaseException:
            self._connection.close()
            raise

    # ---- opening ----------------------------------------------------------------------------------

    def _pragma(self, name: str) -> int | str:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]

    def _inspect(self) -> None:
        """Before anything is written: is it ours, and of a version we know?"""
        version = self._pragma("user_version")
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if (version or tables) and self._pragma("application_id") != APPLICATION_ID:
            raise damaged(self.path, "it is an SQLite database, but not one of Remit's")
        self._check_version(version)

    def _check_version(self, version: int | str) -> None:
        if int(version) > self._version:
            raise StoreError(
                f"the store {self.path} was written by a newer Remit (schema {version}; this one knows {self._version}). It is left "
                f"untouched. Install that version again, or start this one with another state folder"
            )

    def _configure(self) -> None:
        if self._connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise StoreError(
                f"the store {self.path} cannot be shared safely on this file system (no write-ahead log); keep it on a local disk"
            )
        for setting in _SETTINGS:
            self._connection.execute(setting)

    def _migrate(self, migrations: tuple[Migration, ...]) -> None:
        """One transaction a step. Which step is due is read under the lock: who had to wait for it may find it taken."""
        while (version := int(self._pragma("user_version"))) < len(migrations):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                done = int(self._pragma("user_version"))
                if done < len(migrations):
                    self._take_step(migrations[done], to=done + 1)
                self._connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        self._check_version(version)

    def _take_step(self, step: Migration, *, to: int) -> None:
        for statement in step:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {to}")

    # ---- work -------------------------------------------------------------------------------------

    async def read(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` on the connection. Not a point of cancellation unless another process has to be waited for."""
        return await self._in_loop(work, self._connection, *args, **kwargs)

    async def write(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in a transaction of its own, on the disk when this returns; whatever it raises, nothing of it is written.
        Not a point of cancellation unless another process has to be waited for, and then nothing is written either.
        """
        return await self._in_loop(self._transact, True, work, *args, **kwargs)

    async def write_unsynced(self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `write`, and everybody sees it at once; but until the next `write` a loss of power may take it back, whole and last first."""
        return await self._in_loop(self._transact, False, work, *args, **kwargs)

    async def changed(self) -> int:
        """A number that grows with each commit that changed something, ours or another process's."""
        return await self.changed_elsewhere() + self._own_commits

    async def changed_elsewhere(self) -> int:
        """Likewise, other handles' and processes' commits only."""
        seen = await self._in_loop(self._pragma, "data_version")
        if seen != self._seen:
            self._seen = seen
            self._changes += 1
        return self._changes

    def close(self) -> None:
        """Give the file up. Closing twice is no error."""
        with suppress(sqlite3.Error):  # what is committed is safe; the log is tidied up by the next who opens it
            self._connection.close()

    async def _in_loop(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        pauses = self._pauses()
        while True:
            try:
                return self._guarded(step, *args, **kwargs)
            except StoreLocked:
                pause = next(pauses, None)
                if pause is None:
                    raise
            await anyio.sleep(pause)

    def _patiently(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        pauses = self._pauses()
        while True:
            try:
                return self._guarded(step, *args, **kwargs)
            except StoreLocked:
                pause = next(pauses, None)
                if pause is None:
                    raise
            time.sleep(pause)

    def _pauses(self) -> Iterator[float]:
        """Growing pauses until the bound, uneven so that two who wait do not keep in step."""
        end = time.monotonic() + self._wait
        pause = FIRST_PAUSE
        while (left := end - time.monotonic()) > 0:
            yield min(left, pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads attempts, hides nothing
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def _transact(self, synced: bool, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        connection = self._connection
        before = connection.total_changes
        if synced is not self._syncing:
            connection.execute(_SYNCED if synced else _UNSYNCED)
            self._syncing = synced
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._check_still_ours()
            result = work(connection, *args, **kwargs)
            connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        if connection.total_changes != before:
            self._own_commits += 1
        return result

    def _check_still_ours(self) -> None:
        """Without this, an audit event could be "written" to a file that has been deleted, or to tables with newer rules."""
        if identity(self.path) != self._file:
            raise StoreError(f"the store {self.path} was removed or replaced while it was in use. Nothing was written; start again")
        self._check_version(self._pragma("user_version"))

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # SQLite may have done so itself
            with suppress(sqlite3.Error):  # the error that brought us here is the one to report
                self._connection.execute("ROLLBACK")

    def _guarded(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return step(*args, **kwargs)
        except sqlite3.Error as error:
            raise from_sqlite(self.path, error, waited=self._wait) from error
        except UnreadableRow as error:
            raise damaged(self.path, str(error)) from error
        except (UnicodeEncodeError, OverflowError, UnwritableValue) as error:
            raise StoreError(f"nothing was written to the store {self.path}: a value cannot be stored ({error})") from error
