"""What one command may see, write and reach: a frozen value that every back end carries out as well as it can.

Not how it is carried out (that is a back end's), and never written by hand: `derive` makes it from a session's rules.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Access(StrEnum):
    """What a command may do with a path, weakest first."""

    HIDDEN = "hidden"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file or folder, and why it stands in the profile. Absolute, links resolved."""

    path: str
    because: str = ""
    """The rule it comes from, with its owner, in words that a person reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one command may use up. Each holds for a single process where nothing else is said."""

    cpu_seconds: int = 600
    """Ten minutes of processor time: as long as the longest call may take on one core."""
    memory_bytes: int = 4 << 30
    """Private writable memory. 4 GiB lets compilers and bundlers work and keeps one leak from taking the machine."""
    processes: int = 512
    """Of the whole command, its threads counted. A parallel build takes a few hundred at most."""
    file_bytes: int = 2 << 30
    """The longest file it may write: 2 GiB is more than any build product, less than a full disk."""
    scratch_bytes: int = 512 << 20
    """What the parts of the sandbox that exist in memory alone may hold together with each other, a piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a command runs in. Places are laid over each other from the root down, in the order of the fields."""

    workspace: str
    visible: tuple[Place, ...]
    """What may be read. Whatever lies under none of the places is hidden."""
    writable: tuple[Place, ...] = ()
    """Files and folders that may be written; the temporary folder is not named here."""
    protected: tuple[Place, ...] = ()
    """Read-only although they lie in something writable, also where they do not exist yet."""
    hidden: tuple[Place, ...] = ()
    """Not to be read although they lie in something visible. Found afresh for each command."""
    unheld: tuple[str, ...] = ()
    """Rules that no mount can hold, in words: a line whose effects are not known must not count on the sandbox for them."""
    network: bool = False
    why_network: str = ""
    """The rule that opens or closes it, in words."""
    why_read_only: str = ""
    """Why the workspace is not writable, in words; empty where it is."""
    temporary: str
    """A folder of the host, writable, that stands at `/tmp` in the sandbox, or is named by TMPDIR where that cannot be."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """All that the command's environment holds."""
    limits: Limits = Limits()

    @property
    def read_only(self) -> bool:
        """Nothing outside the temporary folder can be written."""
        return not self.writable

    def access(self, path: str) -> Access:
        """What the profile says of an absolute, resolved path."""
        return self.deciding(path)[0]

    def deciding(self, path: str) -> tuple[Access, Place | None]:
        """The access, and the place it comes from; None: no place names it, so it is hidden."""
        if within(path, self.temporary):
            return Access.WRITE, None
        met = sorted(
            (
                (depth(place.path), order, access, place)
                for order, (access, places) in enumerate(self._lists())
                for place in places
                if within(path, place.path)
            ),
            key=lambda each: each[:2],
        )
        decided: tuple[Access, Place | None] = (Access.HIDDEN, None)
        for _, order, access, place in met:
            # What is visible takes nothing away, and what is protected shows nothing.
            shows, keeps = order == _VISIBLE, order == _PROTECTED
            if (shows and decided[0] is not Access.HIDDEN) or (keeps and decided[0] is Access.HIDDEN):
                continue
            decided = access, place
        return decided

    def _lists(self) -> tuple[tuple[Access, tuple[Place, ...]], ...]:
        return (
            (Access.READ, self.visible),
            (Access.WRITE, self.writable),
            (Access.READ, self.protected),
            (Access.HIDDEN, self.hidden),
        )


_VISIBLE, _PROTECTED = 0, 2
"""Places of the lists in `Profile._lists`."""


def within(path: str, folder: str) -> bool:
    """Is it the folder, or does it lie in it? As text: both absolute and resolved."""
    return folder == "/" or path == folder or path.startswith(f"{folder}/")


def depth(path: str) -> int:
    """Names on the way from the root."""
    return 0 if path == "/" else path.count("/")


def ancestors(path: str) -> Iterator[str]:
    """The folders it lies in, innermost first."""
    while path != "/":
        path = os.path.dirname(path)
        yield path


def parents(path: str, below: str) -> tuple[str, ...]:
    """The folders strictly between `below` and the path."""
    return tuple(folder for folder in ancestors(path) if folder != below and within(folder, below))
