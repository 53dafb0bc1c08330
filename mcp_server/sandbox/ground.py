"""What of this machine a profile is drawn on: which folders there are. Looks; decides nothing."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_server.sandbox import usual
from mcp_server.sandbox.profile import within
from mcp_server.settings.places import Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Absolute paths, links resolved. Made anew for each command: keys may come at any time."""

    workspace: str
    home: str
    shown: tuple[str, ...]
    """Folders and files that programs need in order to run."""
    secrets: tuple[str, ...]
    """Keys and passwords, and Remit's own folders."""


def look_around(workspace: str, places: Places, environment: Mapping[str, str]) -> Ground:
    """Find out what is there."""
    home = os.path.realpath(places.home)
    own = [os.path.realpath(folder) for folder in (places.state, places.config, places.cache, places.managed)]
    secrets = [*own, *usual.SYSTEM_SECRETS, *(os.path.join(home, name) for name in usual.HOME_SECRETS)]
    return Ground(
        workspace=workspace,
        home=home,
        shown=tuple(dict.fromkeys((*_system(), *_tools(home), *_on_path(environment.get("PATH", ""), home, workspace)))),
        # Remit's own may be made later; the others that are not there now hold nothing.
        secrets=tuple(dict.fromkeys((*own, *_existing(secrets)))),
    )


def _system() -> Iterator[str]:
    for name in usual.SYSTEM:
        if os.path.lexists(f"/{name}"):
            yield f"/{name}"


def _tools(home: str) -> tuple[str, ...]:
    return _existing([os.path.join(home, name) for name in usual.HOME_TOOLS])


def _existing(paths: Sequence[str]) -> tuple[str, ...]:
    """Those that are there, as they really are: a link cannot be hidden, what it leads to can."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path)))


def _on_path(path: str, home: str, workspace: str) -> Iterator[str]:
    """The folders that programs are found in, with the environment that a `bin` belongs to."""
    for entry in path.split(os.pathsep):
        folder = os.path.realpath(entry)
        if not os.path.isabs(entry) or not os.path.isdir(folder) or within(home, folder) or within(workspace, folder):
            continue
        if any(within(folder, f"/{name}") for name in usual.SYSTEM):
            continue
        around = os.path.dirname(folder)
        if any(os.path.exists(os.path.join(around, mark)) for mark in ("pyvenv.cfg", "conda-meta")):
            yield around
            yield from _interpreter_of(folder)
        else:
            yield folder


def _interpreter_of(folder: str) -> Iterator[str]:
    """A virtual environment's Python lies elsewhere, in a folder with a library of its own."""
    real = os.path.realpath(os.path.join(folder, "python"))
    prefix = os.path.dirname(os.path.dirname(real))
    if os.path.isdir(os.path.join(prefix, "lib")) and not any(within(prefix, f"/{name}") for name in usual.SYSTEM):
        yield prefix
