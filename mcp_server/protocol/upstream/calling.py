"""One call of another server's tool over a connection: sent once, with its progress passed on, to what is received."""

import math
from collections.abc import Awaitable, Callable

import anyio
from mcp.client.client import Client
from mcp_types import CallToolResult, InputRequiredResult, InputResponses

from mcp_server.protocol.upstream.cleaning import in_line
from mcp_server.protocol.upstream.link import Link
from mcp_server.protocol.upstream.results import received
from mcp_server.tools.base import Step
from mcp_server.tools.foreign import Order, Received

PROGRESS_SECONDS = 0.25
"""Between two words of progress that are passed on, once the first few were. A server may send thousands."""

PROGRESS_AT_ONCE = 20


async def done(link: Link, order: Order) -> Received:
    """Have it done. Raises as `Link.request` does."""
    tool, arguments, progress = order.tool.own_name, dict(order.arguments), _Progress(order.progress)

    with link.logs.call(order.whose, order.hearer) as level:

        async def send(client: Client, responses: InputResponses | None, state: str | None) -> CallToolResult | InputRequiredResult:
            return await client.session.call_tool(
                tool,
                arguments,
                progress_callback=progress,
                input_responses=responses,
                request_state=state,
                meta=await link.logs.asked(client, level),
                allow_input_required=True,
            )

        return received(await link.request(order.whose, order.ask, send), link.server)


class _Progress:
    """Passes on what a server says of a call under way, at a pace that a person can follow."""

    def __init__(self, tell: Callable[[Step], Awaitable[None]]) -> None:
        self._tell = tell
        self._left = float(PROGRESS_AT_ONCE)
        self._at = anyio.current_time()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        now = anyio.current_time()
        self._left, self._at = min(PROGRESS_AT_ONCE, self._left + (now - self._at) / PROGRESS_SECONDS), now
        if self._left < 1 or not math.isfinite(progress):
            return
        self._left -= 1
        whole = total if total is not None and math.isfinite(total) else None
        await self._tell(Step(text=in_line(message or "", 200), done=progress, total=whole))
