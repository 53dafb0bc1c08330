"""Finds agents: in the package, in the person's folder, in a trusted workspace. All faults at once."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from mcp_server.agents.definition import AgentDefinition, AgentSet, Where
from mcp_server.agents.front_matter import AgentFile, read_agent
from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.files import decode, read_text
from mcp_server.settings.places import Places
from mcp_server.settings.trust import Trust
from mcp_server.settings.values import AgentTuning, Settings


def package_folder() -> Path:
    """Where the built-in roles lie: in the installed package, else beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "agent_defs"
    return inside if inside.is_dir() else package.parent / "agent_defs"


def load_agents(*, places: Places, settings: Settings) -> AgentSet:
    """The agents of the settings' workspace, with what settings say of each already in its values (not its rules).

    A person's definition replaces the package's of the same name and says so. A workspace's never replaces another: it is
    left out and reported.

    Raises:
        ConfigError: With every fault of every file that is to be loaded.
    """
    loader = _Loader(workspace=settings.commons.workspace, home=places.home.resolve().as_posix())
    loader.add_all("package", _files(package_folder()))
    loader.add_all("user", _files(places.config / "agents"))
    in_workspace = {name: content for name, content in settings.folder.files.items() if name.startswith("agents/")}
    if settings.trust is Trust.TRUSTED:
        paths = ((f"{settings.folder.path}/{name}", content) for name, content in in_workspace.items())
        loader.add_all("workspace", ((file, decode(content, file)) for file, content in paths))
    elif in_workspace:
        loader.notices.append(_untrusted(settings, len(in_workspace)))
    loader.faults.extend(_jobless(loader, settings))
    if loader.faults:
        raise ConfigError(tuple(loader.faults))
    return _finished(loader, settings)


def _files(folder: Path) -> Iterator[tuple[str, str | Fault]]:
    """Path and text of each `.md` file, by name."""
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield (
            str(folder),
            Fault(file=str(folder), line=None, problem=f"cannot be read: {error.strerror}", remedy="make it readable for this user"),
        )
        return
    for name in names:
        if name.lower().endswith(".md") and (text := read_text(folder / name)) is not None:
            yield str(folder / name), text


@dataclass(slots=True, kw_only=True)
class _Loader:
    """Collects definitions, faults and notices of one loading."""

    workspace: str
    home: str
    found: dict[str, AgentFile] = field(default_factory=dict[str, AgentFile])
    faults: list[Fault] = field(default_factory=list[Fault])
    notices: list[Fault] = field(default_factory=list[Fault])

    def add_all(self, where: Where, files: Iterator[tuple[str, str | Fault]]) -> None:
        for file, text in files:
            read = (text,) if isinstance(text, Fault) else read_agent(text, file, where=where, workspace=self.workspace, home=self.home)
            if isinstance(read, AgentFile):
                self.add(read)
            else:
                self.faults.extend(read)

    def add(self, read: AgentFile) -> None:
        definition = read.definition
        before = self.found.get(definition.name)
        if before is None:
            self.found[definition.name] = read
        elif definition.where == "user":
            said = f"{definition.source} (replaces {before.definition.source})"
            self.found[definition.name] = replace(read, definition=replace(definition, source=said))
        else:
            problem = f"is not loaded: `{definition.name}` is already defined by {before.definition.source}"
            self.notices.append(Fault(file=definition.source, line=None, problem=problem, remedy="give it another name"))


def _untrusted(settings: Settings, count: int) -> Fault:
    return Fault(
        file=f"{settings.folder.path}/agents",
        line=None,
        problem=f"{count} agent{'s are' if count > 1 else ' is'} not loaded: the workspace {settings.trust.why}",
        remedy="read what is there, then run `remit trust`",
    )


def _jobless(loader: _Loader, settings: Settings) -> Iterator[Fault]:
    """Jobs of the server that settings give to an agent which is not there. One that is disabled is left out on purpose."""
    for job, name in settings.roles.model_dump().items():
        origin = settings.origins.get(f"roles.{job}")
        if origin is not None and name not in loader.found:
            file, _, line = origin.rpartition(":")
            place = (file, int(line)) if file and line.isdecimal() else (origin, None)
            problem = f"`roles.{job}` names the agent `{name}`, which is not defined"
            remedy = f"mend the name, or write `agents: {{{job}: {{disable: true}}}}` to go without"
            yield Fault(file=place[0], line=place[1], problem=problem, remedy=remedy)


def _finished(loader: _Loader, settings: Settings) -> AgentSet:
    unknown = [(name, tuning) for name, tuning in settings.agents.items() if name not in loader.found]
    nobody = [
        Fault(
            file=tuning.origin,
            line=None,
            problem=f"settings name the agent `{name}`, which is not defined here",
            remedy="mend the name if it is wrong",
        )
        for name, tuning in unknown
    ]
    kept = {
        name: _tuned(read.definition, settings.tuning(name)) for name, read in sorted(loader.found.items()) if _stays(read, settings.agents)
    }
    return AgentSet(by_name=MappingProxyType(kept), notices=(*loader.notices, *nobody))


def _stays(read: AgentFile, agents: Mapping[str, AgentTuning]) -> bool:
    """Settings have the last word on whether an agent is left out."""
    tuning = agents.get(read.definition.name)
    said = None if tuning is None else tuning.disable
    return not (read.disable if said is None else said)


def _tuned(definition: AgentDefinition, tuning: AgentTuning) -> AgentDefinition:
    return replace(
        definition,
        model=tuning.model or definition.model,
        fallback=tuning.fallback or definition.fallback,
        temperature=definition.temperature if tuning.temperature is None else tuning.temperature,
        top_p=definition.top_p if tuning.top_p is None else tuning.top_p,
        steps=tuning.steps or definition.steps,
        timeout=tuning.timeout or definition.timeout,
        on_parent_end=tuning.on_parent_end or definition.on_parent_end,
    )
