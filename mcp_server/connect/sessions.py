"""A session of a host whose era has them, up to 2025-11-25: which one the server gave, and how it is opened again when the server has
ended it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

CHANGES = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
}
"""What a host is told of lists that may differ in a new session, by the capability that lets it listen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One session, as its handshake left it."""

    id: str | None
    """None: the server keeps none."""
    version: str

    @property
    def headers(self) -> dict[str, str]:
        """What its messages carry."""
        named = {} if self.id is None else {"mcp-session-id": self.id}
        return {"mcp-protocol-version": self.version, **named}


class Session:
    """What the host has set up, for as long as the bridge runs."""

    def __init__(self) -> None:
        self.now: Opened | None = None
        """None: before the handshake, or without one."""
        self.ready = False
        """Has the host said that it is initialized?"""
        self.opening: Mapping[str, Any] | None = None
        """The parameters of the host's `initialize`."""
        self.capabilities: Mapping[str, Any] = {}
        self.level: Mapping[str, Any] | None = None
        """Of `logging/setLevel`."""
        self.subscribed: dict[str, Mapping[str, Any]] = {}
        """Parameters of `resources/subscribe`, by address."""

    def opened(self, params: Mapping[str, Any], result: Mapping[str, Any], session_id: str | None) -> Opened:
        """The handshake has been answered."""
        self.opening = params
        self.capabilities = _mapping(result.get("capabilities"))
        self.now = Opened(id=session_id, version=str(result.get("protocolVersion", "")))
        return self.now

    def answered(self, method: str, params: Mapping[str, Any]) -> None:
        """A request has succeeded: remember what a new session must be told again."""
        address = str(params.get("uri"))
        if method == "logging/setLevel":
            self.level = params
        elif method == "resources/subscribe":
            self.subscribed[address] = params
        elif method == "resources/unsubscribe":
            self.subscribed.pop(address, None)

    def again(self) -> list[tuple[str, Mapping[str, Any]]]:
        """What a new session is told after its handshake. None of it changes anything but the session."""
        told = [("logging/setLevel", self.level)] if self.level is not None else []
        return [*told, *(("resources/subscribe", params) for params in self.subscribed.values())]

    def changes(self) -> list[str]:
        """What the host is told once a new session is open."""
        return [method for name, method in CHANGES.items() if _mapping(self.capabilities.get(name)).get("listChanged") is True]


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
