"""From a profile to what Landlock is told: a list of allowed folders and files, because it cannot forbid.

Looks into folders on the way to what is hidden; grants nothing itself.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_server.sandbox.profile import Profile, depth, within

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15

READING = EXECUTE | READ_FILE | READ_DIR
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that a single file can have."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
PROC = (
    *("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems", "mounts", "self", "thread-self"),
    *("sys/kernel", "sys/vm", "sys/fs", "sys/net/core"),
)
"""What programs ask of the machine. Not the folders of processes: a command line may hold a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Rights at a path and below it."""

    path: str
    rights: int


def handled(version: int) -> int:
    """Every right on files that this Landlock knows."""
    known = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    return (1 << known) - 1


def grants(profile: Profile, version: int) -> list[Grant]:
    """All of them, for a kernel's Landlock of this version."""
    everything = handled(version)
    made = [Grant(path=place.path, rights=everything) for place in profile.writable if os.path.exists(place.path)]
    made.append(Grant(path=profile.temporary, rights=everything))
    device = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
    made += [Grant(path=f"/dev/{name}", rights=device & everything) for name in DEVICES]
    made += [Grant(path=f"/proc/{name}", rights=READING) for name in PROC]
    made.append(Grant(path="/proc", rights=READ_DIR))
    for place in profile.visible:
        hidden = [each.path for each in profile.hidden if within(each.path, place.path)]
        made += _around(place.path, hidden, profile)
    return [_fit(grant) for grant in made if os.path.exists(grant.path)]


def _around(path: str, hidden: list[str], profile: Profile) -> Iterator[Grant]:
    """A folder without what is hidden in it: its other entries one by one. New files made in it meanwhile are not readable."""
    if path in hidden or path in ("/dev", "/proc", "/sys", "/tmp", "/run"):  # noqa: S108 - never granted whole
        return
    below = [each for each in hidden if within(each, path)]
    if not below and path != "/":
        yield Grant(path=path, rights=READING)
        return
    if within(path, profile.workspace):
        yield Grant(path=path, rights=READ_DIR)
    try:
        entries = list(os.scandir(path))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue  # what a link leads to is judged where it is
        yield from _around(entry.path, below, profile)


def _fit(grant: Grant) -> Grant:
    return grant if os.path.isdir(grant.path) else Grant(path=grant.path, rights=grant.rights & FILE_ONLY)


def hidden_in_writable(profile: Profile) -> tuple[str, ...]:
    """Hidden paths that a writable folder around them opens."""
    return tuple(
        each.path
        for each in profile.hidden
        for root in profile.writable
        if within(each.path, root.path) and depth(each.path) >= depth(root.path) and os.path.lexists(each.path)
    )
