"""What a running call lets its caller hear beside its progress: log messages of whoever does the work."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

LEVELS: tuple[Level, ...] = get_args(Level)
"""From the least to the gravest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One message. Content, bounded and cleaned."""

    level: Level
    logger: str
    """Whose it is."""
    said: Any
    """JSON."""


class Hearer(Protocol):
    """Whoever waits for a call, as far as they want to hear of it."""

    @property
    def level(self) -> Level | None:
        """From this one up. None: nothing."""
        ...

    def hear(self, logged: Logged) -> None:
        """Pass it on, where it is wanted."""
        ...


class Deaf:
    """Nobody wants to hear anything. See `Hearer`."""

    level: Level | None = None

    def hear(self, logged: Logged) -> None:
        """It is lost."""


DEAF = Deaf()


def wanted(level: Level, least: Level | None) -> bool:
    """Is a message of that level to be passed on?"""
    return least is not None and LEVELS.index(level) >= LEVELS.index(least)
