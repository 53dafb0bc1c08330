"""The words that files may use: permissions, tools, actions; and what to say when another one stands there.

The tools themselves are rooms above; a test at the top holds that the names agree.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Literal, get_args

from mcp_server.policy.matching import PATH_PERMISSIONS
from mcp_server.policy.silence import reads
from mcp_server.policy.values import Action

Complaint = tuple[str, str]
"""Problem and remedy, still without a place."""

PLAIN_PERMISSIONS = frozenset({"todowrite", "question"})
"""Asked with the value `*` alone."""

PERMISSIONS = PATH_PERMISSIONS | PLAIN_PERMISSIONS | {"bash", "webfetch", "websearch", "task", "doom_loop"}
OWNED = frozenset({"todoread", "task_status", "task_cancel", "session_info", "bash_output", "bash_kill"})
"""Tools that need ownership, not permission."""

TOOLS = (PERMISSIONS - {"external_directory", "doom_loop"}) | OWNED | {"write", "apply_patch"}
Role = Literal["member", "approver", "operator", "auditor"]
"""What somebody may do at a gateway beside the others: use it; answer asks that rules give to this role; see everybody's sessions;
read everybody's audit, sessions, prompts and rulings."""

ROLES: tuple[Role, ...] = get_args(Role)

ACTIONS = {action.word: action for action in Action}

_INSTEAD = {
    "write": "edit",
    "apply_patch": "edit",
    "multiedit": "edit",
    "patch": "edit",
    "notebookedit": "edit",
    "ls": "list",
    "shell": "bash",
    "fetch": "webfetch",
    "agent": "task",
    "todo": "todowrite",
    "externaldirectory": "external_directory",
}
"""Names that people bring, and the permission that covers them here."""

_WILD = re.compile(r"[*?]")
_NAME = re.compile(r"[A-Za-z0-9_*?-]+")
_ADDRESS = re.compile(r"[A-Za-z*?]+://[^/]+")
_DOMAIN = re.compile(r"domain:(?P<host>[^/\s]+)")
_OTHER_MCP = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant; case and `-` for `_` do not count."""
    folded = {_fold(name): name for name in sorted(known)}
    close = difflib.get_close_matches(_fold(word), folded, n=1, cutoff=0.7)
    return folded[close[0]] if close else None


def _fold(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()


def permission_complaint(name: str) -> Complaint | None:
    """What is wrong with a rule's permission: a name that nothing asks with would never match."""
    problem = f"`{name}` is not a permission"
    if not _NAME.fullmatch(name):
        return problem, "use letters, digits, `_`, `-` and the wildcards `*` and `?`"
    if name in PERMISSIONS:
        return None
    if other := _OTHER_MCP.fullmatch(name):
        return problem, f"write `{other['server']}__{other['tool']}`"
    if name in OWNED:
        return problem, f"remove it: `{name}` reaches only what is the caller's own and needs none"
    if _WILD.search(name) or ("__" in name and not name.startswith("__")):
        return None
    meant = _INSTEAD.get(_fold(name)) or nearest(name, PERMISSIONS)
    return problem, f"did you mean `{meant}`?" if meant else f"use one of {', '.join(sorted(PERMISSIONS))} or <server>__<tool>"


def pattern_complaint(permission: str, pattern: str) -> Complaint | None:
    """What is wrong with a rule's pattern under its permission: one that no value can match."""
    if not pattern:
        return f"the pattern of `{permission}` is empty", 'write "*" for every value'
    if "\0" in pattern:
        return f"the pattern of `{permission}` holds a NUL", "remove it"
    if (permission in PLAIN_PERMISSIONS or ("__" in permission and not reads(permission))) and pattern not in {"*", "**"}:
        hint = "test arguments with `when` in the list form" if "__" in permission else "leave the pattern out"
        return f"`{permission}` is asked with the value * alone; `{pattern}` never matches", f'write "*"; {hint}'
    if permission == "webfetch" and (complaint := _address_complaint(pattern)) is not None:
        return complaint
    if permission == "bash" and pattern.endswith(":*"):
        return f"`{pattern}` ends with :*, which is literal here", f'write "{pattern[:-2]} *"'
    return None


def _address_complaint(pattern: str) -> Complaint | None:
    """Addresses are judged in one form, and a pattern in another matches none: a deny that denies nothing."""
    if domain := _DOMAIN.fullmatch(pattern):
        return f"`{pattern}` is no address", f'write "*://{domain["host"].lower()}/*"'
    start = _ADDRESS.match(pattern)
    if start is None:
        return None
    plain = start[0].lower()
    if start[0] != plain:
        return (
            f"`{pattern}` has capitals in its host, and addresses are judged in small letters",
            f'write "{plain}{pattern[start.end() :]}"',
        )
    if start.end() == len(pattern) and not _WILD.search(pattern):
        return f"`{pattern}` has no path, and every address that is judged has one", f'write "{pattern}/*"'
    return None


def action_complaint(word: object) -> Complaint | None:
    """What is wrong with an action."""
    if isinstance(word, str) and word in ACTIONS:
        return None
    if word is None:
        return "there is no action", "write allow, ask or deny"
    if isinstance(word, bool):
        return f"`{str(word).lower()}` is not an action", f"did you mean `{'allow' if word else 'deny'}`?"
    meant = nearest(str(word), ACTIONS)
    return f"`{word}` is not an action", f"did you mean `{meant}`?" if meant else "write allow, ask or deny"


def tool_complaint(name: str) -> Complaint | None:
    """What is wrong with a tool's name in a list of tools."""
    if name in TOOLS or ("__" in name and re.fullmatch(r"[A-Za-z0-9_*?-]{1,40}", name)):
        return None
    meant = tool_meant(name)
    return (
        f"`{name}` is not a tool",
        f"did you mean `{meant}`?" if meant else f"use names from {', '.join(sorted(TOOLS))} or <server>__<tool>, <server>__*",
    )


def tool_meant(name: str) -> str | None:
    """The tool that somebody who writes `name` most likely means."""
    return nearest(name, TOOLS) or _INSTEAD.get(_fold(name))
