"""Arguments that a server wants repeated as headers (`x-mcp-header` in a tool's schema), as hosts on standard output never send them."""

from collections.abc import Mapping
from typing import Any

from mcp_server.connect.messages import Answer, Request

_MARK = '"x-mcp-header"'


class ParameterHeaders:
    """Learns from the tool lists that pass."""

    def __init__(self) -> None:
        self._wanted: dict[str, dict[tuple[str, ...], str]] = {}

    def learn(self, request: Request, answer: Answer) -> None:
        """Look at a list of tools. A second list replaces what the first said of the same tool."""
        if request.method != "tools/list" or answer.result is None or not (self._wanted or _MARK in answer.text):
            return
        from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map  # noqa: PLC0415 - heavy, and hardly any server needs it

        for tool in answer.result.get("tools", []):
            schema = tool.get("inputSchema")
            self._wanted.pop(tool.get("name"), None)
            if find_invalid_x_mcp_header(schema) is None and (found := x_mcp_header_map(schema)):
                self._wanted[tool["name"]] = found

    def headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """For one call."""
        wanted = self._wanted.get(str(params.get("name"))) if method == "tools/call" else None
        if wanted is None:
            return {}
        from mcp.shared.inbound import mcp_param_headers  # noqa: PLC0415 - loaded by `learn` already

        return mcp_param_headers(wanted, params.get("arguments") or {})
