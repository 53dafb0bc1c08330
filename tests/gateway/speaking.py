"""MCP over HTTP by hand, for what no client of good will would send: one request, with any token, headers and ids."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2

from tests.bounds import LONG
from tests.protocol.connect import Era

HELLO: dict[str, Any] = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "test", "version": "0"}}
NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}


@dataclass(slots=True, kw_only=True)
class Speaker:
    """Somebody with a token, in one era. In that of 2025-11-25 it has a session once it has opened one."""

    wire: httpx2.AsyncClient
    url: str
    token: str
    era: Era
    session: str | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    number: int = 0

    def headers(self, method: str = "", params: Mapping[str, Any] | None = None) -> dict[str, str]:
        usual = {
            "authorization": f"Bearer {self.token}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self.era,
        }
        if self.era == "2025-11-25":
            return {**usual, **({"mcp-session-id": self.session} if self.session else {})}
        name = (params or {}).get(NAMED.get(method, ""))
        return {**usual, **({"mcp-method": method} if method else {}), **({"mcp-name": name} if name else {})}

    def message(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        self.number += 1
        said = dict(params or {})
        if self.era == "2026-07-28":
            said["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.era,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
                "io.modelcontextprotocol/clientCapabilities": dict(self.capabilities),
                **said.get("_meta", {}),
            }
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": said}

    async def opened(self) -> "Speaker":
        """With a session, where the era has them."""
        if self.era == "2025-11-25":
            hello = {**HELLO, "capabilities": dict(self.capabilities)}
            answer = await self.wire.post(self.url, json=self.message("initialize", hello), headers=self.headers())
            assert answer.status_code == 200, answer.text
            self.session = answer.headers["mcp-session-id"]
            await self.wire.post(self.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=self.headers())
        return self

    async def posted(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> httpx2.Response:
        with anyio.fail_after(LONG):
            return await self.wire.post(
                self.url, json=self.message(method, params), headers={**self.headers(method, params), **headers}, timeout=LONG
            )

    async def asked(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON-RPC answer, whether result or error, without its id."""
        answer = await self.posted(method, params)
        found = answer_in(answer.text, answer.headers.get("content-type", ""))
        return {name: value for name, value in found.items() if name != "id"}

    async def calls(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.asked("tools/call", {"name": tool, "arguments": arguments})

    @asynccontextmanager
    async def stream(self) -> AsyncGenerator[httpx2.Response]:
        """What this era has for what a server says unasked."""
        if self.era == "2025-11-25":
            opening = self.wire.stream("GET", self.url, headers=self.headers(), timeout=LONG)
        else:
            wanted = {"notifications": {"toolsListChanged": True}}
            headers = {**self.headers("subscriptions/listen"), "content-type": "application/json"}
            message = json.dumps(self.message("subscriptions/listen", wanted))
            opening = self.wire.stream("POST", self.url, content=message, headers=headers, timeout=LONG)
        async with opening as answer:
            yield answer


def answer_in(text: str, kind: str) -> dict[str, Any]:
    """The message that answers, in a body of either kind."""
    if not kind.startswith("text/event-stream"):
        return json.loads(text)
    messages = [
        json.loads(line.removeprefix("data:")) for line in text.splitlines() if line.startswith("data:") and line.strip() != "data:"
    ]
    return next(one for one in messages if "result" in one or "error" in one)
