"""Hold a path by descriptor, so that what is mounted is what was looked at: a link swapped in between is not followed."""

import os
from collections.abc import Generator
from contextlib import contextmanager


def pin(path: str) -> int:
    """Open a resolved path without following any link on the way.

    Raises:
        OSError: It is not there, or a link has taken the place of a part of it.
    """
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.readlink(f"/proc/self/fd/{descriptor}") != path:
        os.close(descriptor)
        raise FileNotFoundError(2, "a link has taken the place of a part of the path", path)
    return descriptor


class Pins:
    """Descriptors that one start needs, closed after it."""

    def __init__(self) -> None:
        self.open: list[int] = []

    def pin(self, path: str) -> str:
        """The descriptor's number, as an argument.

        Raises:
            OSError: See `pin`.
        """
        self.open.append(pin(path))
        return str(self.open[-1])

    def close(self) -> None:
        while self.open:
            os.close(self.open.pop())


@contextmanager
def pins() -> Generator[Pins]:
    """Close them in every case."""
    held = Pins()
    try:
        yield held
    finally:
        held.close()
