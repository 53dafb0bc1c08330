"""What a patch did, for the result."""

from collections.abc import Sequence

from mcp_server.tools.base import ToolContext
from mcp_server.tools.diffs import short_diff
from mcp_server.tools.outputs import shown
from mcp_server.tools.patch.preparing import Ready
from mcp_server.tools.patch.reading import UpdateFile


def told(ready: Sequence[Ready], context: ToolContext) -> str:
    """Each file on a line, then short diffs of what changed; nothing of a file that `read` would not show."""
    said = [f"applied the patch, {len(ready)} {'file' if len(ready) == 1 else 'files'}", *(one.line for one in ready)]
    for one in ready:
        target = one.planned.to or one.planned.path
        if isinstance(one.planned.operation, UpdateFile) and one.new is not None and context.readable([target])[0]:
            diff = short_diff(one.old, one.new, target.text)
            said += [f"\n{diff}"] if diff else []
    return shown("\n".join(said), context, "apply_patch")
