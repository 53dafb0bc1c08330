"""Loads the real settings, agents and workspace that a case names, as a server would.

The person's own files and the operator's are left out: a case comes out the same on every machine. The workspace that a
case names counts as trusted for the case, and nothing of that is kept.
"""

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_server.agents.load import load_agents
from mcp_server.cli.cases.running import LoadedPolicy
from mcp_server.cli.cases.written import PolicyFiles
from mcp_server.cli.members import Cast
from mcp_server.errors import ConfigError, Fault
from mcp_server.policy.chain import Commons, Member
from mcp_server.policy.values import Rule
from mcp_server.settings.folder import read_folder
from mcp_server.settings.load import load_settings
from mcp_server.settings.places import Places
from mcp_server.settings.trust import give_trust
from mcp_server.settings.workspace import check_workspace


def load_policy(files: PolicyFiles, folder: Path) -> LoadedPolicy:
    """What a case names, its paths taken from `folder`.

    Raises:
        ConfigError: A file is not there or is at fault.
        WorkspaceRefused: The workspace is one that Remit will not hand to an agent.
    """
    with tempfile.TemporaryDirectory(prefix="remit-cases-") as made:
        stage = _staged(files, folder, Path(made).resolve())
        try:
            settings = load_settings(workspace=stage.workspace, places=stage.places)
            cast = Cast(settings=settings, agents=load_agents(places=stage.places, settings=settings))
        except ConfigError as error:
            raise ConfigError(tuple(replace(fault, file=stage.real_name(fault.file)) for fault in error.faults)) from error
    return LoadedPolicy(
        commons=_commons(settings.commons, stage), members=lambda name, session_id: _member(cast.member(name, session_id), stage)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """Folders laid out as a server expects them, and what each stands for."""

    workspace: Path
    places: Places
    names: tuple[tuple[str, str], ...]
    """Path in the stage, and the path that the case named."""

    def real_name(self, text: str) -> str:
        for staged, real in self.names:
            text = text.replace(staged, real)
        return text

    def real_rules(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(replace(rule, origin=self.real_name(rule.origin)) for rule in rules)


def _staged(files: PolicyFiles, folder: Path, made: Path) -> _Stage:
    places = Places(
        home=made / "home",
        config=made / "config",
        state=made / "state",
        cache=made / "cache",
        managed=made / "managed",
    )
    for each in (places.home, places.config):
        each.mkdir()
    names: list[tuple[str, str]] = []
    if files.settings is not None:
        names.append(_copied(folder / files.settings, places.config / "settings.yaml"))
    if files.agents is not None:
        names.append(_copied(folder / files.agents, places.config / "agents"))
    return _Stage(workspace=_workspace(files, folder, made, places), places=places, names=tuple(names))


def _workspace(files: PolicyFiles, folder: Path, made: Path, places: Places) -> Path:
    if files.workspace is None:
        empty = made / "workspace"
        empty.mkdir()
        return empty
    real = check_workspace(folder / files.workspace, places)
    give_trust(real, read_folder(real), places.state)
    return real


def _copied(source: Path, target: Path) -> tuple[str, str]:
    try:
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    except OSError as error:
        raise ConfigError((_missing(source, error),)) from error
    return str(target), str(source)


def _missing(source: Path, error: OSError) -> Fault:
    return Fault(
        file=str(source),
        line=None,
        problem=f"a case names it, and it cannot be read: {error.strerror or error}",
        remedy="mend the path, which is taken from the case file's folder",
    )


def _commons(commons: Commons, stage: _Stage) -> Commons:
    return replace(
        commons,
        person=stage.real_rules(commons.person),
        project=stage.real_rules(commons.project),
        guard=stage.real_rules(commons.guard),
    )


def _member(member: Member | None, stage: _Stage) -> Member | None:
    if member is None:
        return None
    return replace(member, rules=stage.real_rules(member.rules), person=stage.real_rules(member.person))
