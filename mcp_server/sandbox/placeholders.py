"""Empty folders, for some names files, that stand where a protected path does not exist, while commands run that must not make it.

A path can be covered only if something is there to cover. Counted across processes by locks in a folder of Remit's state: a lock
ends with its process, so that what a crash left behind is known and taken away by whoever comes next. Never takes away what is
not empty, and never anything that it did not make.
"""

import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Timer

from mcp_server.sandbox.usual import COMMON_FOLDER
from mcp_server.settings.places import private_folder

LINGER_SECONDS = 1.0
"""How long they stay after the last command: an agent's commands follow each other, and making and removing dozens of folders
for each would take longer than the command. Short enough that a person hardly meets them."""


FILES = {COMMON_FOLDER: b".\n"}
"""Names that a program would stumble over as a folder, and what stands there instead: for git, "here" is the same as nothing."""


PATIENCE_SECONDS = 2.0
"""How long another process may hold the lock: it does so for some file operations, so one that holds it longer was stopped."""

LOOK_SECONDS = 0.002


class Placeholders:
    """Those of one user. Several servers may share the folder. `linger`: seconds that they stay when nobody needs them any more."""

    def __init__(self, folder: Path, linger: float = LINGER_SECONDS) -> None:
        self._folder = folder
        self._linger = linger
        self._lock = Lock()
        self._pending = False

    def put(self, paths: Sequence[str]) -> "Placed":
        """Make those that are absent, and hold them, and those that another command has made, until `Placed.take`.

        Raises:
            OSError: One cannot be made.
        """
        private_folder(self._folder)
        placed = Placed(self._folder, paths, self._sweep_soon if self._linger else None)
        placed.hold()
        return placed

    def standing(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of the paths where another command's stands now, or one that lingers."""
        known = _made(self._folder) if self._folder.is_dir() else set[str]()
        return tuple(path for path in paths if path in known and _untouched(path))

    def _sweep_soon(self) -> None:
        """Once for all commands that end within the second. No daemon: a server that ends waits it out, so that nothing stays."""
        with self._lock:
            if not self._pending:
                self._pending = True
                Timer(self._linger, self._sweep_now).start()

    def _sweep_now(self) -> None:
        with self._lock:
            self._pending = False
        self.sweep()

    def sweep(self) -> tuple[str, ...]:
        """Take away what no running command holds. Returns what was taken away."""
        return sweep(self._folder)


class Placed:
    """One command's hold."""

    def __init__(self, folder: Path, paths: Sequence[str], later: Callable[[], None] | None) -> None:
        self._folder = folder
        self._paths = tuple(paths)
        self._later = later
        self._held: int | None = None
        self.made: tuple[str, ...] = ()
        """Those of the paths that are placeholders, whoever made them."""

    def hold(self) -> None:
        """Write down what is made before it is made, so that a crash in between leaves nothing unknown."""
        with _alone(self._folder):
            # A name of its own a hold: the process alone would not tell two commands apart.
            name = hashlib.sha256(os.urandom(16)).hexdigest()[:24]
            self._held = os.open(self._folder / f"{name}.json", os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            known = _made(self._folder)
            ours = self._folder / f"{name}.json"
            self.made = tuple(path for path in self._paths if not os.path.lexists(path) or (path in known and _untouched(path)))
            os.write(self._held, json.dumps(self.made).encode())
            try:
                for path in self.made:
                    with suppress(FileExistsError):
                        _make_unless_closed(path)
                self.made = tuple(path for path in self.made if os.path.lexists(path))
            except OSError:
                self._release()
                raise
            _take_over(self._folder, ours, set(self.made))

    def take(self) -> None:
        """The command has ended. May be called twice."""
        if self._held is None:
            return
        if self._later is not None:
            self._let_go()
            self._later()
        else:
            self._let_go()
            sweep(self._folder)

    def _let_go(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _release(self) -> None:
        self._let_go()
        _take_away(self._folder)


def sweep(folder: Path) -> tuple[str, ...]:
    """Take away what no running command holds. Returns what was taken away; nothing, where another process does not let it: the next
    one takes it.
    """
    if not folder.is_dir():
        return ()
    with suppress(OSError), _alone(folder):
        return _take_away(folder)
    return ()


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One at a time over all processes; held for some file operations only.

    Raises:
        OSError: Somebody holds it and does not go on, as a process does that was stopped.
    """
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        _lock(lock, folder)
        yield
    finally:
        os.close(lock)


def _lock(lock: int, folder: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise OSError(errno.EBUSY, "another process holds the lock and does not go on", str(folder / "lock")) from None
            time.sleep(LOOK_SECONDS)


def _made(folder: Path) -> set[str]:
    """All that any ledger names."""
    return {path for ledger in folder.glob("*.json") for path in _read(ledger)}


def _read(ledger: Path) -> list[str]:
    try:
        named = json.loads(ledger.read_text(encoding="utf-8") or "[]")
    except (OSError, ValueError):
        return []  # cut short by a crash before anything was made
    return [path for path in named if isinstance(path, str)] if isinstance(named, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON


def _make_unless_closed(path: str) -> None:
    """Where the file system, or the owner of the folder, keeps this user from making it, a command of this user cannot make it either."""
    try:
        _make(path)
    except OSError as error:
        foreign = error.errno == errno.EACCES and os.stat(os.path.dirname(path)).st_uid != os.geteuid()
        if error.errno != errno.EROFS and not foreign:
            raise


def _make(path: str) -> None:
    text = FILES.get(os.path.basename(path))
    if text is None:
        os.mkdir(path, 0o755)
        return
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)


def _untouched(path: str) -> bool:
    """What somebody has filled meanwhile is no placeholder any more."""
    text = FILES.get(os.path.basename(path))
    try:
        return not os.listdir(path) if text is None else Path(path).read_bytes() in (text, b"")
    except OSError:
        return False


def _remove(path: str) -> None:
    """Only an empty folder can be removed so: what somebody put there stays, and so does it.

    Raises:
        OSError: It is none, or is not as it was made.
    """
    if os.path.basename(path) not in FILES:
        os.rmdir(path)
    elif _untouched(path):
        os.unlink(path)
    else:
        raise FileExistsError(errno.EEXIST, "somebody has filled it", path)


def _take_over(folder: Path, ours: Path, made: set[str]) -> None:
    """Drop the ledgers of commands that have ended where this one names all that they did: it answers for it now."""
    for ledger in folder.glob("*.json"):
        with suppress(FileNotFoundError):
            if ledger != ours and not _is_held(ledger) and set(_read(ledger)) <= made:
                ledger.unlink()


def _take_away(folder: Path) -> tuple[str, ...]:
    """Remove the ledgers that nobody holds, and the empty folders that only they named."""
    live: set[str] = set()
    dead: list[tuple[Path, list[str]]] = []
    for ledger in folder.glob("*.json"):
        with suppress(FileNotFoundError):
            named = _read(ledger)
            if _is_held(ledger):
                live |= set(named)
            else:
                dead.append((ledger, named))
    gone: list[str] = []
    for ledger, named in dead:
        for path in named:
            if path not in live:
                with suppress(OSError):
                    _remove(path)
                    gone.append(path)
        ledger.unlink(missing_ok=True)
    return tuple(gone)


def _is_held(ledger: Path) -> bool:
    descriptor = os.open(ledger, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
