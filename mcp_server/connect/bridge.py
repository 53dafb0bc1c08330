"""The bridge as a whole: from the first line of the host's to its last, or to a signal."""

import os
import signal
from collections.abc import Callable

import anyio

from mcp_server.connect.messages import Request, request_text
from mcp_server.connect.reaching import Credentials, Failed, Server
from mcp_server.connect.receiving import refusal
from mcp_server.connect.relay import Relay
from mcp_server.connect.standard_streams import Wire

_VERSION = "2026-07-28"


async def bridge(url: str, credentials: Credentials, wire: Wire, say: Callable[[str], None]) -> None:
    """Relay until the host's input ends, or SIGTERM or SIGINT comes. The session at the server is ended either way."""
    server = Server(url, credentials)
    try:
        async with anyio.create_task_group() as group:
            if os.name == "posix":
                group.start_soon(_end_on_signal, group.cancel_scope)
            await Relay(server, wire.write, say).run(wire.lines())
            group.cancel_scope.cancel()
    finally:
        with anyio.move_on_after(1, shield=True):
            await server.close()


async def _end_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


async def let_in(url: str, credentials: Credentials) -> None:
    """Ask the server something harmless, so that it says whether it wants a sign-in.

    Raises:
        Failed: It lets nobody in, or is not there.
    """
    server = Server(url, credentials)
    method = "server/discover"
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": _VERSION,
        "mcp-method": method,
    }
    meta = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "remit-connect", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    text = request_text("remit-connect", method, {"_meta": meta})
    try:
        async with server.exchange("POST", headers, text) as answer:
            if answer.status_code in (401, 403):
                raise Failed(refusal(Request(id="", method=method, params={}, text=text), answer, server.shown)[1])
    finally:
        await server.close()
