"""The tools that look at files and change them."""

from mcp_server.tools.apply_patch import ApplyPatchTool
from mcp_server.tools.base import Tool
from mcp_server.tools.edit import EditTool
from mcp_server.tools.glob import GlobTool
from mcp_server.tools.grep import GrepTool
from mcp_server.tools.list import ListTool
from mcp_server.tools.read import ReadTool
from mcp_server.tools.write import WriteTool


def file_tools() -> tuple[Tool, ...]:
    """One of each."""
    return (ReadTool(), ListTool(), GlobTool(), GrepTool(), EditTool(), WriteTool(), ApplyPatchTool())
