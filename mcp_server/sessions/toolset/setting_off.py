"""What a caller is told of a child that goes on without them."""

from mcp_server.errors import StoreError
from mcp_server.records import RunId, TextPart
from mcp_server.sessions.reports import report_of, task_text
from mcp_server.store.protocol import Store
from mcp_server.tools.base import ToolResult


async def set_off(store: Store, run_id: RunId) -> ToolResult:
    """The state of a child that was stored a moment ago."""
    run = await store.run(run_id)
    session = await store.session(run.session_id, run.principal) if run else None
    if run is None or session is None:
        raise StoreError("the child was stored a moment ago and cannot be read back")
    report = report_of(session, run)
    return ToolResult(parts=(TextPart(text=task_text(report)),), structured=report.model_dump(mode="json"))
