"""Which back end a server uses: chosen and tried once when it starts, the same for every command after that."""

import sys
from dataclasses import dataclass
from pathlib import Path

from mcp_server.sandbox import filters, kernel
from mcp_server.sandbox.backend import Backend
from mcp_server.sandbox.bubblewrap import Bubblewrap, find_bubblewrap
from mcp_server.sandbox.direct import Direct
from mcp_server.sandbox.landlock import Landlock
from mcp_server.sandbox.placeholders import Placeholders
from mcp_server.sandbox.probe import probe
from mcp_server.sandbox.profile import Profile
from mcp_server.sandbox.promises import Promises, Told, sentences
from mcp_server.settings.schema import SandboxWish

PLACEHOLDERS = "placeholders"
"""The folder in Remit's state for `Placeholders`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What commands of this server run in."""

    backend: Backend | None
    """None: there is none, and commands whose effects are not known must not run."""
    tried: tuple[Promises, ...]
    """Every back end that was tried, the best first."""
    absent: tuple[str, ...] = ()
    """Why others were not even tried."""

    def cannot_hold(self, profile: Profile) -> tuple[str, ...]:
        """What of this profile is not carried out, in words. Empty: the sandbox holds all that the rules say."""
        if self.backend is None:
            return ("no sandbox can be used on this machine", *self.words())
        seen = [each for each in self.tried if each.backend == self.backend.name]
        return (*self.backend.cannot_hold(profile), *(line for each in seen for line in each.broken(profile)))

    def words(self) -> tuple[str, ...]:
        """For `session_info`."""
        return (self.used(), *(told.line for told in self.told()), *self.absent)

    def used(self) -> str:
        """What commands run in."""
        return "no sandbox is used" if self.backend is None else f"commands run in {self.backend.name}"

    def told(self) -> tuple[Told, ...]:
        """What holds and what does not, of each that was tried."""
        return tuple(told for each in self.tried for told in sentences(each))


def choose(wish: SandboxWish, state: Path) -> Sandbox:
    """Find the first that works, tried with the real recipe. `state` is Remit's state folder. Also takes away what a crash left."""
    if wish == "none":
        return Sandbox(backend=Direct(), tried=(), absent=("no sandbox is used, because settings say so",))
    placeholders = Placeholders(state / PLACEHOLDERS)
    if sys.platform != "linux":
        return Sandbox(backend=None, tried=(), absent=("a sandbox exists on Linux only",))
    placeholders.sweep()
    found, absent = candidates(placeholders)
    tried: list[Promises] = []
    for backend in found:
        if wish in ("auto", backend.name):
            tried.append(probe(backend, state))
            if tried[-1].usable:
                return Sandbox(backend=backend, tried=tuple(tried), absent=absent)
    return Sandbox(backend=None, tried=tuple(tried), absent=absent)


def candidates(placeholders: Placeholders) -> tuple[tuple[Backend, ...], tuple[str, ...]]:
    """Those that this machine may have, the best first, and why others are missing."""
    found: list[Backend] = []
    absent: list[str] = []
    program = find_bubblewrap()
    if program is None:
        absent.append("bubblewrap is not installed: install the package `bubblewrap` of this system, or Remit again")
    else:
        found.append(Bubblewrap(program=program, placeholders=placeholders))
    version = kernel.landlock_version()
    if version == 0:
        absent.append("this kernel has no Landlock, or it is switched off")
    elif kernel.machine() not in filters.machines():
        absent.append(f"the filter for Landlock is not made for {kernel.machine()}")
    else:
        found.append(Landlock(version=version))
    return tuple(found), tuple(absent)
