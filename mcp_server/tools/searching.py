"""What `list`, `glob` and `grep` share: the folder searched, and which of its files may be read."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

from anyio import lowlevel

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue
from mcp_server.tools.base import ToolContext
from mcp_server.tools.opening import in_words
from mcp_server.tools.paths import CaseByFolder, below

AT_ONCE = 500
"""Files judged before other work gets a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """The files that `read` would allow without asking, in order, and how many it would not."""

    files: dict[str, PathValue]
    """By the name relative to the folder searched."""
    left_out: int

    @property
    def note(self) -> str:
        """What is told of those left out; empty where none was. Says nothing of what is in them."""
        if self.left_out == 0:
            return ""
        files = "1 file" if self.left_out == 1 else f"{self.left_out:,} files"
        return f"\n({files} left out that the rules do not let you read)"


async def readable(names: Iterable[str], folder: PathValue, context: ToolContext) -> Readable:
    """Judge each of the files, in the order of their names."""
    case = CaseByFolder()
    ordered = sorted(names, key=lambda name: name.split("/"))
    allowed: dict[str, PathValue] = {}
    for start in range(0, len(ordered), AT_ONCE):
        part = ordered[start : start + AT_ONCE]
        values = [
            below(folder, name, context.workspace, ignore_case=case(f"{folder.resolved}/{name.rpartition('/')[0]}".rstrip("/") or "/"))
            for name in part
        ]
        verdicts = context.readable(values)
        allowed.update((name, value) for name, value, verdict in zip(part, values, verdicts, strict=True) if verdict)
        await lowlevel.checkpoint()
    return Readable(files=allowed, left_out=len(ordered) - len(allowed))


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
