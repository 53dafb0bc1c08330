"""What `list`, `glob` and `grep` share: the folder searched, and which of its files may be read."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from anyio import lowlevel

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue
from mcp_server.tools.base import ToolContext
from mcp_server.tools.opening import in_words
from mcp_server.tools.paths import CaseByFolder, below

AT_ONCE = 100
"""Files judged before other work gets a turn; some 10 ms."""

MAX_COUNTED = 10_000
"""Files judged to be counted, about a second's work. Beyond them a file is judged only when there is something to show of it."""


class Judged:
    """The files found, each with whether `read` would allow it without asking. Nothing of the others is ever shown."""

    def __init__(self, names: Iterable[str], folder: PathValue, context: ToolContext) -> None:
        self.names = sorted(names, key=lambda name: name.split("/"))
        """Relative to the folder searched, in order."""
        self._found = set(self.names)
        self._folder = folder
        self._context = context
        self._case = CaseByFolder()
        self._known: dict[str, PathValue | None] = {}

    async def count(self) -> None:
        """Judge the files that are counted, which does not depend on what is in them."""
        for start in range(0, min(len(self.names), MAX_COUNTED), AT_ONCE):
            part = self.names[start : min(start + AT_ONCE, MAX_COUNTED)]
            values = [self._value(name) for name in part]
            verdicts = self._context.readable(values)
            self._known.update((name, value if verdict else None) for name, value, verdict in zip(part, values, verdicts, strict=True))
            await lowlevel.checkpoint()

    def readable(self, name: str) -> PathValue | None:
        """The file's path; None: it may not be read, or was not found."""
        if name not in self._known:
            value = self._value(name) if name in self._found else None
            self._known[name] = value if value is not None and self._context.readable([value])[0] else None
        return self._known[name]

    @property
    def counted(self) -> tuple[int, int, str]:
        """Readable ones, others, and `at least ` where not every file was counted."""
        values = [self._known[name] for name in self.names[:MAX_COUNTED]]
        allowed = sum(value is not None for value in values)
        return allowed, len(values) - allowed, "at least " if len(self.names) > MAX_COUNTED else ""

    @property
    def note(self) -> str:
        """What is told of those left out; empty where none was. Says nothing of what is in them."""
        _, left_out, at_least = self.counted
        if left_out == 0:
            return ""
        return f"\n({at_least}{files_in_words(left_out)} left out that the rules do not let you read)"

    def _value(self, name: str) -> PathValue:
        folder = f"{self._folder.resolved}/{name.rpartition('/')[0]}".rstrip("/") or "/"
        return below(self._folder, name, self._context.workspace, ignore_case=self._case(folder))


async def judged(names: Iterable[str], folder: PathValue, context: ToolContext) -> Judged:
    """Judge the files found, as far as they are counted."""
    files = Judged(names, folder, context)
    await files.count()
    return files


def files_in_words(count: int) -> str:
    """`1 file`, `2 files`."""
    return "1 file" if count == 1 else f"{count:,} files"


@contextmanager
def folder_faults(folder: PathValue) -> Generator[None]:
    """Turn what can be wrong with a folder into words."""
    try:
        yield
    except FileNotFoundError:
        raise ToolFailure(f"{folder.text} does not exist; list shows what is there") from None
    except NotADirectoryError:
        raise ToolFailure(f"{folder.text} is not a folder; use read for a file") from None
    except OSError as error:
        raise ToolFailure(in_words(error, folder.text)) from error


def printable(name: str) -> str:
    """A file's name as text that can be sent: bytes that are not UTF-8 and control characters are replaced."""
    text = name.encode(errors="surrogateescape").decode(errors="replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
