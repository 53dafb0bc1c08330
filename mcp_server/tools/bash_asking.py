"""From what a line would do to the requests that it raises: a permission each, with every value."""

import glob
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import CommandValue, PathValue, PlainValue, Request
from mcp_server.shell.model import Folders, Touch
from mcp_server.shell.reading import Reading, read_line
from mcp_server.tools.addresses import normalised
from mcp_server.tools.paths import CaseByFolder, below, locate, nameable, outside
from mcp_server.tools.places import HARMLESS, Surroundings, places_outside
from mcp_server.tools.repositories import names_no_programs

ANYWHERE = "*"
"""The value of `webfetch` for every address."""

TEMPORARY = "/tmp"  # noqa: S108 - compared

MAX_MATCHES = 200
"""Names that one pattern may stand for; more are not for a prompt."""

MAX_WILD = 2
"""Parts of a pattern between slashes that hold wildcards: with more, looking it up could take as long as the disk is large."""

MAX_LOOKED = 4000
"""Entries of folders that one call looks at: a tenth of a second."""


@dataclass(slots=True)
class _Asked:
    """The values of one permission, each once."""

    found: dict[str, PathValue] = field(default_factory=dict[str, PathValue])

    def add(self, value: PathValue) -> None:
        self.found.setdefault(f"{value.resolved}\0{value.unresolved}", value)

    @property
    def values(self) -> tuple[PathValue, ...]:
        return tuple(self.found.values())


def reading_of(command: str, folder: str, context: Surroundings) -> Reading:
    """What a line would do, seen from a folder.

    Raises:
        ToolFailure: It is no line that a shell should get.
    """
    return read_line(command, folder=folder, home=context.environment.get("HOME", ""), expand=matching)


def naming(
    reading: Reading, folder: str, context: Surroundings, *, writes: Sequence[str], reads: Sequence[str], urls: Sequence[str]
) -> Reading:
    """The reading with what its call names besides, to have it opened to the line.

    Raises:
        ToolFailure: A path is not there, so that nothing could be opened.
    """
    for text in (*writes, *reads):
        if not os.path.exists(locate(os.path.join(folder, text), context.workspace).resolved):
            raise ToolFailure(f"{text} does not exist, so it cannot be opened to the command; name the folder that it is to be made in")
    here = frozenset({folder})
    return replace(
        reading,
        writes=(*reading.writes, *(Touch(text=text, folders=here) for text in writes)),
        reads=(*reading.reads, *(Touch(text=text, folders=here) for text in reads)),
        urls=tuple(dict.fromkeys((*reading.urls, *urls))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Where a line runs; each is asked only where it matters, as it may take long to find out."""

    held: Callable[[], bool]
    """The rules are enforced there, whatever it does."""
    own_temporary: Callable[[], bool]
    """What it calls `/tmp` is its session's own folder."""


def requests_of(reading: Reading, context: Surroundings, runs: Runs) -> tuple[Request, ...]:
    """Every permission that a line needs.

    Raises:
        ToolFailure: It names more places than anybody would read.
    """
    return _Asking(reading, context, runs).requests()


class _Asking:
    def __init__(self, reading: Reading, context: Surroundings, runs: Runs) -> None:
        self.reading = reading
        self.context = context
        self._runs = runs
        self.case = CaseByFolder()
        self.looked = 0
        self.overlooked = False

    @cached_property
    def held(self) -> bool:
        return self._runs.held()

    @cached_property
    def own_temporary(self) -> bool:
        return self._runs.own_temporary()

    def requests(self) -> tuple[Request, ...]:
        reads, writes = _Asked(), _Asked()
        for touch in self.reading.reads:
            self._add(reads, "read", touch)
        for touch in self.reading.writes:
            self._add(writes, "edit", touch)
        made = [
            Request(permission="bash", values=self._commands()),
            Request(permission="edit", values=writes.values),
            Request(permission="read", values=reads.values),
            self._outside((*writes.values, *reads.values)),
            Request(
                permission="webfetch",
                values=tuple(PlainValue(text=_address(url)) for url in self.reading.urls),
            ),
        ]
        return tuple(request for request in made if request.values)

    # ---- commands -------------------------------------------------------------------------------

    def _commands(self) -> tuple[CommandValue, ...]:
        values = self.reading.commands
        if self.reading.repositories and not all(map(names_no_programs, self.reading.repositories)):
            values = tuple(replace(each, read_only=False, effects_known=False) if _is_git(each) else each for each in values)
        if self.overlooked and not self.held:
            values = tuple(replace(each, opaque=True, read_only=False, effects_known=False) for each in values)
        if not all(each.effects_known for each in values) and self.held:
            # What git keeps of earlier states cannot be hidden by a sandbox.
            values = tuple(replace(each, effects_known=each.effects_known or each.unseen != ("read",)) for each in values)
        return values

    # ---- paths ----------------------------------------------------------------------------------

    def _add(self, asked: _Asked, permission: str, touch: Touch) -> None:
        for folder in sorted(touch.folders) or ["/"]:
            path = os.path.join(folder, touch.text)
            if not nameable(path):
                raise ToolFailure(f"{touch.text[:80]}… is too long for a path")
            if self._passes(path):
                continue
            value = self._locate(path)
            if touch.inside_as and os.path.isdir(value.resolved):
                value = self._locate(os.path.join(path, touch.inside_as))
            if value.unresolved in HARMLESS:
                continue
            asked.add(value)
            # What a line changes in a folder that nobody can name beforehand is held by the kernel where it holds.
            if touch.whole and not (touch.some and self.held) and os.path.isdir(value.resolved):
                for inner in self._within(value, permission, shown_only=touch.shown_only):
                    asked.add(inner)

    def _passes(self, path: str) -> bool:
        """Is it in the session's own `/tmp`, where nothing need be asked for? What lies there leads nowhere that the sandbox hides.
        Where the workspace lies in `/tmp` too, the two are not told apart by name.
        """
        own = (TEMPORARY,)
        return _within_any(os.path.normpath(path), own) and not _within_any(str(self.context.workspace), own) and self.own_temporary

    def _locate(self, path: str) -> PathValue:
        return locate(path, self.context.workspace, self.case)

    def _within(self, folder: PathValue, permission: str, *, shown_only: bool) -> Iterable[PathValue]:
        """Those in a folder of which rules say more than of the folder itself."""
        if not folder.inside and self.held:
            return ()
        inner = list(self._walked(folder, shown_only=shown_only))
        if self.context.closings is None:
            if len(inner) > MAX_MATCHES:
                self.overlooked = True
            return inner[:MAX_MATCHES]
        own, *said = self.context.closings(permission, [folder, *inner])
        return [each for each, closings in zip(inner, said, strict=True) if not closings <= own or each.inside is not folder.inside]

    def _walked(self, folder: PathValue, *, shown_only: bool) -> Iterator[PathValue]:
        """All below it. A link counts as what it leads to: some programs follow it."""
        pending, seen = [folder], {folder.resolved}
        while pending:
            at = pending.pop()
            for relative, linked in _names(at.resolved, shown_only=shown_only):
                self.looked += 1
                if self.looked > MAX_LOOKED:
                    self.overlooked = True
                    return
                found = below(at, relative, self.context.workspace, ignore_case=folder.ignore_case)
                yield found
                if not linked:
                    continue
                target = self._locate(found.resolved)
                yield target
                if os.path.isdir(target.resolved) and not _within_any(target.resolved, seen):
                    seen.add(target.resolved)
                    pending += [target] if target.inside else []

    def _outside(self, paths: Sequence[PathValue]) -> Request:
        found = {value.resolved: value for value in paths if not value.inside}
        for touch in self.reading.visited:
            for folder in touch.folders:
                path = os.path.join(folder, touch.text)
                if not self._passes(path) and not (value := self._locate(path)).inside:
                    found.setdefault(value.resolved, value)
        for folders, words in self._by_folders().items():
            for folder in sorted(folders) or [str(self.context.workspace)]:
                for value in places_outside(words, folder, self.context):
                    if not self._passes(value.unresolved):
                        found.setdefault(value.resolved, value)
        return outside(*found.values())

    def _by_folders(self) -> dict[Folders, list[str]]:
        grouped: dict[Folders, list[str]] = {}
        for word, folders in self.reading.words:
            grouped.setdefault(folders, []).append(word)
        return grouped


def matching(pattern: str, folder: str) -> tuple[str, ...] | None:
    """The names that a pattern stands for now, as bash would find them. None: too many, or too far to look."""
    wild = sum(glob.has_magic(part) for part in pattern.split("/"))
    if wild > MAX_WILD or "\0" in pattern:
        return None
    found = tuple(itertools.islice(glob.iglob(pattern, root_dir=folder), MAX_MATCHES + 1))
    return None if len(found) > MAX_MATCHES else tuple(sorted(found))


def _names(folder: str, *, shown_only: bool) -> Iterator[tuple[str, bool]]:
    """Every path below a folder, relative to it, and whether it is a link; links are not followed."""
    for root, folders, files in os.walk(folder):
        if shown_only:
            folders[:] = [name for name in folders if not name.startswith(".")]
            files = [name for name in files if not name.startswith(".")]
        folders.sort()
        prefix = os.path.relpath(root, folder)
        for name in (*files, *folders):
            yield name if prefix == "." else f"{prefix}/{name}", os.path.islink(os.path.join(root, name))


def _within_any(path: str, folders: Iterable[str]) -> bool:
    """Does it lie in one of them, or is it one?"""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _address(url: str) -> str:
    return url if url == ANYWHERE else normalised(url)


def _is_git(value: CommandValue) -> bool:
    return any(form == "git" or form.startswith("git ") for form in (value.text, *value.forms))
