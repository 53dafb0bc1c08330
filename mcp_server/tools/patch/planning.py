"""Which paths a patch names, as policy sees them: each at most once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.tools.patch.reading import DeleteFile, Operation, UpdateFile, read_patch
from mcp_server.tools.paths import locate, outside


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An operation with its paths as policy sees them."""

    operation: Operation
    path: PathValue
    to: PathValue | None

    @property
    def lands(self) -> PathValue | None:
        """Where the file is afterwards; None: nowhere."""
        return None if isinstance(self.operation, DeleteFile) else self.to or self.path


def plan(text: str, workspace: Path) -> tuple[Planned, ...]:
    """The patch's operations with their paths.

    Raises:
        ToolFailure: It is no patch, or names a file twice.
    """
    planned: list[Planned] = []
    seen: set[str] = set()
    for operation in read_patch(text):
        path = locate(operation.path, workspace)
        to = locate(operation.to, workspace) if isinstance(operation, UpdateFile) and operation.to is not None else None
        for each in (path, to):
            if each is None:
                continue
            name = each.resolved.casefold() if each.ignore_case else each.resolved
            if name in seen:
                raise ToolFailure(f"the patch names {each.text} twice; put all that concerns a file into one section")
            seen.add(name)
        planned.append(Planned(operation=operation, path=path, to=to))
    return tuple(planned)


def asked(planned: Sequence[Planned]) -> tuple[Request, ...]:
    """`edit` with every path at both ends of moves, and `read` with what moves: elsewhere other rules may show it."""
    paths = tuple(path for one in planned for path in (one.path, one.to) if path is not None)
    moved = tuple(one.path for one in planned if one.to is not None)
    beyond = tuple(path for path in paths if not path.inside)
    return (
        Request(permission="edit", values=paths),
        *([Request(permission="read", values=moved)] if moved else []),
        *([outside(*beyond)] if beyond else []),
    )
