"""A server over the scripted front; run as a module, over standard input and output, or over HTTP with a third argument."""

import itertools
import sys
from collections.abc import Callable

import anyio
from mcp.server.lowlevel.server import Server

from mcp_server.principal import LOCAL
from mcp_server.protocol.http import listen, serve_http
from mcp_server.protocol.lines import Line
from mcp_server.protocol.server import build_server
from mcp_server.protocol.stdio import serve_stdio
from mcp_server.protocol.timing import Timing
from mcp_server.sessions.front import Caller, Front
from tests.protocol.scripted_front import scripted_front
from tests.protocol.scripts import tools

KEY = b"k" * 32
CALLER = Caller(principal=LOCAL, workspace="/workspace", agent="build")


def striding(stride: float) -> Callable[[], float]:
    """A clock that moves by `stride` seconds each time it is read."""
    times = itertools.count()
    return lambda: 1_000_000.0 + stride * next(times)


def scripted_server(front: Front, *, patience: float = 10.0, stride: float = 0.0, progress_every: float = 5.0) -> Server[Line]:
    return build_server(
        front,
        caller_of=lambda _: CALLER,
        keys=[KEY],
        version="0",
        timing=Timing(patience=patience, progress_every=progress_every),
        clock=striding(stride),
    )


def print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


async def _serve(patience: float, stride: float, http: bool) -> None:
    async with scripted_front(tools()) as front:

        async def at_end() -> None:
            print_line(f"ended; roots left: {len(front.left)}")

        server = scripted_server(front, patience=patience, stride=stride)
        if http:
            await serve_http(server, listen("127.0.0.1", 0), on_end=at_end, on_ready=lambda url: print_line(f"ready: {url}"))
        else:
            await serve_stdio(server, on_end=at_end)


if __name__ == "__main__":
    anyio.run(_serve, float(sys.argv[1]), float(sys.argv[2]), len(sys.argv) > 3)
