"""One settings file from text to checked values and rules. Pure: no file is opened here.

What a source may say is in the schema; what a workspace may never say is refused here by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_server.errors import Fault
from mcp_server.policy.values import Rule
from mcp_server.settings.blocks import Source
from mcp_server.settings.checking import check
from mcp_server.settings.rules import Writer, read_rules
from mcp_server.settings.schema import SettingsFile, allowed_sources
from mcp_server.settings.vocabulary import Complaint
from mcp_server.strict_yaml import Document, Place, Plain, read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A settings file that holds no fault."""

    source: Source
    document: Document
    values: SettingsFile
    rules: tuple[Rule, ...]
    guard: tuple[Rule, ...]
    agents: Mapping[str, tuple[Rule, ...]]
    """`agents.<name>.permission`."""
    teams: Mapping[str, tuple[Rule, ...]]
    """`gateway.teams.<name>.permission`."""
    people: Mapping[str, tuple[Rule, ...]]
    """`gateway.people.<name>.permission`."""


_OWN = "move it to settings.yaml in your own configuration folder"
_IGNORE = "keep this file out of version control and it counts as yours, or move the key to your own settings"

_NEVER = ("servers", "mcp", "mcp_servers", "upstream", "base_url", "api_key", "apiKey", "keys", "env")
"""Keys that other versions and tools know; in a workspace the answer is not that they are unknown."""

_ELSEWHERE: Mapping[str, Complaint] = {
    "permissions": ("unknown key `permissions`", "write `permission: {edit: ask, bash: {'git *': allow}}`"),
    "allow": ("unknown key `allow`", "write `permission: {<permission>: allow}`"),
    "ask": ("unknown key `ask`", "write `permission: {<permission>: ask}`"),
    "deny": ("unknown key `deny`", "write `permission: {<permission>: deny}`"),
    "defaultMode": ("unknown key `defaultMode`", "write `mode`"),
    "permissionMode": ("unknown key `permissionMode`", "write `mode`"),
    "default_agent": ("unknown key `default_agent`", "write `agent`"),
    **{name: (f"unknown key `{name}`", "write `mcpServers: {<name>: {command: …}}`") for name in ("servers", "mcp", "mcp_servers")},
    "provider": ("unknown key `provider`", "write `providers: {<name>: {base_url: …, api_key_env: …}}`"),
    "api_key": ("unknown key `api_key`", "write `providers: {<name>: {api_key_env: <variable>}}`; a key itself is never written here"),
    "apiKey": ("unknown key `apiKey`", "write `providers: {<name>: {api_key_env: <variable>}}`; a key itself is never written here"),
    "base_url": ("unknown key `base_url`", "write `providers: {<name>: {base_url: …}}`"),
}


def read_source(text: str, file: str, source: Source, *, demoted: bool = False) -> tuple[SourceFile | None, tuple[Fault, ...]]:
    """Read a settings file. With faults there is no value.

    Args:
        text: The file's content.
        file: Its path, for faults and the origin of rules.
        source: Whose it is.
        demoted: Local settings that count as the project's, because version control does not ignore them.
    """
    document = read_yaml(text, file)
    if document.faults and document.value is None:
        return None, document.faults
    elsewhere = _ELSEWHERE if source in ("managed", "user") else {**_ELSEWHERE, **{key: _never(key, _OWN) for key in _NEVER}}
    values, faults = check(document, SettingsFile, elsewhere=elsewhere)
    written = document.value if isinstance(document.value, dict) else {}
    faults = (*document.faults, *faults, *_misplaced(document, written, source, _IGNORE if demoted else _OWN))
    writer = Writer.MANAGED if source == "managed" else Writer.OTHER
    rules, wrong = read_rules(document, ("permission",), written.get("permission"), writer)
    guard, wrong_guard = read_rules(document, ("guard",), written.get("guard"), writer)
    agents, wrong_agents = _named(document, ("agents",), writer)
    teams, wrong_teams = _named(document, ("gateway", "teams"), writer)
    people, wrong_people = _named(document, ("gateway", "people"), writer)
    found = {*faults, *wrong, *wrong_guard, *wrong_agents, *wrong_teams, *wrong_people}
    faults = tuple(sorted(found, key=lambda fault: (fault.line or 0, fault.problem)))
    if faults or values is None:
        return None, faults
    return SourceFile(
        source=source, document=document, values=values, rules=rules, guard=guard, agents=agents, teams=teams, people=people
    ), ()


def _named(document: Document, place: Place, writer: Writer) -> tuple[dict[str, tuple[Rule, ...]], list[Fault]]:
    """The rules of each entry of a map, by its name."""
    written: Plain = document.value
    for part in place:
        written = written.get(str(part)) if isinstance(written, dict) else None
    found: dict[str, tuple[Rule, ...]] = {}
    faults: list[Fault] = []
    for name, entry in written.items() if isinstance(written, dict) else ():
        if isinstance(entry, dict):
            found[name], wrong = read_rules(document, (*place, name, "permission"), entry.get("permission"), writer)
            faults.extend(wrong)
    return found, faults


def _misplaced(document: Document, written: Mapping[str, Plain], source: Source, remedy: str) -> list[Fault]:
    """Keys that are known, but not for this source to set."""
    faults: list[Fault] = []
    for key in written:
        if key not in SettingsFile.model_fields or source in allowed_sources(key):
            continue
        if "user" not in allowed_sources(key):
            faults.append(document.fault((key,), f"`{key}` is for managed settings alone", "remove it here"))
        else:
            faults.append(document.fault((key,), *_never(key, remedy if "local" in allowed_sources(key) else _OWN)))
    return faults


def _never(key: str, remedy: str) -> Complaint:
    return f"`{key}` is never read from a workspace", remedy
