"""Many sources to one value each. Rules are not merged here: they add up, layer by layer, and never override.

Weakest first: managed, project (once trusted), user, local, command line. A key that managed settings lock takes
their value, or the default where they set none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.blocks import Block
from mcp_server.settings.gateway import Gateway, gateway_faults
from mcp_server.settings.schema import AgentSettings, AuditWish, Budget, Limits, Retention, Roles, RulingLimits, SettingsFile, WebFetch
from mcp_server.settings.source import SourceFile

Leaf = tuple[str, ...]

SINGLE = (
    "agent",
    "mode",
    "model",
    "small_model",
    "model_fallback",
    "sampling",
    "tools",
    "websearch",
    "sandbox",
    "channels",
    "webhook",
    "credential_key_file",
)
BLOCKS: Mapping[str, type[Block]] = {
    "roles": Roles,
    "limits": Limits,
    "session_budget": Budget,
    "tree_budget": Budget,
    "retention": Retention,
    "rulings": RulingLimits,
    "audit": AuditWish,
    "webfetch": WebFetch,
    "gateway": Gateway,
}
SHORTEST = frozenset({("rulings", "allow_expiry")})
"""Where what managed settings say is the most that anybody may say."""
ADDED_UP = frozenset({("gateway", "teams"), ("gateway", "people"), ("gateway", "workspaces")})
"""Maps whose entries may stand in several files, each entry in one."""
WHOLE = ("providers", "mcpServers")
"""Maps of which one source's words on an entry count as a whole."""
NAMED = (*WHOLE, "agents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The values that won, as nested maps, and where each is written."""

    values: dict[str, Any]
    origins: Mapping[str, str]
    notices: tuple[Fault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one source says of single values."""

    leaves: Mapping[Leaf, Any]
    origins: Mapping[Leaf, Fault]
    """A blank fault at each value's place: its file and line."""
    managed: bool = False


def said_by(file: SourceFile) -> Said:
    """The single values of a file."""
    leaves = dict(_leaves(file.values))
    places = {leaf: file.document.fault(leaf, "", "") for leaf in leaves}
    return Said(leaves=leaves, origins=places, managed=file.source == "managed")


def _leaves(values: SettingsFile) -> Iterator[tuple[Leaf, Any]]:
    said = values.model_fields_set
    for key in SINGLE:
        if key in said:
            yield (key,), getattr(values, key)
    for key in BLOCKS:
        if key in said:
            block = getattr(values, key)
            yield from (
                (leaf, value) for name in sorted(block.model_fields_set) for leaf, value in _inside(key, name, getattr(block, name))
            )
    for key in WHOLE:
        if key in said:
            yield from (((key, name), entry) for name, entry in getattr(values, key).items())
    for name, agent in values.agents.items():
        yield from ((("agents", name, field), getattr(agent, field)) for field in sorted(agent.model_fields_set - {"permission"}))


def _inside(key: str, name: str, value: Any) -> Iterator[tuple[Leaf, Any]]:
    """One key of a block; each entry for itself where they add up."""
    if (key, name) in ADDED_UP:
        yield from (((key, name, entry), inner) for entry, inner in value.items())
    else:
        yield (key, name), value


def merge(sources: Sequence[Said], locks: Sequence[str]) -> Merged:
    """The winning values. `sources` is weakest first."""
    won: dict[Leaf, Any] = {}
    origins: dict[str, str] = {}
    notices: list[Fault] = []
    managed: dict[Leaf, Any] = {}
    for source in sources:
        for leaf, value in source.leaves.items():
            place = source.origins[leaf]
            lock = locking(leaf, locks)
            if lock is not None and not source.managed:
                problem = f"`{'.'.join(leaf)}` is not used: managed settings lock `{lock}`"
                notices.append(Fault(file=place.file, line=place.line, problem=problem, remedy="remove it, or ask who runs this machine"))
                continue
            if leaf[0] == "mcpServers" and leaf in managed and not source.managed:
                problem = f"`{'.'.join(leaf)}` is not used: managed settings have a server of this name, and their rules speak of that one"
                notices.append(Fault(file=place.file, line=place.line, problem=problem, remedy="give yours another name"))
                continue
            if leaf in SHORTEST and leaf in managed and value >= managed[leaf]:
                continue
            if source.managed:
                managed[leaf] = value
            won[leaf] = value
            origins[".".join(leaf)] = place.file if place.line is None else f"{place.file}:{place.line}"
    return Merged(values=_nested(won), origins=origins, notices=tuple(notices))


def checked(merged: Merged) -> SettingsFile:
    """The values that won as one whole.

    Raises:
        ConfigError: With what all sources together leave out.
    """
    values = SettingsFile.model_validate(merged.values)
    if faults := (*gateway_faults(values.gateway, merged.origins), *_webhook_faults(values, merged.origins)):
        raise ConfigError(faults)
    return values


def _webhook_faults(values: SettingsFile, origins: Mapping[str, str]) -> tuple[Fault, ...]:
    if values.webhook is not None or "webhook" not in values.channels:
        return ()
    problem = "`channels` names `webhook`, and nothing says where that is"
    return (Fault(file=origins["channels"], line=None, problem=problem, remedy="add `webhook: {url: …, secret_file: …}`"),)


def locking(leaf: Leaf, locks: Sequence[str]) -> str | None:
    """The lock that holds a key, if any: of itself, or of what it lies in."""
    name = ".".join(leaf)
    return next((lock for lock in locks if name == lock or name.startswith(f"{lock}.")), None)


def _nested(leaves: Mapping[Leaf, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for leaf, value in leaves.items():
        node = tree
        for part in leaf[:-1]:
            node = node.setdefault(part, {})
        node[leaf[-1]] = value
    return tree


def lock_faults(file: SourceFile) -> tuple[Fault, ...]:
    """Locks of a managed file that hold nothing."""
    return tuple(
        file.document.fault(("lock", index), f"`{lock}` cannot be locked", _lock_remedy(lock))
        for index, lock in enumerate(file.values.lock)
        if not _lockable(lock)
    )


def _lockable(lock: str) -> bool:
    first, *rest = lock.split(".")
    if not all(rest):
        return False
    if first in SINGLE:
        return not rest
    if first in BLOCKS:
        return not rest or (len(rest) == 1 and rest[0] in BLOCKS[first].model_fields)
    if first == "agents":
        return len(rest) <= 1 or (len(rest) == 2 and rest[1] in set(AgentSettings.model_fields) - {"permission"})
    return first in {"guard", *WHOLE} and len(rest) <= 1


def _lock_remedy(lock: str) -> str:
    if lock.split(".")[0] in {"permission", "primary_tools", "max_mode"}:
        return "remove it: nobody can loosen this from elsewhere"
    return f"lock one of {', '.join((*SINGLE, *BLOCKS, *NAMED, 'guard'))}, or a key inside one: limits.depth"
