"""From the folders and the command line to `Settings`, or every fault at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mcp_server.errors import ConfigError, Fault
from mcp_server.policy.chain import Commons
from mcp_server.policy.matching import anchor
from mcp_server.policy.values import MODES_STRICTEST_FIRST, Mode, Rule
from mcp_server.settings.flags import read_flags
from mcp_server.settings.gather import Found, gather
from mcp_server.settings.guard import built_in_guard, guard_layer
from mcp_server.settings.merge import Leaf, Merged, checked, lock_faults, merge, said_by
from mcp_server.settings.places import Places
from mcp_server.settings.schema import AgentSettings, SettingsFile
from mcp_server.settings.source import SourceFile
from mcp_server.settings.values import AgentTuning, Flags, Settings, SourceRead

NO_FLAGS = Flags()


def load_settings(*, workspace: Path, places: Places, flags: Flags = NO_FLAGS, before: Settings | None = None) -> Settings:
    """All settings for one workspace.

    Args:
        workspace: As `check_workspace` gave it: absolute, resolved, fit.
        places: Where the other files are.
        flags: The command line.
        before: An earlier reading, whose `.remit` stands in for one that cannot be used now; it does not count as trusted.

    Raises:
        ConfigError: With every fault of every file and flag.
    """
    found = gather(workspace, places, None if before is None else before.folder)
    said, flag_rules, flag_faults = read_flags(flags)
    locks = tuple(lock for file in found.managed for lock in file.values.lock)
    faults = (*found.faults, *flag_faults, *(fault for file in found.managed for fault in lock_faults(file)), *_twice(found.managed))
    if faults:
        raise ConfigError(faults)
    roots = _Roots(workspace=workspace, places=places)
    groups = _group(found)
    merged = merge((*(said_by(file) for file in groups.single), said), locks)
    typed = roots.anchored(flag_rules)
    return _settings(found, groups, merged, _commons(groups, roots, typed, locks, trusted=found.trusted), roots, typed)


def _twice(files: Sequence[SourceFile]) -> Iterator[Fault]:
    """Entries of which each file would say half: which half counts is not to be guessed."""
    seen: dict[Leaf, str] = {}
    for file in files:
        for leaf in said_by(file).leaves:
            if leaf[0] == "gateway" and leaf in seen:
                problem = f"`{'.'.join(leaf)}` stands in {seen[leaf]} too"
                yield file.document.fault(leaf, problem, "write all of it in one file")
            seen[leaf] = file.document.file


@dataclass(frozen=True, slots=True, kw_only=True)
class _Roots:
    workspace: Path
    places: Places

    def anchored(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """Rules as the policy reads them: patterns of paths taken from the workspace, `~/` from the home folder."""
        workspace, home = self.workspace.as_posix(), self.places.home.resolve().as_posix()
        return tuple(anchor(rule, workspace, home) for rule in rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    """Which file speaks in which layer, in their order."""

    managed: tuple[SourceFile, ...]
    person: tuple[SourceFile, ...]
    project: tuple[SourceFile, ...]
    single: tuple[SourceFile, ...]
    """Those whose single values are read, weakest first."""
    notices: tuple[Fault, ...]


def _group(found: Found) -> _Groups:
    trusted = found.trusted
    mine = trusted and found.local is not None and found.local.source == "local"
    project = _present(found.project, None if mine else found.local)
    person = _present(found.user, found.local if mine else None)
    heard = project if trusted else ()
    notices = () if trusted else tuple(_unread(file, found.trust.why) for file in project)
    return _Groups(managed=found.managed, person=person, project=project, single=(*found.managed, *heard, *person), notices=notices)


def _present(*files: SourceFile | None) -> tuple[SourceFile, ...]:
    return tuple(file for file in files if file is not None)


def _unread(file: SourceFile, why: str) -> Fault:
    problem = f"the workspace {why}: of this file only deny and ask rules are heard"
    return Fault(file=file.document.file, line=None, problem=problem, remedy="read it, then run `remit trust`")


def _commons(groups: _Groups, roots: _Roots, typed: tuple[Rule, ...], locks: tuple[str, ...], *, trusted: bool) -> Commons:
    def rules(files: Iterable[SourceFile]) -> tuple[Rule, ...]:
        return roots.anchored(rule for file in files for rule in file.rules)

    def edits(files: Iterable[SourceFile]) -> tuple[Rule, ...]:
        return roots.anchored(rule for file in files for rule in file.guard)

    every = (*groups.managed, *groups.person, *groups.project)
    return Commons(
        workspace=roots.workspace.as_posix(),
        managed=rules(groups.managed),
        person=(*rules(groups.person), *typed),
        project=rules(groups.project),
        project_trusted=trusted,
        guard=guard_layer(built_in_guard(roots.workspace, roots.places), edits(groups.person), edits(groups.managed), locks),
        primary_tools=tuple(dict.fromkeys(tool for file in every for tool in file.values.primary_tools)),
        max_mode=_strictest(file.values.max_mode for file in groups.managed),
    )


def _strictest(modes: Iterable[Mode | None]) -> Mode | None:
    return min((mode for mode in modes if mode is not None), key=MODES_STRICTEST_FIRST.index, default=None)


def _settings(found: Found, groups: _Groups, merged: Merged, commons: Commons, roots: _Roots, typed: tuple[Rule, ...]) -> Settings:
    values = checked(merged)
    return Settings(
        commons=commons,
        command_line=typed,
        agents=MappingProxyType(_agents(groups, values.agents, roots)),
        team_rules=MappingProxyType({name: roots.anchored(rules) for file in groups.managed for name, rules in file.teams.items()}),
        people_rules=MappingProxyType({name: roots.anchored(rules) for file in groups.managed for name, rules in file.people.items()}),
        trust=found.trust,
        folder=found.folder,
        agent=values.agent,
        mode=values.mode,
        model=values.model,
        small_model=values.small_model,
        model_fallback=values.model_fallback,
        sampling=values.sampling,
        credential_key_file=values.credential_key_file,
        tools=None if values.tools is None else tuple(values.tools),
        roles=values.roles,
        providers=MappingProxyType(dict(values.providers)),
        upstreams=MappingProxyType({name: one for name, one in values.mcpServers.items() if not one.disabled}),
        limits=values.limits,
        session_budget=values.session_budget,
        tree_budget=values.tree_budget,
        retention=values.retention,
        audit=values.audit,
        rulings=values.rulings,
        webfetch=values.webfetch,
        websearch=values.websearch,
        sandbox=values.sandbox,
        channels=tuple(values.channels),
        gateway=values.gateway,
        called=frozenset() if values.gateway is None else values.gateway.names_of(commons.workspace),
        webhook=values.webhook,
        origins=MappingProxyType(dict(merged.origins)),
        sources=tuple(
            SourceRead(source=file.source, file=file.document.file) for file in (*groups.managed, *groups.project, *groups.person)
        ),
        notices=(*groups.notices, *merged.notices, *_half(values.tools, merged.origins), *_idle(values, merged.origins)),
    )


def _half(tools: Sequence[str] | None, origins: Mapping[str, str]) -> tuple[Fault, ...]:
    """A list of tools that makes one of them useless."""
    if tools is None or "grep" not in tools or "read" in tools:
        return ()
    problem = "`tools` leaves `grep` and takes `read` away: `grep` shows only files that may be read, and will find nothing"
    return (Fault(file=origins["tools"], line=None, problem=problem, remedy="add `read`, or take `grep` out"),)


def _idle(values: SettingsFile, origins: Mapping[str, str]) -> tuple[Fault, ...]:
    """A webhook that nothing is posted to."""
    if values.webhook is None or "webhook" in values.channels:
        return ()
    problem = "`webhook` is not used: `channels` does not name it"
    return (Fault(file=origins["webhook"], line=None, problem=problem, remedy="add `webhook` to `channels`, beside those that answer"),)


def _agents(groups: _Groups, singles: Mapping[str, AgentSettings], roots: _Roots) -> dict[str, AgentTuning]:
    every = (*groups.managed, *groups.person)
    names = dict.fromkeys(name for file in every for name in file.values.agents)
    return {
        name: AgentTuning(
            person=_rules_of(name, groups.person, roots),
            managed=_rules_of(name, groups.managed, roots),
            origin=next(f"{file.document.file}:{file.document.line(('agents', name))}" for file in every if name in file.values.agents),
            **singles.get(name, AgentSettings()).model_dump(exclude={"permission"}),
        )
        for name in names
    }


def _rules_of(name: str, files: Sequence[SourceFile], roots: _Roots) -> tuple[Rule, ...]:
    return roots.anchored(rule for file in files for rule in file.agents.get(name, ()))
