"""What a sandbox promises, in words, and which of the promises hold on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mcp_server.sandbox.profile import Profile


class Promise(StrEnum):
    """One thing that a command is kept from. The value is what a person reads, after "a command"."""

    WRITES = "writes only in the given places, links included"
    METADATA = "changes no mode, owner or time of files elsewhere"
    PROTECTED = "leaves protected paths in a writable folder alone"
    ABSENT = "makes no protected path that does not exist yet"
    SECRETS = "reads no keys and passwords of the home folder"
    HIDDEN = "reads no file that is hidden in the workspace"
    NETWORK = "reaches no network"
    SOCKETS = "reaches no program of this machine through a unix socket"
    PROCESSES = "sees no other program's environment and signals none"
    SET_ID = "gains nothing from set-id programs"
    ENDS = "ends whole, whatever it started"
    CROWD = "starts no more processes than it may"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What was tried on this machine with the real recipe, once."""

    backend: str
    reading: Mapping[Promise, str]
    """What does not hold for a command that may write nothing, with what was seen."""
    writing: Mapping[Promise, str]
    """What does not hold for one that may write in the workspace."""
    unusable: str = ""
    """Why nothing can be started with it at all; empty where it can."""

    @property
    def usable(self) -> bool:
        return not self.unusable

    def broken(self, profile: Profile) -> tuple[str, ...]:
        """What this profile counts on and does not get, in words."""
        seen = self.reading if profile.read_only else self.writing
        wanted = needed(profile)
        return tuple(f"it does not hold here that a command {promise} ({why})" for promise, why in seen.items() if promise in wanted)


OF_PATHS = frozenset({Promise.PROTECTED, Promise.ABSENT, Promise.HIDDEN})
"""They matter only where a profile names such paths."""


def needed(profile: Profile) -> frozenset[Promise]:
    """What a profile counts on. How many processes there are endangers the machine, not what the rules say."""
    wanted = set(Promise) - OF_PATHS - {Promise.CROWD}
    if profile.protected:
        wanted |= {Promise.PROTECTED, Promise.ABSENT}
    if profile.hidden:
        wanted.add(Promise.HIDDEN)
    if profile.network:
        wanted -= {Promise.NETWORK, Promise.SOCKETS}
    return frozenset(wanted)


@dataclass(frozen=True, slots=True)
class Told:
    """One line for `remit doctor` and `session_info`."""

    line: str
    holds: bool
    """Is it good news?"""


def sentences(promises: Promises) -> tuple[Told, ...]:
    """One for what holds, one for each promise that does not."""
    if not promises.usable:
        return (Told(f"{promises.backend} cannot be used here: {promises.unusable}", holds=False),)
    every = {**promises.writing, **promises.reading}
    kept = [str(promise) for promise in Promise if promise not in every]
    lines = [Told(f"{promises.backend}: a command {'; '.join(kept)}", holds=True)] if kept else []
    for promise, why in every.items():
        where = "" if promise in promises.reading else " where the workspace may be written"
        lines.append(Told(f"{promises.backend} does not hold{where} that a command {promise}: {why}", holds=False))
    return tuple(lines)
