"""Several files changed together, or none: everything is written beside its place first, then renamed, and put back on a failure.

What it cannot outlive is the end of the process between two renames; then files called `.remit-….old` hold what was.
"""

import contextlib
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mcp_server.errors import ToolFailure
from mcp_server.tools.opening import Place, look, place_of
from mcp_server.tools.replacement import Current, beside, refuse_if_changed, refuse_if_read_only, remove, staged, sync_folder

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS)
"""What systems say that keep no second name of a file."""


class Step(Protocol):
    """One file's part. Each is called at most once, in this order; `undo` only after `do` began."""

    def stage(self) -> None:
        """All that may fail for want of room, without a change that anybody sees."""
        ...

    def do(self) -> None: ...

    def undo(self) -> None: ...

    def clean(self) -> None:
        """Take away what only this step needed."""
        ...


@dataclass(slots=True, kw_only=True)
class Change:
    """A file that comes, changes or goes."""

    place: Place
    before: Current | None
    """What was seen there; None: nothing."""
    content: bytes | None
    """What is to be there; None: nothing."""
    like: Current | None = None
    """Whose mode and owner the new content takes; None: those of `before`."""
    source: Place | None = None
    """Where `like` stands."""
    _staged: Place | None = field(default=None, init=False)
    _kept: Place | None = field(default=None, init=False)
    """The old file under another name."""
    _landed: bool = field(default=False, init=False)

    def stage(self) -> None:
        if self.before is not None:
            refuse_if_read_only(self.place)
        if self.content is not None:
            self._staged = staged(self.place, self.content, self.like or self.before, self.source or self.place)

    def do(self) -> None:
        refuse_if_changed(self.place, self.before)
        if self.before is not None:
            self._keep(beside(self.place, "old"))
        if self._staged is not None:
            _rename(self._staged, self.place)
            self._staged = None
        elif look(self.place) is not None:
            remove(self.place)
        self._landed = True
        sync_folder(self.place)

    def undo(self) -> None:
        if self._kept is not None:
            kept = self._kept
            _rename(kept, self.place)
            self._kept = None
            remove(kept)  # the system leaves both names where they are one file
        elif self._landed and self.before is None:
            remove(self.place)

    def clean(self) -> None:
        for place in (self._staged, self._kept):
            if place is not None:
                remove(place)

    def _keep(self, kept: Place) -> None:
        try:
            os.link(self.place.at, kept.at, src_dir_fd=self.place.folder, dst_dir_fd=kept.folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _rename(self.place, kept)
        self._kept = kept


def carry_out(steps: Sequence[Step]) -> None:
    """Every step, or none.

    Raises:
        ToolFailure: One could not be done; the others are undone. Or what was could not be put back: it says what.
        OSError: Likewise, from the system.
    """
    begun: list[Step] = []
    try:
        for step in steps:
            step.stage()
        for step in steps:
            begun.append(step)
            step.do()
    except BaseException:
        _put_back(begun, steps)
        raise
    for step in steps:
        with contextlib.suppress(OSError):  # all is done; a file of ours left over undoes nothing
            step.clean()


def _put_back(begun: Sequence[Step], steps: Sequence[Step]) -> None:
    lost: list[str] = []
    for step in reversed(begun):
        try:
            step.undo()
        except OSError as error:
            lost.append(str(error))
    for step in steps:
        if not lost:
            with contextlib.suppress(OSError):
                step.clean()
    if lost:
        raise ToolFailure(
            "the patch failed in the middle, and not all of it could be undone: what was is kept in files called .remit-….old beside "
            f"their places ({'; '.join(lost)})"
        )


def remove_folders(folder: str, count: int) -> None:
    """Take away the `count` deepest folders of a path again, as far as they are empty."""
    for _ in range(count):
        with contextlib.suppress(OSError), place_of(folder) as place:
            os.rmdir(place.at, dir_fd=place.folder)
        folder = os.path.dirname(folder)


def _rename(one: Place, other: Place) -> None:
    os.replace(one.at, other.at, src_dir_fd=one.folder, dst_dir_fd=other.folder)
