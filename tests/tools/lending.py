"""What a tool is lent in these tests: a real workspace, a real store, and rules as plain functions of a path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp_server.policy.chain import Commons, Member, authority
from mcp_server.policy.values import Mode, PathValue
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import ImagePart, TextPart
from mcp_server.sandbox.derive import Approval
from mcp_server.sandbox.enclosing import Enclosing, Enclosure
from mcp_server.settings.places import Places
from mcp_server.store.protocol import Store
from mcp_server.tools.base import Step, Tool, ToolContext, ToolResult


@dataclass(slots=True)
class Lent:
    """One session's side of the tools."""

    context: ToolContext
    said: list[str] = field(default_factory=list[str])
    """The progress told so far."""

    @property
    def workspace(self) -> Path:
        return self.context.workspace

    def write(self, name: str, content: str | bytes = "") -> Path:
        """Put a file into the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def saved(self) -> list[Path]:
        """The files of output too long to show."""
        return sorted(self.context.outputs.iterdir()) if self.context.outputs.exists() else []

    def unreadable(self, denied: Callable[[PathValue], bool]) -> None:
        """From now on `read` denies these."""

        def readable(paths: Sequence[PathValue]) -> Sequence[bool]:
            return [not denied(path) for path in paths]

        self.context = replace(self.context, readable=readable)

    def judged(self, tool: Tool, **arguments: Any) -> tuple[Any, ToolContext]:
        """The arguments, and the context as the gate hands it over once all that is asked was allowed."""
        valid = tool.spec.arguments.model_validate(arguments)
        return valid, replace(self.context, judged=tool.requests(valid, self.context))

    async def call(self, tool: Tool, **arguments: Any) -> ToolResult:
        """Ask, be allowed, run."""
        valid, context = self.judged(tool, **arguments)
        return await tool.run(valid, context)

    async def text(self, tool: Tool, **arguments: Any) -> str:
        """The text of the result."""
        return text_of(await self.call(tool, **arguments))


def text_of(result: ToolResult) -> str:
    return "\n".join(part.text for part in result.parts if isinstance(part, TextPart))


def images_of(result: ToolResult) -> list[ImagePart]:
    return [part for part in result.parts if isinstance(part, ImagePart)]


def lend(folder: Path, store: Store, environment: dict[str, str], session: str = "s1") -> Lent:
    """A workspace below `folder`; two sessions lent the same folder share it."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    said: list[str] = []

    async def progress(step: Step) -> None:
        said.append(step.words)

    def readable(paths: Sequence[PathValue]) -> Sequence[bool]:
        return [True for _ in paths]

    context = ToolContext(
        session_id=SessionId(session),
        session_path=("build",),
        workspace=workspace,
        outputs=folder / "outputs" / session,
        store=store,
        readable=readable,
        progress=progress,
        environment=environment,
        enclose=_encloses(folder, workspace, environment, session),
    )
    return Lent(context=context, said=said)


def _encloses(folder: Path, workspace: Path, environment: dict[str, str], session: str) -> Callable[[Approval], Enclosure]:
    """As a server does it for a session that may do anything inside, in the best sandbox there is."""
    home = Path(environment["HOME"])
    places = Places(home=home, config=home / "config", state=folder / "state", cache=folder / "cache", managed=folder / "managed")
    member = Member(session_id=SessionId(session), agent="build", rules=(), mode=Mode.BYPASS)
    enclosing = Enclosing("auto", places, environment)
    held = authority((member,), Commons(workspace=str(workspace)))
    return lambda approval: enclosing.enclosure(held, str(workspace), session, approval)
