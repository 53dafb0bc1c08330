"""Which folders may be a workspace."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from mcp_server.errors import WorkspaceRefused
from mcp_server.settings.places import Places

LINE = "--workspace /path/to/project"
"""What to put into a client's configuration."""


def check_workspace(folder: Path, places: Places) -> Path:
    """The folder's real path, where an agent may be let into it.

    Raises:
        WorkspaceRefused: It is the root of a file system, the home folder or one above it, Remit's own folders, one
            inside them or above them, or no folder at all. The text has the line for the client's configuration.
    """
    if "\0" in str(folder):
        raise _refused(folder, "its name holds a NUL")
    try:
        real = folder.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _refused(folder, "it does not exist or cannot be reached") from error
    if not real.is_dir():
        raise _refused(real, "it is not a folder")
    if real.parent == real:
        raise _refused(real, "it is the root of the file system")
    if _holds(real, places.home):
        raise _refused(real, "it is the home folder or holds it")
    for words, own in (("state", places.state), ("configuration", places.config), ("managed settings", places.managed)):
        if _holds(real, own) or _holds(own, real):
            raise _refused(real, f"it is Remit's own {words} folder, or lies in it or around it")
    return real


def inside_another(folders: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names of folders that lie in another one of them, and the name of that: its agents would work in both. `folders`: absolute paths by
    their names; two names of one folder are no matter.
    """
    paths = {name: PurePath(os.path.normpath(folder)) for name, folder in folders.items()}
    for name, path in paths.items():
        outer = next((one for one, other in paths.items() if other in path.parents), None)
        if outer is not None:
            yield name, outer


def _holds(outer: Path, inner: Path) -> bool:
    """`inner` is `outer` or lies in it. Compared as the file system does, so that case and second mounts do not matter."""
    inner = inner.resolve()
    return any(_same(outer, candidate) for candidate in (inner, *inner.parents))


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return one == other


def _refused(folder: Path, why: str) -> WorkspaceRefused:
    return WorkspaceRefused(
        f"{folder} cannot be a workspace: {why}. Name a project's folder: "
        f"put `{LINE}` behind the command (in a client's configuration, behind `serve`), or start it in such a folder."
    )
