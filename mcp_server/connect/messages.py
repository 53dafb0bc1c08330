"""One line of JSON-RPC as the bridge looks at it: what kind it is and which headers it travels with. Its text is passed on as it came."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never, cast

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
"""In `_meta` of every request from 2026-07-28 on, and of none before."""

NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Which parameter the header `Mcp-Name` repeats."""

HARMLESS = frozenset(
    {
        "ping",
        "tools/list",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
    }
)
"""What may be asked twice: it changes nothing but what a session is told. Any other request is made again only where the server itself
has said, as JSON-RPC, that it did not take it: a 404 may come from something in front of a server that took it, and died.
"""

CLOSED = -32000
"""What the SDK's clients, too, use for an answer that can no longer come."""
INVALID = -32600
NO_METHOD = -32601
UNREADABLE = -32700

_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")

Id = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Somebody waits for its answer."""

    id: Id
    method: str
    params: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """Nobody waits."""

    method: str
    params: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A result or an error."""

    id: Id | None
    """None: an error to something that was not understood."""
    result: Mapping[str, Any] | None
    """None: an error."""
    text: str


Message = Request | Notification | Answer


class Unreadable(Exception):
    """Not one JSON-RPC message."""

    def __init__(self, code: int, problem: str) -> None:
        super().__init__(problem)
        self.code = code


def read(text: str) -> Message:
    """The message that stands in a text.

    Raises:
        Unreadable: There is none, or more than one.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(UNREADABLE, "not JSON") from error
    if not isinstance(found, dict):
        raise Unreadable(INVALID, "not one JSON-RPC message")
    message = cast("dict[str, Any]", found)
    line = _one_line(text)
    number, method = message.get("id"), message.get("method")
    known = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    if isinstance(method, str):
        if "id" not in message:
            return Notification(method=method, params=_mapping(message.get("params")), text=line)
        if known is None:
            raise Unreadable(INVALID, "a request's id is a text or a whole number")
        return Request(id=known, method=method, params=_mapping(message.get("params")), text=line)
    if "result" in message or "error" in message:
        result = _mapping(message["result"]) if "result" in message else None
        return Answer(id=known, result=result, text=line)
    raise Unreadable(INVALID, "neither a request nor an answer")


def _one_line(text: str) -> str:
    """JSON holds line ends between its tokens only, where they mean nothing; on standard output they end a message."""
    return text.strip().replace("\r", " ").replace("\n", " ")


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def own_version(message: Request | Notification) -> str | None:
    """The protocol version that the message itself names, as messages do from 2026-07-28 on; None: it belongs to a session."""
    version = _mapping(message.params.get("_meta")).get(VERSION_KEY)
    return version if isinstance(version, str) else None


def routing_headers(message: Message) -> dict[str, str]:
    """The headers that repeat a message from 2026-07-28 on; none for an earlier one."""
    match message:
        case Answer():
            return {}
        case Request() | Notification():
            version = own_version(message)
            if version is None:
                return {}
            headers = {"mcp-protocol-version": header_value(version), "mcp-method": header_value(message.method)}
            name = message.params.get(NAMED.get(message.method, ""))
            return headers | ({"mcp-name": header_value(name)} if isinstance(name, str) else {})
        case _:
            assert_never(message)


def header_value(value: str) -> str:
    """A text as the specification has it in a header: plain where that is safe, else wrapped in base64."""
    if value == "" or (_PLAIN.fullmatch(value) and not _WRAPPED.fullmatch(value)):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def error_text(to: Id | None, code: int, problem: str) -> str:
    """An error of the bridge's own, as one line."""
    return error_answer(to, {"code": code, "message": problem})


def error_answer(to: Id | None, error: Mapping[str, Any]) -> str:
    """An error, as one line."""
    return json.dumps({"jsonrpc": "2.0", "id": to, "error": error})


def with_id(answer: Answer, to: Id) -> str:
    """The answer's text with the id of what it answers: a server that did not understand a request knows none."""
    if answer.id == to:
        return answer.text
    return json.dumps({**json.loads(answer.text), "id": to})


def notification_text(method: str) -> str:
    """A notification without parameters."""
    return json.dumps({"jsonrpc": "2.0", "method": method})


def request_text(to: Id, method: str, params: Mapping[str, Any]) -> str:
    """A request of the bridge's own."""
    return json.dumps({"jsonrpc": "2.0", "id": to, "method": method, "params": params})
