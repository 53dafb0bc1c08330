"""`bash`: run a shell line in the workspace."""

import os
import shutil
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.records import TextPart
from mcp_server.sandbox.running import Finished, run
from mcp_server.shell.reading import MAX_LINE, Reading
from mcp_server.tools.background import Background, Line, Order
from mcp_server.tools.base import Hints, Step, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.bash_asking import Runs, naming, reading_of, requests_of
from mcp_server.tools.enclosed import enclosed, enclosure_of, profile_of, refuse_unless_held, refused, understood, with_besides
from mcp_server.tools.opening import in_words
from mcp_server.tools.outputs import Spool
from mcp_server.tools.paths import locate, refuse_unless_among

DEFAULT_MS = 120_000
"""Two minutes: a build, not a server."""

MAX_NAMED = 20
"""Places and addresses that one call may ask for besides: more than a prompt shows well."""

LONGEST_MS = 600_000
"""Ten minutes; a host gives up long before."""

MOST_SIGNALS = 65
"""Shells, and the sandbox, report a program that a signal ended as 128 and the signal's number."""


class BashArguments(BaseModel):
    """What to run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = Field(min_length=1, max_length=MAX_LINE, description="The line to run")
    description: str = Field(default="", max_length=500, description="What it does, in five to ten words, for the person who may be asked")
    timeout: int = Field(default=DEFAULT_MS, ge=1, le=LONGEST_MS, description="Milliseconds after which it is ended")
    background: bool = Field(
        default=False, description="Return at once and let it go on; bash_output reads it, bash_kill ends it. timeout does not count then"
    )
    workdir: str = Field(default=".", description="A folder inside the workspace to run in; the workspace if left out")
    may_write: tuple[str, ...] = Field(
        default=(), max_length=MAX_NAMED, description="Files or folders that exist and that the sandbox kept it from writing"
    )
    may_read: tuple[str, ...] = Field(default=(), max_length=MAX_NAMED, description="Likewise, from reading")
    may_fetch: tuple[str, ...] = Field(default=(), max_length=MAX_NAMED, description='Likewise, addresses from reaching; "*" for any')


class BashOutput(BaseModel):
    """How a command ended."""

    exit_code: int | None
    """None: it timed out, or goes on in the background."""
    timed_out: bool
    output: str
    """As shown."""
    output_file: str | None
    """Where the whole output is, if it was too long to show."""
    ended_processes: int
    """Processes that it had left running."""
    waiting: bool = False
    """It waits for a person, and has not run: the same call again goes on with it."""
    bash_id: str | None = None
    """Of a line that goes on in the background."""
    refused: str | None = None
    """What the sandbox seems to have kept it from, and how to ask for that."""


class BashTool:
    """Runs bash in the session's sandbox, and leaves no process behind that its session does not know of."""

    def __init__(self, background: Background) -> None:
        self._background = background

    spec = ToolSpec(
        name="bash",
        title="Run a command",
        description=(
            "Runs a shell line with bash in the workspace and returns what it printed and its exit code. A line is judged by every "
            "command in it and by the files that it reads and writes; what cannot be read beforehand (inline code, variables as "
            "programs or paths, eval) may have to be allowed by a person, so prefer plain lines. It runs in a sandbox that holds it to "
            "your rules: where it was kept from something, the result says what, and the same line with may_write, may_read or "
            "may_fetch asks for that. /tmp is your own. There is no terminal and no input. It is "
            "ended with all its processes after timeout (2 minutes, at most 10), or goes on in the background if you say so. Output over "
            "2,000 lines or 50 KiB is saved whole and shown in part. Use read, edit, write, glob, grep and list for files, not cat, "
            "sed, echo, find, grep or ls. The environment is clean: no secrets, no settings of the person's own shell."
        ),
        arguments=BashArguments,
        hints=Hints(destructive=True, open_world=True),
        output=BashOutput,
        unfinished=BashOutput(exit_code=None, timed_out=False, output="", output_file=None, ended_processes=0, waiting=True).model_dump(),
    )

    def requests(self, arguments: BashArguments, context: ToolContext) -> tuple[Request, ...]:
        """`bash` with each command, `edit`, `read` and `webfetch` with what they would touch, `external_directory` with places outside."""
        return _requests(_reading(arguments, _folder(arguments, context), context), context)

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolResult:
        """Run it."""
        folder = _folder(arguments, context)
        reading = _reading(arguments, folder, context)
        refuse_unless_among(context.judged, _requests(reading, context))
        enclosure = enclosed(reading, context)
        order = Order(
            session_id=context.session_id,
            backend=enclosure.backend,
            profile=profile_of(enclosure, reading, arguments.command),
            argv=[_bash(context), "--noprofile", "--norc", "-c", arguments.command],
            cwd=folder.resolved,
            spool=Spool(context.outputs, "bash"),
        )
        try:
            if arguments.background:
                return replace(_begun(await self._background.start(order)), ran=f"{enclosure.words}, in the background")
            finished = await _to_the_end(order, arguments, context)
        except OSError as error:
            raise ToolFailure(in_words(error, folder.text)) from error
        kept = refused(context, enclosure, order.spool.text(), finished.code, folder.resolved)
        return replace(_told(finished, order.spool, arguments, kept), ran=enclosure.words)


async def _to_the_end(order: Order, arguments: BashArguments, context: ToolContext) -> Finished:
    try:
        return await run(
            order.backend,
            order.profile,
            order.argv,
            cwd=order.cwd,
            seconds=arguments.timeout / 1000,
            take=order.spool.add,
            beat=lambda seconds: context.progress(Step(text=f"still running after {seconds:.0f} s")),
        )
    finally:
        order.spool.close()


def _begun(line: Line) -> ToolResult:
    words = f"running in the background as {line.id}; bash_output reads what it prints, bash_kill ends it, and it ends with your session"
    output = BashOutput(exit_code=None, timed_out=False, output="", output_file=None, ended_processes=0, bash_id=line.id)
    return ToolResult(parts=(TextPart(text=words),), structured=output.model_dump(mode="json"))


def _bash(context: ToolContext) -> str:
    found = shutil.which("bash", path=context.environment.get("PATH")) or shutil.which("bash")
    if found is None:
        raise ToolFailure("there is no bash on this machine")
    return os.path.realpath(found)


def _requests(reading: Reading, context: ToolContext) -> tuple[Request, ...]:
    if not understood(reading):
        refuse_unless_held(reading, enclosure_of(context))
    runs = Runs(held=lambda: enclosure_of(context).holds, own_temporary=lambda: enclosure_of(context).own_temporary)
    requests = requests_of(reading, context, runs)
    return requests if understood(reading) else with_besides(requests, reading, context)


def _reading(arguments: BashArguments, folder: PathValue, context: ToolContext) -> Reading:
    reading = reading_of(arguments.command, folder.resolved, context)
    return naming(reading, folder.resolved, context, writes=arguments.may_write, reads=arguments.may_read, urls=arguments.may_fetch)


def _folder(arguments: BashArguments, context: ToolContext) -> PathValue:
    folder = locate(arguments.workdir, context.workspace)
    if not folder.inside:
        raise ToolFailure(f"workdir {arguments.workdir} lies outside the workspace; commands run inside it")
    if not os.path.isdir(folder.resolved):
        raise ToolFailure(f"workdir {folder.text} is not a folder")
    return folder


def _told(finished: Finished, spool: Spool, arguments: BashArguments, kept: str) -> ToolResult:
    output = spool.text().rstrip("\n")
    notes = [_ending(finished, arguments)]
    if finished.ended and finished.code is not None:
        notes.append(f"({_processes(finished.ended)} it had left running {'was' if finished.ended == 1 else 'were'} ended)")
    if finished.escaped:
        notes.append(f"({_processes(finished.escaped)} could not be ended)")
    notes += [kept] if kept else []
    structured = BashOutput(
        exit_code=finished.code,
        timed_out=finished.code is None,
        output=output,
        output_file=str(spool.path) if spool.path is not None else None,
        ended_processes=finished.ended,
        refused=kept or None,
    )
    text = "\n".join([output or "(no output)", "", *notes])
    return ToolResult(parts=(TextPart(text=text),), structured=structured.model_dump(mode="json"), failed=finished.code != 0)


def _ending(finished: Finished, arguments: BashArguments) -> str:
    if finished.code is None:
        return f"(timed out after {arguments.timeout:,} ms; all its processes were ended)"
    number = -finished.code if finished.code < 0 else finished.code - 128
    return f"(exit code {finished.code}: ended by signal {number})" if 0 < number < MOST_SIGNALS else f"(exit code {finished.code})"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"
