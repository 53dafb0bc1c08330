"""What each operation of a patch comes to, checked against the files as they are. Nothing is changed here."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anyio import to_thread

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue
from mcp_server.tools.base import ToolContext
from mcp_server.tools.edit import other_names, refuse_unless_seen
from mcp_server.tools.kinds import SNIFFED, kind_of
from mcp_server.tools.opening import Place, in_words, look
from mcp_server.tools.patch.hunks import patched
from mcp_server.tools.patch.landing import Change
from mcp_server.tools.patch.planning import Planned
from mcp_server.tools.patch.reading import AddFile, DeleteFile, UpdateFile
from mcp_server.tools.read import missing
from mcp_server.tools.replacement import LARGEST, Current, current


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What an operation comes to, with nothing done yet."""

    planned: Planned
    changes: tuple[Change, ...]
    old: bytes
    new: bytes | None
    """None: the file goes."""
    note: str = ""

    @property
    def line(self) -> str:
        """For the result."""
        path, to = self.planned.path.text, self.planned.to
        match self.planned.operation:
            case AddFile():
                return f"A {path}"
            case DeleteFile():
                return f"D {path}{self.note}"
            case UpdateFile():
                return f"M {path}{self.note}" if to is None else f"R {path} -> {to.text}{self.note}"


def place_in(places: Mapping[str, Place], path: PathValue) -> Place:
    """The file, in its folder that is held open."""
    folder, name = os.path.split(path.resolved)
    return replace(places[folder], path=path.resolved, name=name)


async def prepared(planned: Planned, places: Mapping[str, Place], context: ToolContext) -> Ready:
    """The operation, ready to be carried out.

    Raises:
        ToolFailure: It cannot be.
    """
    path, place = planned.path, place_in(places, planned.path)
    try:
        now = await to_thread.run_sync(current, place)
    except OSError as error:
        raise ToolFailure(f"{in_words(error, path.text)}; nothing was changed") from error
    match planned.operation:
        case AddFile(lines=lines):
            return _adding(planned, place, now, lines)
        case DeleteFile():
            found = await _seen(path, now, context)
            gone = Change(place=place, before=found, content=None)
            return Ready(planned=planned, changes=(gone,), old=found.content, new=None, note=other_names(found))
        case UpdateFile(hunks=hunks):
            found = await _seen(path, now, context)
            visible = context.readable([path])[0]
            new = await to_thread.run_sync(lambda: patched(found.content, hunks, path.text, hints=visible))
            if len(new) > LARGEST:
                raise ToolFailure(f"{path.text} would come to {len(new):,} bytes; files up to {LARGEST:,} bytes can be changed here")
            if planned.to is None:
                changes = (Change(place=place, before=found, content=new),)
            else:
                changes = _moving(place, found, new, place_in(places, planned.to), planned.to)
            return Ready(planned=planned, changes=changes, old=found.content, new=new, note=other_names(found))


def _adding(planned: Planned, place: Place, now: Current | None, lines: Sequence[str]) -> Ready:
    if now is not None:
        raise ToolFailure(f"{planned.path.text} exists already; change it by `*** Update File:`. Nothing was changed")
    try:
        new = "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"the new content of {planned.path.text} is not valid Unicode text; nothing was changed") from None
    return Ready(planned=planned, changes=(Change(place=place, before=None, content=new),), old=b"", new=new)


def _moving(place: Place, found: Current, new: bytes, target: Place, to: PathValue) -> tuple[Change, ...]:
    if look(target) is not None:
        raise ToolFailure(f"{to.text} exists already, and nothing is moved over it; delete it first. Nothing was changed")
    there = Change(place=target, before=None, content=new, like=found, source=place)
    return there, Change(place=place, before=found, content=None)


async def _seen(path: PathValue, now: Current | None, context: ToolContext) -> Current:
    """The file as it is, which the session has read as such; what read cannot show needs no reading."""
    if now is None:
        raise ToolFailure(f"{missing(path, context)}; nothing was changed")
    if kind_of(now.content[:SNIFFED]).sort == "text":
        await refuse_unless_seen(path, now, context)
    return now
