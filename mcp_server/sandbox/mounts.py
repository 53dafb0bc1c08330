"""From a profile to mounts in their order. Looks whether paths exist; mounts nothing."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from mcp_server.sandbox.profile import Access, Place, Profile, depth, parents, within


class Put(Enum):
    """What is put at a path."""

    SHOW = auto()
    """The host's, read-only."""
    LINK = auto()
    """A link with this target."""
    WRITE = auto()
    """The host's, writable, held by descriptor."""
    KEEP = auto()
    """The host's, read-only, held by descriptor, in something writable."""
    COVER = auto()
    """An empty folder that exists in memory alone."""
    SEAL = auto()
    """An empty folder that nobody may enter."""
    BLANK = auto()
    """A file that cannot be read."""
    SCRATCH = auto()
    """A writable folder that exists in memory alone."""
    DEVICES = auto()
    PROCESSES = auto()
    CLOSE = auto()
    """From now on read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One step."""

    put: Put
    path: str
    source: str = ""


TEMPORARY = "/tmp"  # noqa: S108 - stands in the sandbox

ROOT_MADE = ("/dev", "/proc", TEMPORARY, "/run")
"""What the sandbox has of its own."""


def coverable(profile: Profile) -> tuple[str, ...]:
    """Protected paths in folders that exist: where one does not exist itself, something can be put there to be covered."""
    return tuple(place.path for place in profile.protected if os.path.isdir(os.path.dirname(place.path)))


def linked(profile: Profile) -> tuple[str, ...]:
    """Protected paths that are links, where the link itself could be replaced."""
    return tuple(place.path for place in profile.protected if os.path.islink(place.path))


def mounts(profile: Profile, missing: Sequence[str], sockets: Sequence[str]) -> list[Mount]:
    """All of them: the outermost first, so that the deepest decides."""
    steps = [*_visible(profile), *_writable(profile), *_protected(profile, missing), *_hidden(profile, missing, sockets)]
    steps.sort(key=lambda step: depth(step.path))  # stable: of the same path the later list lies on top
    whole = any(place.path == "/" for place in profile.visible)
    first, rest = ([step for step in steps if step.path == "/"], [step for step in steps if step.path != "/"])
    close = [] if whole else [Mount(put=Put.CLOSE, path="/")]
    own = list(_own(profile))
    return [*first, *own, *_roofs(profile, [*own, *rest]), *rest, *close]


def _roofs(profile: Profile, steps: Sequence[Mount]) -> Iterator[Mount]:
    """What is mounted below `/tmp` lies in folders of the session's own that commands could exchange while another is being started,
    so that its mounts would lie apart. A mount cannot be exchanged, and what is below one exists in this sandbox alone.
    """
    if any(place.path == TEMPORARY for place in (*profile.visible, *profile.writable)):
        return
    below = {step.path.split("/", 3)[2] for step in steps if step.path.startswith(f"{TEMPORARY}/")}
    mounted = {step.path for step in steps}
    yield from (Mount(put=Put.COVER, path=path) for name in sorted(below) if (path := f"{TEMPORARY}/{name}") not in mounted)


def _own(profile: Profile) -> Iterator[Mount]:
    yield Mount(put=Put.DEVICES, path="/dev")
    yield Mount(put=Put.PROCESSES, path="/proc")
    yield Mount(put=Put.WRITE, path=TEMPORARY, source=profile.temporary)
    yield Mount(put=Put.SCRATCH, path="/run")
    if profile.network:
        # Names are looked up through a file that often lies in /run.
        real = os.path.realpath("/etc/resolv.conf")
        if within(real, "/run"):
            yield Mount(put=Put.SHOW, path=real, source=real)
    home = profile.environment.get("HOME", "")
    if home.startswith("/") and profile.access(home) is Access.HIDDEN and home not in ("/", TEMPORARY, "/run"):
        yield Mount(put=Put.SCRATCH, path=home)


def _visible(profile: Profile) -> Iterator[Mount]:
    for place in profile.visible:
        if place.path in ROOT_MADE or _inherits(profile, place):
            continue
        if os.path.islink(place.path):
            yield Mount(put=Put.LINK, path=place.path, source=os.readlink(place.path))
        elif os.path.exists(place.path):
            # What an agent could have swapped is held by descriptor.
            pinned = within(place.path, profile.workspace) and place.path != profile.workspace
            yield Mount(put=Put.KEEP if pinned else Put.SHOW, path=place.path, source=place.path)

    whole = any(place.path == "/" for place in profile.visible)
    if whole and any(within(profile.workspace, made) for made in ROOT_MADE) and profile.access(profile.workspace) is Access.READ:
        yield Mount(put=Put.SHOW, path=profile.workspace, source=profile.workspace)


def _inherits(profile: Profile, place: Place) -> bool:
    """A folder above it is shown already, and nothing between the two is hidden."""
    hidden = [each.path for each in profile.hidden if within(place.path, each.path)]
    above = [each.path for each in profile.visible if each.path != place.path and within(place.path, each.path)]
    return any(not any(within(each, shown) for each in hidden) for shown in above)


def _writable(profile: Profile) -> Iterator[Mount]:
    roots = [place.path for place in profile.writable if os.path.exists(place.path) and not os.path.islink(place.path)]
    for root in roots:
        yield Mount(put=Put.KEEP if _closed(root) else Put.WRITE, path=root, source=root)
    hidden = [place.path for place in profile.hidden if os.path.lexists(place.path)]
    kept = [*(place.path for place in profile.protected), *hidden]
    # A folder on the way could be renamed, and another put in its place; a mount cannot. What is hidden would stay so under any name
    # here, but not for another command that is being started: it was looked for under the first name.
    between = {folder: None for root in roots for path in kept if within(path, root) for folder in parents(path, root)}
    for folder in between:
        if folder not in roots and folder not in kept and profile.access(folder) is Access.WRITE and os.path.isdir(folder):
            yield Mount(put=Put.WRITE, path=folder, source=folder)


def _closed(folder: str) -> bool:
    """On a file system that is read-only now, and must stay so for the command: nothing could be put up in it to be kept."""
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _protected(profile: Profile, missing: Sequence[str]) -> Iterator[Mount]:
    for place in profile.protected:
        if place.path in missing and not os.path.isfile(place.path):
            yield Mount(put=Put.COVER, path=place.path)
        elif os.path.lexists(place.path) and not os.path.islink(place.path):
            yield Mount(put=Put.KEEP, path=place.path, source=place.path)


def _hidden(profile: Profile, missing: Sequence[str], sockets: Sequence[str]) -> Iterator[Mount]:
    for place in profile.hidden:
        if not _shown(profile, place.path) or os.path.islink(place.path) or place.path in missing:
            continue  # an empty folder that covers what is not there hides nothing, and looks better than one that nobody may enter
        if place.path == "/var/tmp":  # noqa: S108 - compared
            yield Mount(put=Put.SCRATCH, path=place.path)
        elif os.path.isdir(place.path):
            yield Mount(put=Put.SEAL, path=place.path)
        elif os.path.exists(place.path):
            yield Mount(put=Put.BLANK, path=place.path)
    for path in sockets:
        access, place = profile.deciding(path)
        covered = (place is None or place.path == "/") and any(within(path, made) for made in ROOT_MADE)
        if access is not Access.HIDDEN and not covered and os.path.lexists(path):
            yield Mount(put=Put.BLANK, path=path)


def _shown(profile: Profile, path: str) -> bool:
    """Something above it is mounted, so that it could be seen."""
    above = [place.path for place in (*profile.visible, *profile.writable) if within(path, place.path)]
    seals = [place.path for place in profile.hidden if place.path != path and within(path, place.path)]
    return bool(above) and not any(depth(seal) >= max(map(depth, above)) for seal in seals)
