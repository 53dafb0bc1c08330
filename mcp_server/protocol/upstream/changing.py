"""What a server says of changes in what it offers, in either era."""

from collections.abc import Sequence

from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from mcp_types import (
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ServerCapabilities,
    ToolListChangedNotification,
)

from mcp_server.tools.news import KINDS, Kind


def kinds_of(said: object) -> Sequence[Kind]:
    """Which list changed; none where it says something else."""
    match said:
        case ToolListChangedNotification() | ToolsListChanged():
            return ("tools",)
        case PromptListChangedNotification() | PromptsListChanged():
            return ("prompts",)
        case ResourceListChangedNotification() | ResourcesListChanged():
            return ("resources",)
        case _:
            return ()


def told_by(can: ServerCapabilities) -> Sequence[Kind]:
    """Those whose changes it tells."""
    lists = {"tools": can.tools, "prompts": can.prompts, "resources": can.resources}
    return tuple(kind for kind in KINDS if (has := lists[kind]) is not None and has.list_changed)
