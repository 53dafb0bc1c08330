"""What is kept of a server for the next start, and for `remit upstreams`: its tools as it listed them last, and how it did."""

import hashlib
import json
from typing import Any

from mcp_types import Tool
from pydantic import BaseModel, ConfigDict, ValidationError

from mcp_server.protocol.upstream.naming import Definition, definitions
from mcp_server.protocol.upstream.shelf import Listed
from mcp_server.settings.upstream import Upstream


class Use(BaseModel):
    """How one tool was used."""

    model_config = ConfigDict(extra="ignore")

    calls: int = 0
    failed: int = 0
    """Of them, those that came to an error or to nothing."""
    seconds: float = 0.0
    """Of all of them together."""
    slowest: float = 0.0


class Noted(BaseModel):
    """How a server was found last, on behalf of one principal or of everybody."""

    model_config = ConfigDict(extra="ignore")

    origin: str = ""
    """Another one where its settings lead to another server."""
    era: str = ""
    state: str = ""
    """`connected`, `at rest` or `failed`."""
    failure: str = ""
    failed_at: float | None = None
    """Seconds since the epoch."""
    connected_at: float | None = None
    handshake: float = 0.0
    """Seconds that it took to start, shake hands and list its tools."""
    tools: list[dict[str, Any]] = []
    """As the protocol has them."""
    left_out: list[str] = []
    shelf: Listed | None = None
    """What it offers beside them. None: nobody has asked yet."""
    use: dict[str, Use] = {}
    """By the tool's own name."""

    def known(self, server: str) -> dict[str, Definition]:
        """Its tools by their own names; none where they cannot be read."""
        try:
            return definitions(server, [Tool.model_validate(each) for each in self.tools])[0]
        except ValidationError:
            return {}

    def text(self) -> str:
        """For the store."""
        return self.model_dump_json(exclude_defaults=True)


def noted(text: str | None) -> Noted:
    """What was kept; nothing, where it cannot be read."""
    try:
        return Noted() if text is None else Noted.model_validate_json(text)
    except ValidationError:
        return Noted()


def origin_of(config: Upstream) -> str:
    """Tells a server from another that settings have under its name since. Credentials are left out: they change, and it stays the same."""
    told = config.model_dump(mode="json", include={"command", "args", "cwd", "url", "sandbox", "shareable"})
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
