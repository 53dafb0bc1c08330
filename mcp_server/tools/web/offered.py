"""The tools that a deployment has for the web."""

from mcp_server.tools.base import Tool
from mcp_server.tools.web.reach import Web
from mcp_server.tools.webfetch import WebFetchTool
from mcp_server.tools.websearch import WebSearchTool

UNLINKED = Web()
"""Public servers, as the operating system reaches them; no search engine."""


def web_tools(web: Web) -> tuple[Tool, ...]:
    """`webfetch`, and where an engine is configured `websearch`."""
    search: tuple[Tool, ...] = (WebSearchTool(web.search),) if web.search else ()
    return (WebFetchTool(web.wires), *search)
