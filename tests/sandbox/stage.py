"""A place where commands are run for real, as root or as an ordinary user, and what changed in it is seen.

`Stage` is the folder; `act` runs lines in it through a process of the right user (`actor`).
"""

import fcntl
import hashlib
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mcp_server.sandbox.bubblewrap import find_bubblewrap

NOBODY = 65534
"""The ordinary user: it owns nothing but the stage."""

ROOT = Path(__file__).parents[2]

Who = Literal["root", "user"]
Kind = Literal["reading", "writing", "network"]

IDENTITIES: tuple[Who, ...] = ("root", "user") if os.geteuid() == 0 else ("user",)
"""Those that this process can be."""

BACKENDS = ("bubblewrap", "landlock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of shell to run, alone in a fresh workspace."""

    name: str
    run: str
    seconds: float = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of it."""

    name: str
    code: int | None
    output: str
    ended: int
    escaped: int
    changed: tuple[str, ...]
    """Of the workspace, what is not as it was."""
    cannot_hold: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A folder that the user of a run owns."""

    folder: Path
    who: Who

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def state(self) -> Path:
        return self.folder / "home/.local/state/remit"


@contextmanager
def _turn(who: Who, *, alone: bool) -> Generator[None]:
    """How many processes a user may have counts on the whole machine, whichever test they belong to: a crowd of them waits for the
    others, and they for it.
    """
    with open(__file__, "rb") as file:
        if who == "user":
            fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@contextmanager
def staged(who: Who, *, alone: bool = False) -> Generator[Stage]:
    """A fresh one; gone afterwards. `alone`: nobody else acts as that user meanwhile."""
    with _turn(who, alone=alone), _staged(who) as stage:
        yield stage


@contextmanager
def _staged(who: Who) -> Generator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="remit-stage-")).resolve()
    try:
        stage = Stage(folder=folder, who=who)
        for name in (".ssh", ".aws", ".local/state/remit", ".config/remit", ".cache/remit", "documents"):
            (stage.home / name).mkdir(parents=True)
        for name in (
            ".ssh/id",
            ".aws/credentials",
            ".netrc",
            ".local/state/remit/remit.db",
            ".config/remit/settings.yaml",
            "documents/tax",
        ):
            (stage.home / name).write_text("SECRET\n")
        (folder / "runs").mkdir()
        furnish(folder / "model")
        _lend_bubblewrap(folder / "programs")
        tools = stage.home / ".local/bin"
        tools.mkdir(parents=True)
        shutil.copy2("/bin/cat", tools / "mighty")
        (tools / "kept").write_text("SECRET\n")
        if os.geteuid() == 0:
            _give(folder, 0 if who == "root" else NOBODY)
            # A program with root's power, and what only root may read, where programs are shown.
            for name, mode in (("mighty", 0o4755), ("kept", 0o400)):
                os.chown(tools / name, 0, 0)
                (tools / name).chmod(mode)
        yield stage
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def furnish(workspace: Path) -> None:
    """What `ways.yaml` says a workspace holds."""
    for name in ("dir/deep", "empty"):
        (workspace / name).mkdir(parents=True)
    for name, text in (
        ("target.txt", "original\n"), ("script.sh", "#!/bin/sh\necho script\n"), ("dir/inner.txt", "inner\n"), ("dir/deep/file", "deep\n"),
        (".env", "SECRET\n"), ("dir/.env.local", "SECRET\n"), (".env.example", "NAME=\n"),
    ):  # fmt: skip
        (workspace / name).write_text(text)
    (workspace / "script.sh").chmod(0o755)
    (workspace / "link").symlink_to("target.txt")
    (workspace / "dirlink").symlink_to("dir")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-C", str(workspace)]
    for line in (["init", "-q", "--template="], ["add", "target.txt"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *line], check=True, timeout=180, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})


def _lend_bubblewrap(folder: Path) -> None:
    """The environment that holds it may lie where another user cannot go."""
    program = Path(find_bubblewrap() or "")
    package = program.parent.parent
    shutil.copytree(package, folder / package.name)
    libraries = package.parent / f"{package.name}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)


def _give(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)
    folder.chmod(0o755)


def act(stage: Stage, backend: str, kind: Kind, lines: Sequence[Line], together: int = 6) -> dict[str, Ran]:
    """Run each in a copy of the model workspace. What is run in `stage.folder/runs/<n>` stays until the stage is gone."""
    asked = {
        "folder": str(stage.folder), "who": stage.who, "backend": backend, "kind": kind, "together": together,
        "lines": [asdict(line) for line in lines],
    }  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.actor"],
        cwd=ROOT,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(stage.home), "REMIT_TEST_KEY": "SECRET"},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    rows: list[dict[str, object]] = json.loads(ended.stdout)
    return {str(row["name"]): _ran(row) for row in rows}


def _ran(row: Mapping[str, object]) -> Ran:
    lists = {name: tuple(map(str, value)) for name, value in row.items() if isinstance(value, list)}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    return Ran(**{**row, **lists})  # pyright: ignore[reportArgumentType] - written by the actor from the same class


def picture(folder: Path) -> dict[str, object]:
    """All that can be seen of what lies in it."""
    seen: dict[str, object] = {".": _seen(folder)}
    for path in sorted(folder.rglob("*")):
        seen[str(path.relative_to(folder))] = _seen(path)
    return seen


def _seen(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    regular, linked = stat.S_ISREG(found.st_mode), stat.S_ISLNK(found.st_mode)
    content = hashlib.sha256(path.read_bytes()).hexdigest() if regular else os.readlink(path) if linked else ""
    marks = () if linked else tuple((name, os.getxattr(path, name)) for name in os.listxattr(path))
    flags = _flags(path) if regular else 0
    return found.st_mode, found.st_uid, found.st_gid, found.st_ino, found.st_nlink, found.st_mtime_ns, content, marks, flags


def _flags(path: Path) -> int:
    """The attributes that chattr sets."""
    with path.open("rb") as file:
        return int(struct.unpack("l", fcntl.ioctl(file, 0x80086601, struct.pack("l", 0)))[0])


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, ...]:
    """The names of what was made, changed or removed."""
    return tuple(name for name in sorted({*before, *after}) if before.get(name) != after.get(name))
