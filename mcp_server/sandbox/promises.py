"""What a sandbox promises, in words, and which of the promises hold on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mcp_server.sandbox.profile import Profile


class Promise(StrEnum):
    """One thing that a back end keeps a command from. The value is what a person reads."""

    WRITES = "writes only in the given places, links included"
    METADATA = "changes no mode, owner or time of files elsewhere"
    PROTECTED = "leaves protected paths inside a writable folder alone"
    ABSENT = "cannot make protected paths that do not exist yet"
    SECRETS = "cannot read keys and passwords in the home folder"
    HIDDEN = "cannot read files hidden inside the workspace"
    NETWORK = "reaches no network"
    SOCKETS = "reaches no program of this machine through a unix socket"
    PROCESSES = "sees no other program's environment or memory, and signals none"
    SET_ID = "gains no power from set-id programs"
    ENDS = "ends whole, whatever it started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What was tried on this machine with the real recipe, once."""

    backend: str
    broken: Mapping[Promise, str]
    """What does not hold, with what was seen."""
    unusable: str = ""
    """Why nothing can be started with it at all; empty where it can."""

    @property
    def usable(self) -> bool:
        return not self.unusable

    def holds(self, promise: Promise) -> bool:
        return self.usable and promise not in self.broken


def needed(profile: Profile) -> frozenset[Promise]:
    """What a profile counts on."""
    wanted = {Promise.WRITES, Promise.METADATA, Promise.SECRETS, Promise.SOCKETS, Promise.PROCESSES, Promise.SET_ID, Promise.ENDS}
    if profile.protected:
        wanted |= {Promise.PROTECTED, Promise.ABSENT}
    if profile.hidden:
        wanted.add(Promise.HIDDEN)
    if not profile.network:
        wanted.add(Promise.NETWORK)
    return frozenset(wanted)


def sentences(promises: Promises) -> tuple[str, ...]:
    """For `remit doctor` and `session_info`: one line for what holds, one for each promise that does not."""
    if not promises.usable:
        return (f"{promises.backend} cannot be used here: {promises.unusable}",)
    kept = [str(promise) for promise in Promise if promises.holds(promise)]
    lines = [f"{promises.backend}: a command {'; '.join(kept)}"] if kept else [f"{promises.backend} holds nothing"]
    return (*lines, *(f"{promises.backend} does not hold: {promise} ({why})" for promise, why in promises.broken.items()))
