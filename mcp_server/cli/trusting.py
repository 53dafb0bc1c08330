"""What a workspace's `.remit/` would add once it is trusted, in lines for a person. Pure reading: nothing is trusted here."""

from collections.abc import Iterator
from pathlib import Path

from mcp_server.agents.front_matter import AgentFile, read_agent
from mcp_server.errors import ConfigError, Fault
from mcp_server.policy.values import Action, Rule
from mcp_server.settings.files import decode
from mcp_server.settings.folder import RemitFolder
from mcp_server.settings.source import SourceFile, read_source

SETTINGS = ("settings.yaml", "settings.local.yaml")


def what_would_count(folder: RemitFolder, home: Path) -> tuple[str, ...]:
    """A line for each agent, each rule that allows, and each key that is set.

    Raises:
        ConfigError: A file holds faults. What cannot be read cannot be shown, and so not be trusted.
    """
    lines: list[str] = []
    faults: list[Fault] = []
    for name, content in sorted(folder.files.items()):
        file = f"{folder.path}/{name}"
        text = decode(content, file)
        if isinstance(text, Fault):
            faults.append(text)
            continue
        read = _read(name, file, text, folder, home)
        if isinstance(read, tuple):
            faults.extend(read)
        else:
            lines.extend(_settings_lines(name, read) if isinstance(read, SourceFile) else _agent_lines(read))
    if faults:
        raise ConfigError(tuple(faults))
    return tuple(lines) or ("nothing: there are no settings and no agents in .remit/",)


def _read(name: str, file: str, text: str, folder: RemitFolder, home: Path) -> SourceFile | AgentFile | tuple[Fault, ...]:
    if name in SETTINGS:
        read, faults = read_source(text, file, "project")
        return read if read is not None else faults
    workspace = Path(folder.path).parent.as_posix()
    return read_agent(text, file, where="workspace", workspace=workspace, home=home.resolve().as_posix())


def _settings_lines(name: str, read: SourceFile) -> Iterator[str]:
    allows = [rule for rule in read.rules if rule.action is Action.ALLOW]
    yield from (f"{name}: {_rule(rule)}" for rule in allows)
    others = len(read.rules) - len(allows)
    if others:
        yield f"{name}: {others} rule{'s' if others > 1 else ''} that ask or deny, heard in any case"
    for key in sorted(read.values.model_fields_set - {"permission"}):
        yield f"{name}: {key} = {getattr(read.values, key)}"


def _agent_lines(read: AgentFile) -> Iterator[str]:
    definition = read.definition
    yield f"agent {definition.name} ({definition.mode}): {definition.description}"
    yield from (f"  {_rule(rule)}" for rule in definition.permission)
    if definition.permission_mode is not None:
        yield f"  mode {definition.permission_mode.value}"


def _rule(rule: Rule) -> str:
    return f"{rule} (self)" if rule.scope == "self" else str(rule)
