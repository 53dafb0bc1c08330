"""Headers that repeat arguments of a call, as a tool's schema has them (`x-mcp-header`), for proxies that look no further: both must agree.

The SDK checks it where a tool is the same for every caller. Of another server's tools it is checked here, once it is known who calls.
"""

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import validate_mcp_param_headers
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request


class HeadersDisagree(MCPError):
    """A header says something else than the argument that it repeats."""


def refuse_unless_they_agree(ctx: ServerRequestContext[Any, Any], schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Over HTTP, from 2026-07-28 on; elsewhere there are no such headers.

    Raises:
        HeadersDisagree: They do not.
    """
    request: Request | None = ctx.request
    if request is None or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return
    found = validate_mcp_param_headers(schema, arguments, request.headers)
    if found is not None:
        raise HeadersDisagree(found.code, found.message, found.data)
