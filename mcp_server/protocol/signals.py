"""What a server over HTTP does with the signals that end it."""

import os
import signal
from contextlib import AbstractContextManager, nullcontext

import anyio


def signals_held() -> AbstractContextManager[object]:
    """Uvicorn ends on a signal and then raises it again, which by default kills the process before anything is stored or said."""
    return anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) if os.name == "posix" else nullcontext()
