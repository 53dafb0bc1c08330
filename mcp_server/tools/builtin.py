"""The built-in tools that need nothing but their context."""

import os
import shutil

from mcp_server.tools.background import Background
from mcp_server.tools.base import Tool
from mcp_server.tools.bash import BashTool
from mcp_server.tools.bash_lines import BashKillTool, BashOutputTool
from mcp_server.tools.files import file_tools
from mcp_server.tools.todo import TodoReadTool, TodoWriteTool
from mcp_server.tools.web.offered import UNLINKED, web_tools
from mcp_server.tools.web.reach import Web


def shell_tools(background: Background) -> tuple[Tool, ...]:
    """`bash`, and what goes with it."""
    return (BashTool(background), BashOutputTool(background), BashKillTool(background))


def builtin_tools(web: Web = UNLINKED, background: Background | None = None) -> tuple[Tool, ...]:
    """One of each; `bash` only where there is one and its processes can be ended, `websearch` only where an engine is configured."""
    shell = shell_tools(background or Background()) if os.name == "posix" and shutil.which("bash") else ()
    return (*file_tools(), *shell, *web_tools(web), TodoWriteTool(), TodoReadTool())
