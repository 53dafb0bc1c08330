"""The file that `remit gateway backup` writes: what it holds, how it is written and read. One compressed tar archive, its owner's alone."""

import io
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from mcp_server.cli.state import FILE
from mcp_server.errors import RemitError
from mcp_server.store.glance import NEWEST
from mcp_server.store.seals import KEY, SEALS
from mcp_server.store.snapshot import files_of, snapshot

FORM = 1
"""Of the archive. Another one is not read."""

CONTENTS = "contents.json"
STATES = "request-state.key"
TRUST = "trust"
NAMES = (FILE, f"{FILE}{SEALS}", f"{FILE}{KEY}", STATES)
"""Files of the state folder; beside them those of `TRUST`."""

MOST_CONTENTS = 4096


class Unfit(RemitError):
    """The file is no backup that can be read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What an archive says of itself."""

    form: int
    schema: int
    made_at: float
    """Seconds since the epoch."""
    remit: str


def write(state: Path, file: Path) -> Contents:
    """Copy what a server keeps in its state folder into a new file, mode 0600. A server may run meanwhile.

    Raises:
        StoreError: There is no store, or it is damaged.
        OSError: The file is there, or cannot be written.
    """
    contents = Contents(form=FORM, schema=NEWEST, made_at=time.time(), remit=version("remit"))
    with _beside(file.parent) as folder:
        snapshot(state / FILE, folder / FILE)
        made = folder / "made"
        with open(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
            with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
                _add(archive, CONTENTS, json.dumps(asdict(contents)).encode())
                for name in NAMES:
                    source = (state if name == STATES else folder) / name
                    if source.exists():
                        archive.add(source, name, recursive=False, filter=_plain)
                for path in sorted((state / TRUST).glob("*.json")):
                    archive.add(path, f"{TRUST}/{path.name}", recursive=False, filter=_plain)
            out.flush()
            os.fsync(out.fileno())
        # Under its name only once it is whole.
        made.rename(file)
    return contents


def read(file: Path, folder: Path) -> Contents:
    """Lay what a file holds into a folder that is empty and this user's alone.

    Raises:
        Unfit: It is no backup, or holds what none holds.
        OSError: It cannot be read, or there is no room.
    """
    try:
        with tarfile.open(file, mode="r:gz") as archive:
            contents = _contents(archive)
            for member in archive:
                if not member.isreg() or not _expected(member.name):
                    raise Unfit(f"{file} holds {member.name!r}, which no backup holds; nothing was changed")
                _lay(archive, member, folder / member.name)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise Unfit(f"{file} is no whole backup: {error}; nothing was changed") from error
    if not (folder / FILE).exists():
        raise Unfit(f"{file} holds no store; nothing was changed")
    return contents


def _contents(archive: tarfile.TarFile) -> Contents:
    first = archive.next()
    stream = None if first is None or first.name != CONTENTS or first.size > MOST_CONTENTS else archive.extractfile(first)
    said = cast("dict[str, Any]", json.loads(stream.read())) if stream is not None else {}
    if said.get("form") != FORM:
        raise Unfit(f"this is no backup of a form that this Remit knows (it says {said.get('form')!r}, and {FORM} is known)")
    return Contents(form=FORM, schema=int(said["schema"]), made_at=float(said["made_at"]), remit=str(said["remit"]))


def _expected(name: str) -> bool:
    folder, _, rest = name.rpartition("/")
    return name in (CONTENTS, *NAMES) or (folder == TRUST and rest.endswith(".json") and "\\" not in rest)


def _lay(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    stream = archive.extractfile(member)
    if stream is None or member.name == CONTENTS:
        return
    target.parent.mkdir(mode=0o700, exist_ok=True)
    with open(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        while block := stream.read(1 << 20):
            out.write(block)
        out.flush()
        os.fsync(out.fileno())


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Nobody's name, and nobody else's to read. None: a link, or no file."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member if member.isreg() else None


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    archive.addfile(member, io.BytesIO(content))


@contextmanager
def _beside(folder: Path) -> Generator[Path]:
    """A private folder on the same disk, gone in the end."""
    with tempfile.TemporaryDirectory(prefix=".remit-backup-", dir=folder) as made:
        yield Path(made)


def replace(state: Path, found: Path, kept: Path) -> None:
    """Put what was laid into `found` into the state folder; what was there of it goes to `kept`. The store is held by nobody.

    Raises:
        OSError: Something cannot be moved; what was moved lies in one of the two folders.
    """
    kept.mkdir(mode=0o700)
    for path in (*files_of(state / FILE), state / STATES, state / TRUST):
        if path.exists():
            path.rename(kept / path.name)
    for path in sorted(found.iterdir()):
        path.rename(state / path.name)
