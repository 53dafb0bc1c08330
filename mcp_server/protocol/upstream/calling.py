"""One call of another server's tool over a connection: sent once, with its progress passed on, to what is received."""

import secrets
from collections.abc import Awaitable, Callable

from mcp.client.client import Client
from mcp_types import CallToolResult, InputRequiredResult, InputResponses

from mcp_server.protocol.upstream.following import Lead
from mcp_server.protocol.upstream.link import Link
from mcp_server.protocol.upstream.progress import Progress
from mcp_server.protocol.upstream.results import received
from mcp_server.protocol.upstream.task_wire import Handle, task_in
from mcp_server.protocol.upstream.tasks import begun, followed, makes_tasks
from mcp_server.protocol.upstream.underway import Underway
from mcp_server.tools.foreign import Order, Received


async def done(link: Link, order: Order, again: Callable[[], Awaitable[Link]]) -> Received:
    """Have it done. `again`: gives a connection to the same server for the same caller, where this one is lost. Raises as `Link.request`
    does.
    """
    tool, arguments, progress = order.tool.own_name, dict(order.arguments), Progress(order.progress)

    async def send(
        client: Client, call: Underway, responses: InputResponses | None, state: str | None
    ) -> CallToolResult | InputRequiredResult:
        meta, one = await link.logs.asked(client, order.hearer.level), link.tools.get(tool)
        lead = Lead(link=link, again=again, call=call, progress=progress, order=order, token=f"call-{secrets.token_hex(8)}")
        if one is not None and one.as_task and makes_tasks(client):
            return await begun(client, lead, meta)
        got = await client.session.call_tool(
            tool,
            arguments,
            progress_callback=progress,
            input_responses=responses,
            request_state=state,
            meta=meta,
            allow_input_required=True,
            allow_claimed=True,
        )
        match got:
            case CallToolResult() | InputRequiredResult():
                return got
            case Handle():
                return await followed(lead, task_in(got.said))
            case _:
                raise ValueError("it is a result of another kind")

    return received(await link.request(order.whose, order.ask, send, hearer=order.hearer), link.server)
