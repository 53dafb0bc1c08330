"""`bash_output` and `bash_kill`: what a line in the background has printed, and an end to it. Both need ownership, not permission."""

import anyio
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.policy.values import Request
from mcp_server.records import TextPart
from mcp_server.tools.background import Background, Line
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec

LONGEST_WAIT = 45.0
"""Seconds: hosts give a call about 60."""

END_WAIT = 6.0
"""Seconds that an end is waited for: the polite signal, the other, and what they leave."""

BASH_ID = "The id that bash returned"


class OutputArguments(BaseModel):
    """What `bash_output` takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bash_id: str = Field(description=BASH_ID)
    wait_seconds: float = Field(
        default=0.0, ge=0, le=LONGEST_WAIT, description="Wait so long for something new, or for its end; 0 answers at once"
    )


class KillArguments(BaseModel):
    """What `bash_kill` takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bash_id: str = Field(description=BASH_ID)


class LineOutput(BaseModel):
    """A line in the background."""

    bash_id: str
    running: bool
    exit_code: int | None
    """None: it runs, or was ended."""
    output: str
    """What nobody has read yet."""
    output_file: str | None
    """Where all of it is, if it was too long to show at once."""


class BashOutputTool:
    """Reads on."""

    def __init__(self, background: Background) -> None:
        self._background = background

    spec = ToolSpec(
        name="bash_output",
        title="Read a background command",
        description=(
            "What a line that bash started in the background has printed since you last asked, and whether it still runs. "
            "wait_seconds waits for something new instead of asking again and again."
        ),
        arguments=OutputArguments,
        hints=Hints(read_only=True, destructive=False),
        output=LineOutput,
        by_ownership=True,
    )

    def requests(self, arguments: OutputArguments, context: ToolContext) -> tuple[Request, ...]:
        """None: it reaches the session's own lines alone."""
        return ()

    async def run(self, arguments: OutputArguments, context: ToolContext) -> ToolResult:
        """Look, and wait if asked to."""
        line = self._background.line(context.session_id, arguments.bash_id)
        if not line.news and not line.over.is_set():
            with anyio.move_on_after(arguments.wait_seconds):
                await line.stirred.wait()
        return told(line)


class BashKillTool:
    """Ends one."""

    def __init__(self, background: Background) -> None:
        self._background = background

    spec = ToolSpec(
        name="bash_kill",
        title="End a background command",
        description="Ends a line that bash started in the background, with all its processes, and returns the rest of its output.",
        arguments=KillArguments,
        hints=Hints(destructive=True, idempotent=True),
        output=LineOutput,
        by_ownership=True,
    )

    def requests(self, arguments: KillArguments, context: ToolContext) -> tuple[Request, ...]:
        """None: it reaches the session's own lines alone."""
        return ()

    async def run(self, arguments: KillArguments, context: ToolContext) -> ToolResult:
        """End it, and see it ended."""
        line = self._background.line(context.session_id, arguments.bash_id)
        line.scope.cancel()
        with anyio.move_on_after(END_WAIT):
            await line.over.wait()
        return told(line)


def told(line: Line) -> ToolResult:
    """The line as it stands, and its news."""
    over = line.over.is_set()
    path = line.order.spool.path
    report = LineOutput(
        bash_id=line.id,
        running=not over,
        exit_code=line.code,
        output=line.read().rstrip("\n"),
        output_file=None if path is None else str(path),
    )
    ending = "ended before its own end" if line.code is None else f"exit code {line.code}"
    notes = [f"({ending})" if over else "(still running)"]
    notes += [f"(all of its output: {path})"] if path is not None else []
    text = "\n".join([report.output or "(nothing new)", "", *notes])
    return ToolResult(parts=(TextPart(text=text),), structured=report.model_dump(mode="json"))
