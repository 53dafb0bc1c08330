"""The names that the suite has for what a server offers, and those that Remit offers the same under when the server stands behind it.

The suite calls `test_simple_text` and reads `test://static-text`; Remit offers `fixture__test_simple_text` and
`remit://servers/fixture/test://static-text`. Everything else of a message is left as it is.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from mcp_server.protocol.upstream.naming import offered_name
from tests.conformance.plain_tools import PLAIN
from tests.conformance.reading import PROMPTS
from tests.conformance.round_tools import ROUNDS
from tests.conformance.task_tools import ALIASES, task_tools

SERVER = "fixture"
ADDRESS = f"remit://servers/{SERVER}/"
TRIGGERS = {"test_trigger_tool_change": "toolsListChanged", "test_trigger_prompt_change": "promptsListChanged"}

OFFERED: Mapping[str, str] = {own: offered_name(SERVER, own) for own in (*PLAIN, *ROUNDS, *task_tools(), *ALIASES, *TRIGGERS, *PROMPTS)}
"""By the suite's names."""

_OWN = {offered: own for own, offered in OFFERED.items()}
_NAMED = frozenset({"tools/call", "prompts/get"})
_ADDRESSED = frozenset({"resources/read", "resources/subscribe", "resources/unsubscribe"})

Message = dict[str, Any]


def inward(message: Message) -> Message:
    """A message of the suite's as Remit is told it."""
    method, params = message.get("method"), message.get("params")
    if not isinstance(params, dict):
        return message
    given = cast("dict[str, Any]", params)
    if method in _NAMED:
        given = _with(given, "name", _offered)
    elif method in _ADDRESSED:
        given = _with(given, "uri", _addressed)
    elif method == "completion/complete" and isinstance(given.get("ref"), dict):
        given = {**given, "ref": _with(_with(given["ref"], "name", _offered), "uri", _addressed)}
    return {**message, "params": given}


def header_of(name: str, text: str) -> str:
    """A header of the suite's as Remit is told it."""
    if name.lower() != "mcp-name":
        return text
    return _addressed(text) if "://" in text else _offered(text)


def _with(held: dict[str, Any], key: str, turned: Callable[[str], str]) -> dict[str, Any]:
    return {**held, key: turned(held[key])} if isinstance(held.get(key), str) else held


def _offered(name: str) -> str:
    return OFFERED.get(name, name)


def _addressed(uri: str) -> str:
    return f"{ADDRESS}{uri}" if uri.startswith("test://") else uri


def outward(node: Any) -> Any:
    """A message of Remit's as the suite is told it: what Remit itself offers is left out of its lists."""
    if isinstance(node, list):
        return [outward(each) for each in cast("list[Any]", node)]
    if isinstance(node, str):
        return node.removeprefix(ADDRESS)
    if not isinstance(node, dict):
        return node
    return {key: _listed(key, value) if key in ("tools", "prompts") else outward(value) for key, value in cast("Message", node).items()}


def _listed(key: str, value: Any) -> Any:
    if not isinstance(value, list):
        return outward(value)
    return [{**outward(one), "name": _OWN[one["name"]]} for one in cast("list[Message]", value) if one.get("name") in _OWN]
