"""What the command line says, checked as a settings file would be."""

from dataclasses import replace

from mcp_server.errors import Fault
from mcp_server.policy.values import Rule
from mcp_server.settings.checking import check
from mcp_server.settings.merge import Said, said_by
from mcp_server.settings.rules import parse_flag
from mcp_server.settings.schema import SettingsFile
from mcp_server.settings.source import SourceFile
from mcp_server.settings.values import Flags
from mcp_server.strict_yaml import Document, Plain

FILE = "command line"
_FLAGS = {"webfetch": "--private-host"}
"""Where a flag is called otherwise than its key."""


def read_flags(flags: Flags) -> tuple[Said, tuple[Rule, ...], tuple[Fault, ...]]:
    """The single values, the rules in the order on the line, and what is wrong with them."""
    document = Document(file=FILE, value=_written(flags), lines={}, first_line=1, faults=())
    values, faults = check(document, SettingsFile, elsewhere={})
    rules: list[Rule] = []
    wrong = list(faults)
    for action, text in flags.rules:
        parsed = parse_flag(text, action)
        if isinstance(parsed, Rule):
            rules.append(parsed)
        else:
            wrong.append(Fault(file=f"{FILE}, --{action.word}", line=None, problem=parsed[0], remedy=parsed[1]))
    read = SourceFile(source="cli", document=document, values=values or SettingsFile(), rules=(), guard=(), agents={}, teams={}, people={})
    said = said_by(read)
    places = {leaf: replace(place, line=None, file=_FLAGS.get(leaf[0], f"--{leaf[0]}")) for leaf, place in said.origins.items()}
    return replace(said, origins=places), tuple(rules), tuple(replace(fault, line=None) for fault in wrong)


def _written(flags: Flags) -> dict[str, Plain]:
    written: dict[str, Plain] = {key: value for key in ("mode", "agent", "model") if (value := getattr(flags, key)) is not None}
    if flags.tools is not None:
        written["tools"] = [name.strip() for name in flags.tools.split(",") if name.strip()]
    if flags.private_hosts:
        written["webfetch"] = {"private_hosts": list(flags.private_hosts)}
    return written
