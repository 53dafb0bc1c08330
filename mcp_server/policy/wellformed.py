"""What a request must be before it is decided. Whatever is not plainly well formed is denied."""

from collections.abc import Sequence
from typing import assert_never

from mcp_server.policy import wildcards
from mcp_server.policy.matching import PATH_PERMISSIONS
from mcp_server.policy.values import CommandValue, PathValue, PlainValue, Request, SpawnValue, Value


def problem_of(requests: Sequence[Request]) -> str | None:
    """What is wrong, in words; None where nothing is."""
    if not requests:
        return "the call asks for nothing that can be decided"
    return next((problem for request in requests if (problem := _problem(request)) is not None), None)


def _problem(request: Request) -> str | None:
    if request.permission == "" or not wildcards.plain(request.permission):
        return f"`{request.permission}` is no permission"
    if not request.values:
        return f"the request for `{request.permission}` names no value"
    return next((problem for value in request.values if (problem := _value(request.permission, value)) is not None), None)


def _value(permission: str, value: Value) -> str | None:
    if not isinstance(value, _sort(permission)):
        return f"`{permission}` was asked with a value of another kind ({type(value).__name__})"
    texts = _texts(value)
    if any("\0" in text for text in texts):
        return f"a value of `{permission}` holds a NUL character"
    if isinstance(value, PathValue) and not all(_absolute(text) for text in (value.resolved, value.unresolved)):
        return f"a path of `{permission}` is not absolute"
    return None


def _sort(permission: str) -> type[Value]:
    if permission in PATH_PERMISSIONS:
        return PathValue
    return {"bash": CommandValue, "task": SpawnValue}.get(permission, PlainValue)


def _texts(value: Value) -> tuple[str, ...]:
    match value:
        case PlainValue() | SpawnValue():
            return (value.text,)
        case CommandValue():
            return (value.text, *value.forms)
        case PathValue():
            return (value.resolved, value.unresolved, value.relative or "")
        case _:
            assert_never(value)


def _absolute(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"
