"""Finds and reads the files of every source. What they come to together is `load`'s.

Local settings are the person's only where version control keeps out of them **and** the workspace is trusted: a
folder that came as an archive may hold such a file too. Else they count as the project's.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from mcp_server.errors import Fault
from mcp_server.settings.blocks import Source
from mcp_server.settings.files import OWNER_REMEDY, decode, foreign, read_text
from mcp_server.settings.folder import RemitFolder, read_folder
from mcp_server.settings.places import Places
from mcp_server.settings.source import SourceFile, read_source
from mcp_server.settings.trust import Trust, trust_of
from mcp_server.settings.version_control import kept_out

NAME = "settings.yaml"
LOCAL = "settings.local.yaml"
MISNAMED = ("settings.yml", "settings.json", "settings.local.yml", "settings.local.json")
"""Names that one might give a settings file, and that are not read: said aloud, so that no rule is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The files of all sources, read; those with faults are left out."""

    managed: tuple[SourceFile, ...]
    user: SourceFile | None
    project: SourceFile | None
    local: SourceFile | None
    """The person's where its source is `local` and the workspace is trusted."""
    folder: RemitFolder
    trust: Trust
    faults: tuple[Fault, ...]

    @property
    def trusted(self) -> bool:
        """The workspace is trusted as it is now."""
        return self.trust is Trust.TRUSTED


def gather(workspace: Path, places: Places, stand_in: RemitFolder | None = None) -> Found:
    """Read everything.

    Args:
        workspace: Absolute, resolved.
        places: Where the other files are.
        stand_in: An earlier reading of the workspace's `.remit`, where what lies there now cannot be used. It does not count as trusted.

    Raises:
        ConfigError: The workspace's `.remit` or its record of trust cannot be used at all.
    """
    folder = stand_in or read_folder(workspace)
    trust = trust_of(workspace, folder, places.state)
    faults: list[Fault] = []
    managed = _managed(places, faults)
    user = _file(places.config / NAME, "user", None, faults)
    _misnamed(places.config, faults)
    project = _in_workspace(folder, NAME, "project", faults)
    mine = LOCAL in folder.files and kept_out(Path(folder.path) / LOCAL)
    local = _in_workspace(folder, LOCAL, "local" if mine else "project", faults)
    faults.extend(_wrong_name(f"{folder.path}/{name}") for name in MISNAMED if name in folder.files)
    return Found(
        managed=managed,
        user=user,
        project=project,
        local=local,
        folder=folder,
        trust=Trust.CHANGED if stand_in is not None and trust is Trust.TRUSTED else trust,
        faults=tuple(faults),
    )


def _in_workspace(folder: RemitFolder, name: str, source: Source, faults: list[Fault]) -> SourceFile | None:
    content = folder.files.get(name)
    if content is None:
        return None
    file = f"{folder.path}/{name}"
    return _read(decode(content, file), file, source, faults, demoted=name == LOCAL and source == "project")


def _file(path: Path, source: Source, owner: int | None, faults: list[Fault]) -> SourceFile | None:
    return _read(read_text(path, owner=owner), str(path), source, faults)


def _read(text: str | Fault | None, file: str, source: Source, faults: list[Fault], *, demoted: bool = False) -> SourceFile | None:
    if isinstance(text, Fault):
        faults.append(text)
    if not isinstance(text, str):
        return None
    read, wrong = read_source(text, file, source, demoted=demoted)
    faults.extend(wrong)
    return read


def _managed(places: Places, faults: list[Fault]) -> tuple[SourceFile, ...]:
    """The operator's files, in their order. On POSIX they and their folders must be root's alone to write."""
    paths = [places.managed / NAME]
    for folder in (places.managed, places.managed / "settings.d"):
        try:
            status = folder.stat()
            names = sorted(entry.name for entry in folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            faults.append(
                Fault(file=str(folder), line=None, problem=f"cannot be read: {error.strerror}", remedy="make it readable for this user")
            )
            continue
        if sys.platform != "win32" and (problem := foreign(status, places.managed_owner)) is not None:
            faults.append(Fault(file=str(folder), line=None, problem=problem, remedy=OWNER_REMEDY))
        if folder != places.managed:
            paths.extend(folder / name for name in names if name.endswith(".yaml"))
            faults.extend(_wrong_name(str(folder / name)) for name in names if name.endswith((".yml", ".json")))
        else:
            _misnamed(folder, faults)
    read = [_file(path, "managed", places.managed_owner, faults) for path in paths]
    return tuple(file for file in read if file is not None)


def _misnamed(folder: Path, faults: list[Fault]) -> None:
    faults.extend(_wrong_name(str(folder / name)) for name in MISNAMED if (folder / name).exists())


def _wrong_name(file: str) -> Fault:
    return Fault(
        file=file, line=None, problem="is not read under this name", remedy="settings are YAML and end in .yaml: rename it, or remove it"
    )
