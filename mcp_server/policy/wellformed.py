"""What a request must be before it is decided. Whatever is not plainly well formed is denied."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from mcp_server.policy.matching import PATH_PERMISSIONS
from mcp_server.policy.values import CommandValue, PathValue, PlainValue, Request, SpawnValue, Value


def problem_of(requests: Sequence[Request]) -> str | None:
    """What is wrong, in words; None where nothing is."""
    for request in requests:
        problem = _problem(request)
        if problem is not None:
            return problem
    return None if requests else "the call asks for nothing that can be decided"


def _problem(request: Request) -> str | None:
    permission = request.permission
    if permission == "" or "*" in permission or "?" in permission:
        return f"`{permission}` is no permission"
    if any(layer.may_allow for layer in request.guards):
        return f"a layer that the request for `{permission}` brings along may not allow"
    sort = _SORTS.get(permission, PlainValue)
    for value in request.values:
        problem = _value(permission, value, sort)
        if problem is not None:
            return problem
    return None if request.values else f"the request for `{permission}` names no value"


def _value(permission: str, value: Value, sort: type[Value]) -> str | None:
    if type(value) is not sort:
        return f"`{permission}` was asked with a value of another kind ({type(value).__name__})"
    if "\0" in "".join(_texts(value)):
        return f"a value of `{permission}` holds a NUL character"
    if isinstance(value, PathValue) and not (_absolute(value.resolved) and _absolute(value.unresolved)):
        return f"a path of `{permission}` is not absolute"
    return None


_SORTS: Mapping[str, type[Value]] = {**dict.fromkeys(PATH_PERMISSIONS, PathValue), "bash": CommandValue, "task": SpawnValue}


def _texts(value: Value) -> tuple[str, ...]:
    match value:
        case CommandValue():
            return (value.text, *value.forms)
        case PathValue():
            return (value.resolved, value.unresolved, value.relative or "")
        case PlainValue():
            return (value.text, *value.forms)
        case SpawnValue():
            return (value.text,)
        case _:
            assert_never(value)


def _absolute(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"
