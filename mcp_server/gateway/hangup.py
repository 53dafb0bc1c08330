"""What a gateway does on SIGHUP: it reads everything anew that can change while it runs."""

import os
import signal
from collections.abc import Callable, Sequence

import anyio
import structlog

log = structlog.get_logger("gateway")


async def on_hangup(reread: Sequence[Callable[[], None]]) -> None:
    """Until cancelled. Elsewhere than on POSIX there is no such signal, and files are read anew once they have changed."""
    if os.name != "posix":
        return
    with anyio.open_signal_receiver(signal.SIGHUP) as signals:
        async for _ in signals:
            log.info("asked to read everything anew")
            for one in reread:
                one()
