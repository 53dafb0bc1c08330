"""A workspace's `.remit/` folder, read once: its digest and the texts that may be configuration, from the same bytes.

Links are never followed, `.remit` itself included: what lies behind one could change and leave the digest as it is.
`plans/` is left out: agents write there, and nothing in it is configuration.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mcp_server.errors import ConfigError, Fault

FOLDER = ".remit"
PLANS = "plans"
MAX_FILES = 2_000
MAX_TOTAL = 32 * 1024 * 1024
"""Bounds of what is hashed at each start: far more than settings and agents need, and read in well under a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemitFolder:
    """What one reading found."""

    path: str
    """Absolute path of `.remit`, for faults."""
    digest: str
    """SHA-256 over the names, kinds and contents of everything in it. The same for an absent and an empty folder."""
    files: Mapping[str, bytes]
    """Content of `settings.*` and `agents/*.md`, by path inside the folder with `/`."""


def read_folder(workspace: Path) -> RemitFolder:
    """Read `.remit` of a workspace, a resolved path.

    Raises:
        ConfigError: It is a link, cannot be read, or holds more than is sensible.
    """
    root = workspace / FOLDER
    hashed, files, total = hashlib.sha256(), dict[str, bytes](), 0
    try:
        if os.path.lexists(root) and not stat.S_ISDIR(root.lstat().st_mode):
            raise _fault(root, "is not a folder", "put a real folder there, or remove it; links are not followed")
        for count, entry in enumerate(_walk(root, "")):
            name, content = entry.name, entry.content
            total += len(content)
            if count >= MAX_FILES or total > MAX_TOTAL:
                raise _fault(
                    root,
                    f"holds more than {MAX_FILES:,} entries or {MAX_TOTAL // 1024 // 1024} MiB",
                    "keep settings, agents and plans there",
                )
            for part in (entry.kind.encode(), os.fsencode(name), content):
                hashed.update(len(part).to_bytes(8, "big") + part)
            if _expected(name) not in (None, entry.kind):
                raise _fault(root / name, f"is a {entry.kind}, which is not followed", "put the file itself there, or remove it")
            if entry.kind == "file" and _configures(name):
                files[name] = content
    except OSError as error:
        raise _fault(Path(error.filename or root), f"cannot be read: {error.strerror}", "make it readable, or remove it") from error
    return RemitFolder(path=str(root), digest=hashed.hexdigest(), files=MappingProxyType(files))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    name: str
    kind: str
    content: bytes


def _walk(root: Path, inside: str) -> Iterator[_Entry]:
    """Every entry below a folder, in the order of names."""
    folder = root / inside
    if not folder.is_dir():
        return
    for name in sorted(os.listdir(folder)):
        path = f"{inside}/{name}" if inside else name
        mode = (root / path).lstat().st_mode
        if stat.S_ISDIR(mode):
            if path != PLANS:
                yield _Entry(name=path, kind="folder", content=b"")
                yield from _walk(root, path)
        elif stat.S_ISLNK(mode):
            yield _Entry(name=path, kind="link", content=os.fsencode(os.readlink(root / path)))
        elif stat.S_ISREG(mode):
            yield _Entry(name=path, kind="file", content=_content(root / path))
        else:
            yield _Entry(name=path, kind="special file", content=b"")


def _content(path: Path) -> bytes:
    """A file's bytes, no more than the bound and one; a link or pipe put in its place meanwhile is an error."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_TOTAL + 1)


def _expected(name: str) -> str | None:
    """What an entry must be, so that no rule in it is passed over silently; None: anything."""
    if name == "agents":
        return "folder"
    return "file" if _configures(name) else None


def _configures(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return (not folder and name.startswith("settings.")) or (folder == "agents" and file.lower().endswith(".md"))


def _fault(path: Path, problem: str, remedy: str) -> ConfigError:
    return ConfigError((Fault(file=str(path), line=None, problem=problem, remedy=remedy),))
