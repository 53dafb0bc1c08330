"""One HTTP request as the gateway's door looks at it: its headers, its body whole and in time, and what it would call."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

import anyio
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, NAME_BEARING_METHODS, decode_header_value
from starlette.types import Message, Receive, Scope

from mcp_server.protocol.tasks_wire import NAMED_BY_ID

_NAMES = {**NAME_BEARING_METHODS, **NAMED_BY_ID}
"""The parameter that the header Mcp-Name repeats, by method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """The request is not looked at further."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a message wants: its method, and the tool, prompt or address it is for. No method: it is an answer."""

    method: str | None
    name: str | None
    id: str | int | None = None
    """By which its answer is known. None: nobody waits for one."""

    @property
    def asks(self) -> bool:
        """It is to be carried out and answered: neither an answer nor a notification."""
        return self.method is not None and self.id is not None


NAMED = "remit.named"
"""The key in an ASGI scope under which a `Named` stands."""


def header(scope: Scope, name: str) -> str | None:
    """A header's one value; None where it is absent, or there more than once: nobody can say which of two counts."""
    found = [value for key, value in scope["headers"] if key == name.encode()]
    return found[0].decode("latin-1") if len(found) == 1 else None


def has(scope: Scope, name: str) -> bool:
    """Is the header there at all?"""
    return any(key == name.encode() for key, _ in scope["headers"])


def bearer_of(scope: Scope) -> str | None:
    """The token of the Authorization header. None: there is none. One in the address does not count: addresses are written down."""
    scheme, _, token = (header(scope, "authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


async def body_of(receive: Receive, *, most: int, seconds: float) -> bytes | Unfit | None:
    """The whole body. None: the client hung up."""
    content = bytearray()
    try:
        with anyio.fail_after(seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                content += message.get("body", b"")
                if len(content) > most:
                    return Unfit(status=413, reason="The request is too large.")
                if not message.get("more_body", False):
                    return bytes(content)
    except TimeoutError:
        return Unfit(status=408, reason="The request took too long to arrive.")


def again(content: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """`receive` as if the body had not been read yet."""
    left: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def replayed() -> Message:
        return left.pop() if left else await receive()

    return replayed


def named_by(content: bytes) -> Named | Unfit:
    """What a message names. What cannot be read here goes no further: another reader might read something else."""
    try:
        found = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return Unfit(status=400, reason="The request is no JSON that can be read in one way only.")
    if not isinstance(found, dict):
        return Unfit(status=400, reason="The request is not one JSON-RPC message.")
    message = cast("dict[str, Any]", found)
    method, params, id_ = message.get("method"), message.get("params"), message.get("id")
    known = id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None
    if isinstance(method, str) and known is None and not method.startswith("notifications/"):
        # Taken for a notification otherwise: nothing would come of it, and nobody would be told so.
        return Unfit(status=400, reason="A request needs an id: a text or a whole number.")
    if not isinstance(method, str) or not isinstance(params, dict):
        return Named(method=method if isinstance(method, str) else None, name=None, id=known)
    name = cast("dict[str, Any]", params).get(_NAMES.get(method, ""))
    return Named(method=method, name=name if isinstance(name, str) else None, id=known)


def contradicted(scope: Scope, named: Named) -> bool:
    """Do the headers that stand for the message say something else than it? A proxy in front may have gone by them."""
    return any(
        has(scope, key) and (header(scope, key) is None or decode_header_value(header(scope, key)) != said)
        for key, said in ((MCP_METHOD_HEADER, named.method), (MCP_NAME_HEADER, named.name))
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A map whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found
