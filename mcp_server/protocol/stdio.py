"""Serving one client over standard input and output. Standard output belongs to the protocol: nothing else may write there."""

import os
import signal
from collections.abc import Awaitable, Callable

import anyio
import structlog
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from mcp_server.protocol.lines import Line

log = structlog.get_logger("protocol")

_ENDING_SECONDS = 3.0
"""For storing and for ending tools' processes. With leaving calls and the root before it, the process is gone within 5 s."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def serve_stdio(server: Server[Line], *, on_end: Callable[[], Awaitable[None]]) -> None:
    """Serve until end-of-file, or until the client is gone. No call begins after that.

    Args:
        server: From `build_server`.
        on_end: Takes no new call, stores what there is, ends tools' processes. Cut off after 3 s.
    """
    async with anyio.create_task_group() as group:
        if os.name == "posix":
            group.start_soon(_end_on_signal, on_end)
        try:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        except* (OSError, anyio.BrokenResourceError) as broken:
            log.info("the client is gone", exc_info=broken)
        finally:
            await _end(on_end)
        group.cancel_scope.cancel()


async def _end(on_end: Callable[[], Awaitable[None]]) -> None:
    with anyio.move_on_after(_ENDING_SECONDS, shield=True) as scope:
        await on_end()
    if scope.cancelled_caught:
        log.warning("ending took too long; what was not stored is taken up again by the next server")


async def _end_on_signal(on_end: Callable[[], Awaitable[None]]) -> None:
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        async for number in signals:
            log.info("ending", signal=signal.Signals(number).name)
            await _end(on_end)
            # The thread that reads standard input cannot be interrupted, and leaving orderly would wait for it.
            os._exit(128 + number)
