"""`bash`: run a shell line in the workspace."""

import os
import shutil

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue, Request
from mcp_server.records import TextPart
from mcp_server.shell.reading import MAX_LINE
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec
from mcp_server.tools.bash_asking import reading_of, requests_of
from mcp_server.tools.opening import in_words, working_folder
from mcp_server.tools.outputs import Spool
from mcp_server.tools.paths import locate, refuse_unless_judged
from mcp_server.tools.processes import Finished, run
from mcp_server.tools.repositories import QUIET

DEFAULT_MS = 120_000
"""Two minutes: a build, not a server."""

LONGEST_MS = 600_000
"""Ten minutes; a host gives up long before."""

STEERING = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "IFS", "CDPATH", "GLOBIGNORE"})
"""Variables that make bash run or read lines in another way; never passed on."""


class BashArguments(BaseModel):
    """What to run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = Field(min_length=1, max_length=MAX_LINE, description="The line to run")
    description: str = Field(default="", max_length=500, description="What it does, in five to ten words, for the person who may be asked")
    timeout: int = Field(default=DEFAULT_MS, ge=1, le=LONGEST_MS, description="Milliseconds after which it is ended")
    workdir: str = Field(default=".", description="A folder inside the workspace to run in; the workspace if left out")


class BashOutput(BaseModel):
    """How a command ended."""

    exit_code: int | None
    """None: it timed out."""
    timed_out: bool
    output: str
    """As shown."""
    output_file: str | None
    """Where the whole output is, if it was too long to show."""
    ended_processes: int
    """Processes that it had left running."""


class BashTool:
    """Runs bash, and leaves no process behind."""

    held = False
    """Lines run where the rules of `edit`, `read` and `webfetch` are enforced whatever they do: what they would do besides then need
    not be asked for."""

    spec = ToolSpec(
        name="bash",
        title="Run a command",
        description=(
            "Runs a shell line with bash in the workspace and returns what it printed and its exit code. A line is judged by every "
            "command in it and by the files that it reads and writes; what cannot be read beforehand (inline code, variables as "
            "programs or paths, eval) may have to be allowed by a person, so prefer plain lines. There is no terminal and no input. It is "
            "ended with all its processes after timeout (2 minutes, at most 10); nothing goes on in the background. Output over "
            "2,000 lines or 50 KiB is saved whole and shown in part. Use read, edit, write, glob, grep and list for files, not cat, "
            "sed, echo, find, grep or ls. The environment is clean: no secrets, no settings of the person's own shell."
        ),
        arguments=BashArguments,
        hints=Hints(destructive=True, open_world=True),
        output=BashOutput,
    )

    def requests(self, arguments: BashArguments, context: ToolContext) -> tuple[Request, ...]:
        """`bash` with each command, `edit`, `read` and `webfetch` with what they would touch, `external_directory` with places outside."""
        folder = _folder(arguments, context)
        reading = reading_of(arguments.command, folder.resolved, context)
        return requests_of(reading, context, held=self.held)

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolResult:
        """Run it."""
        refuse_unless_judged(self, arguments, context)
        folder = _folder(arguments, context)
        bash = shutil.which("bash", path=context.environment.get("PATH")) or shutil.which("bash")
        if bash is None:
            raise ToolFailure("there is no bash on this machine")
        spool = Spool(context.outputs, "bash")
        try:
            with working_folder(folder.resolved) as cwd:
                finished = await run(
                    [bash, "--noprofile", "--norc", "-c", arguments.command],
                    cwd=cwd,
                    environment={**_environment(context), **(QUIET if "git" in arguments.command else {})},
                    seconds=arguments.timeout / 1000,
                    take=spool.add,
                    beat=lambda seconds: context.progress(f"still running after {seconds:.0f} s"),
                )
        except OSError as error:
            raise ToolFailure(in_words(error, folder.text)) from error
        finally:
            spool.close()
        return _told(finished, spool, arguments)


def _folder(arguments: BashArguments, context: ToolContext) -> PathValue:
    folder = locate(arguments.workdir, context.workspace)
    if not folder.inside:
        raise ToolFailure(f"workdir {arguments.workdir} lies outside the workspace; commands run inside it")
    if not os.path.isdir(folder.resolved):
        raise ToolFailure(f"workdir {folder.text} is not a folder")
    return folder


def _environment(context: ToolContext) -> dict[str, str]:
    return {name: value for name, value in context.environment.items() if name not in STEERING and not name.startswith("BASH_FUNC_")}


def _told(finished: Finished, spool: Spool, arguments: BashArguments) -> ToolResult:
    output = spool.text().rstrip("\n")
    notes = [_ending(finished, arguments)]
    if finished.ended and finished.code is not None:
        notes.append(f"({_processes(finished.ended)} it had left running {'was' if finished.ended == 1 else 'were'} ended)")
    if finished.escaped:
        notes.append(f"({_processes(finished.escaped)} could not be ended)")
    structured = BashOutput(
        exit_code=finished.code,
        timed_out=finished.code is None,
        output=output,
        output_file=str(spool.path) if spool.path is not None else None,
        ended_processes=finished.ended,
    )
    text = "\n".join([output or "(no output)", "", *notes])
    return ToolResult(parts=(TextPart(text=text),), structured=structured.model_dump(mode="json"), failed=finished.code != 0)


def _ending(finished: Finished, arguments: BashArguments) -> str:
    if finished.code is None:
        return f"(timed out after {arguments.timeout:,} ms; all its processes were ended)"
    if finished.code < 0:
        return f"(ended by signal {-finished.code})"
    return f"(exit code {finished.code})"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"
