"""What has become of a tool since it was pinned."""

from dataclasses import replace

from mcp_server.protocol.upstream.cleaning import cleaned
from mcp_server.protocol.upstream.naming import Definition
from mcp_server.store.upstreams import Pin
from mcp_server.tools.diffs import short_diff
from mcp_server.tools.foreign import Changed, ForeignTool

LONGEST = 6000
"""Characters of a difference: what a person reads before they answer."""


def marked(one: Definition, pin: Pin | None) -> ForeignTool:
    """The tool, with its change where there is one."""
    if pin is None:
        return one.tool
    if pin.digest == one.tool.digest:
        return replace(one.tool, pinned=True)
    difference = cleaned(short_diff(pin.definition.encode(errors="replace"), one.text.encode(errors="replace"), one.tool.own_name))
    return replace(one.tool, changed=Changed(difference=difference[:LONGEST]))
