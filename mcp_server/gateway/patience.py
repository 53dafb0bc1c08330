"""How long a client may take over the head of a request. uvicorn bounds the time between requests, and not that within one's head."""

import asyncio
from typing import Any


class _Due:
    """When the head of a connection's request must be whole."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, transport: asyncio.Transport, *, waiting: bool) -> None:
        """Hang up in time, or not any more."""
        if not waiting:
            self.forget()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, transport.abort)

    def forget(self) -> None:
        """There is nothing to wait for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def patient(seconds: float) -> type[asyncio.Protocol]:
    """The HTTP/1.1 of uvicorn, which hangs up on a connection whose request's head is not whole after so long; the first one's, from
    when it was made.
    """
    import h11  # noqa: PLC0415 - a server over stdio needs none of it
    from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: PLC0415 - likewise

    class Patient(H11Protocol):
        """One connection."""

        def connection_made(self, transport: Any) -> None:
            self.head = _Due(seconds)
            super().connection_made(transport)
            self.head.watch(self.transport, waiting=True)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.head.watch(self.transport, waiting=self.conn.their_state is h11.IDLE)

        def connection_lost(self, exc: Exception | None) -> None:
            self.head.forget()
            super().connection_lost(exc)

    return Patient
