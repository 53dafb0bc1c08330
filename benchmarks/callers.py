"""Callers of an MCP server over HTTP that cost next to nothing themselves: a kept connection each, requests written by hand.

Each waits for the answer before it calls again.
"""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

ERAS = ("2025-11-25", "2026-07-28")

_ABOUT = {
    "io.modelcontextprotocol/protocolVersion": ERAS[1],
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(slots=True, kw_only=True)
class Caller:
    """One of them, in one era."""

    url: str
    tool: str
    era: str
    session: str = ""
    _reader: Any = None
    _writer: Any = None
    _number: int = 0
    took: list[float] = field(default_factory=list[float])

    async def connect(self) -> None:
        """Anew: who was silent for some seconds has lost the connection before. A session is kept, and opened where there is none yet."""
        self.close()
        parts = urlsplit(self.url)
        self._reader, self._writer = await asyncio.open_connection(parts.hostname, parts.port)
        if self.era == ERAS[0] and not self._number:
            hello = {"protocolVersion": self.era, "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
            await self._asked("initialize", hello)
            await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, "notifications/initialized")

    async def call(self) -> None:
        """One call; how long it took is kept."""
        begun = time.perf_counter()
        answer = await self._asked("tools/call", {"name": self.tool, "arguments": {"text": "hi"}})
        self.took.append(time.perf_counter() - begun)
        if answer.get("result", {}).get("content", [{}])[0].get("text") != "said hi":
            raise AssertionError(f"another answer: {answer}")

    def close(self) -> None:
        """End the connection."""
        if self._writer is not None:
            self._writer.close()

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        if self.era == ERAS[1]:
            params = {**params, "_meta": _ABOUT}
        return await self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}, method)

    async def _post(self, message: dict[str, Any], method: str) -> dict[str, Any]:
        body = json.dumps(message).encode()
        self._writer.write(self._head(method, len(body)) + body)
        status, headers, text = await self._answer()
        self.session = headers.get("mcp-session-id", self.session)
        if status not in (200, 202):
            raise AssertionError(f"HTTP status {status}: {text[:500]!r}")
        return _message_in(headers.get("content-type", ""), text)

    def _head(self, method: str, length: int) -> bytes:
        parts = urlsplit(self.url)
        lines = [
            f"POST {parts.path} HTTP/1.1",
            f"host: {parts.netloc}",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"content-length: {length}",
            f"mcp-protocol-version: {self.era}",
            *((f"mcp-session-id: {self.session}",) if self.session else ()),
            *((f"mcp-method: {method}",) if self.era == ERAS[1] else ()),
            *((f"mcp-name: {self.tool}",) if self.era == ERAS[1] and method == "tools/call" else ()),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    async def _answer(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        if headers.get("transfer-encoding") == "chunked":
            text = b""
            while size := int(await self._reader.readuntil(b"\r\n"), 16):
                text += (await self._reader.readexactly(size + 2))[:-2]
            await self._reader.readexactly(2)
        else:
            text = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return int(head[0].split()[1]), headers, text


def _message_in(kind: str, text: bytes) -> dict[str, Any]:
    if not kind.startswith("text/event-stream"):
        return json.loads(text) if text else {}
    lines = [line.removeprefix(b"data:") for line in text.split(b"\n") if line.startswith(b"data:") and line.strip() != b"data:"]
    return next(message for message in map(json.loads, lines) if "result" in message or "error" in message)
