"""Ports of loopback for what listens later, ends, and perhaps listens again."""

import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def held_port() -> Generator[int]:
    """A free one. Until the block ends the system gives it to nobody who asks for any port, nor to a connection that goes out: it is bound
    here and not listened on, so that whoever is told of it may listen, as often as they like, and nobody is answered meanwhile.
    """
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        port = int(sock.getsockname()[1])
        if sys.platform != "linux":  # elsewhere nobody else may listen where this is bound
            sock.close()
        yield port
