"""Answers to requests that are in order and not carried out all the same: HTTP's status and JSON-RPC's error say the same."""

import json
import math
from typing import Any

from starlette.responses import JSONResponse, Response

from mcp_server.gateway.requests import Named

NOT_NOW = -32010
"""JSON-RPC's code for it, of those that the protocol leaves to servers (-32000 to -32019)."""


def error_of(named: Named | None, text: str, *, seconds: float | None = None) -> dict[str, Any]:
    """The JSON-RPC message. `seconds`: after which the same request may be made again."""
    told = {} if seconds is None else {"data": {"retryAfter": math.ceil(seconds)}}
    return {"jsonrpc": "2.0", "id": None if named is None else named.id, "error": {"code": NOT_NOW, "message": text, **told}}


def not_now(named: Named | None, status: int, text: str, seconds: float) -> Response:
    """Nothing was done, and it may be asked again in so many seconds."""
    headers = {"retry-after": str(math.ceil(seconds)), "cache-control": "no-store"}
    return JSONResponse(error_of(named, text, seconds=seconds), status, headers)


def as_event(message: dict[str, Any]) -> bytes:
    """A message as the last event of a stream."""
    return f"event: message\r\ndata: {json.dumps(message, separators=(',', ':'))}\r\n\r\n".encode()
