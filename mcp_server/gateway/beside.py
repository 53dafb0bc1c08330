"""A second server in a process whose signals are another's: until it is cancelled."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from starlette.types import ASGIApp


def beside(config: Any) -> Any:
    """Uvicorn's server for that config, which leaves signals to the server that it stands next to."""
    import uvicorn  # noqa: PLC0415 - heavy, and a server over stdio needs none of it

    class Beside(uvicorn.Server):
        """One server."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            """None."""
            yield

    return Beside(config)


async def serve_beside(app: ASGIApp, sock: socket.socket) -> None:
    """Serve an application that needs no more than being there. `sock`: listens; closed at the end."""
    import uvicorn  # noqa: PLC0415 - as above

    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off", timeout_graceful_shutdown=1
    )
    with sock:
        await served(beside(config), sock)


async def served(server: Any, sock: socket.socket) -> None:
    """Have uvicorn's server serve at a socket until it ends or is cancelled; then nothing listens any more."""
    try:
        await server.serve(sockets=[sock])
    finally:
        # Where this was cancelled, uvicorn has not come to it.
        for listening in server.servers:
            listening.close()
