"""Turns from a script: a model that says exactly what a file tells it to. For demonstrations, and for anybody's tests.

Not a mock: it stands where a provider stands, and everything after it (gate, prompts, audit) is real. It remembers
nothing. Which turn is due is read from the stored transcript, so restarts and parallel children of one agent work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread

from mcp_server.errors import ConfigError, ProviderFailed, ScriptFault
from mcp_server.policy.values import ToolCall
from mcp_server.records import CallEnded, ModelTurn, StoredEntry, TaskGiven, Usage
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.sessions.models.call_ids import call_id
from mcp_server.sessions.models.events import Events
from mcp_server.sessions.models.names import ScriptedModel
from mcp_server.sessions.models.script import AgentScript, Script, ScriptedTurn, parse_script, script_bytes
from mcp_server.sessions.models.substitution import UnknownPlace, seen_so_far, substitute, substitute_text, text_of

SHOWN = 400
"""Characters of the results that a missed `expect` shows: enough to see why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedBackend:
    """Gives the turns of every model string that names a script."""

    base: Path
    """Relative scripts are taken from here: the folder of whoever wrote the model string."""
    events: Events = field(default_factory=Events)
    """Releases held turns of this process; files release those of any."""
    longest_hold: float = 600.0
    """Seconds that a turn is held at most: as long as a person has for a prompt."""
    parsed: dict[Path, tuple[bytes, Script]] = field(default_factory=dict[Path, tuple[bytes, Script]])
    """Scripts as they were read last, and from what: a file is read at each turn, and parsed where it has changed."""

    async def turn(self, request: TurnRequest, name: ScriptedModel) -> ModelTurn:
        """As `ModelBackend.turn`, the model string taken apart already. The file is read anew each time."""
        try:
            script = await anyio.to_thread.run_sync(self._script, self.path(name))
        except ConfigError as error:
            raise ScriptFault(str(error)) from None
        own = _script_of(script, request)
        number = _turns_given(own, request.transcript)
        if number >= len(own.turns):
            raise _fault(script, request, number, None, f"the script has only {len(own.turns)} turns")
        turn = own.turns[number]
        if turn.hold is not None:
            await self._hold(script, request, number, turn, turn.hold)
        return _given(script, request, number, turn)

    def path(self, name: ScriptedModel) -> Path:
        """The file that a model string names."""
        return self.base / Path(name.file).expanduser()

    def _script(self, file: Path) -> Script:
        raw = script_bytes(file)
        before = self.parsed.get(file)
        if before is None or before[0] != raw:
            before = self.parsed[file] = (raw, parse_script(file, raw))
        return before[1]

    async def _hold(self, script: Script, request: TurnRequest, number: int, turn: ScriptedTurn, event: str) -> None:
        file = script.event_file(event)
        with anyio.move_on_after(self.longest_hold) as scope:
            await self.events.wait(event, file)
        if scope.cancelled_caught:
            raise _fault(script, request, number, turn, f"nobody released `{event}` in {self.longest_hold:g} s; make the file {file}")


def _script_of(script: Script, request: TurnRequest) -> AgentScript:
    """The agent's script, chosen by the first task of its session: a session that is resumed goes on with the same."""
    scripts = script.agents.get(request.agent)
    if scripts is None:
        raise ScriptFault(f"{script.file}: agent `{request.agent}` has no script; there is one for {', '.join(script.agents)}")
    task = next((stored.entry.text for stored in request.transcript if isinstance(stored.entry, TaskGiven)), "")
    for own in scripts:
        if own.when is None or own.when.search(task):
            return own
    raise ScriptFault(f"{script.file}: agent `{request.agent}` has no script whose `when` fits its task: {task[:SHOWN]}")


def _turns_given(own: AgentScript, transcript: Sequence[StoredEntry]) -> int:
    """How many turns of the script are behind: the model's turns since the start of the session.

    A turn that fails leaves no trace of itself. It is behind when the session got another task while it was due,
    in a run that had not come to its end.
    """
    given = 0
    unfinished = False
    for stored in transcript:
        match stored.entry:
            case ModelTurn(calls=calls):
                given += 1
                unfinished = bool(calls)
            case TaskGiven():
                if unfinished and given < len(own.turns) and own.turns[given].fail is not None:
                    given += 1
                unfinished = True
            case _:
                pass
    return given


def _given(script: Script, request: TurnRequest, number: int, turn: ScriptedTurn) -> ModelTurn:
    told = _told(request.transcript)
    if turn.expect is not None and turn.expect.search(told) is None:
        raise _fault(script, request, number, turn, f"`expect` ({turn.expect.pattern}) is not found in: {told[:SHOWN]}")
    if turn.fail is not None:
        raise ProviderFailed(turn.fail)
    seen = seen_so_far(request.transcript)
    try:
        calls = tuple(
            ToolCall(
                id=call_id(request, place),
                tool=call.tool,
                arguments=cast(dict[str, Any], substitute(call.arguments, seen)),
            )
            for place, call in enumerate(turn.calls)
        )
        text = substitute_text(turn.text, seen)
    except UnknownPlace as error:
        raise _fault(script, request, number, turn, str(error)) from None
    usage = Usage(turns=1, input_tokens=turn.input_tokens, output_tokens=turn.output_tokens, tool_calls=len(calls))
    return ModelTurn(text=text, calls=calls, model=request.model, usage=usage)


def _told(transcript: Sequence[StoredEntry]) -> str:
    """What the model was told since its last turn: the results of its calls, or the task."""
    told: list[str] = []
    for stored in reversed(transcript):
        match stored.entry:
            case ModelTurn():
                break
            case CallEnded() as ended:
                told.append(text_of(ended))
            case TaskGiven(text=text):
                told.append(text)
            case _:
                pass
    return "\n".join(reversed(told))


def _fault(script: Script, request: TurnRequest, number: int, turn: ScriptedTurn | None, problem: str) -> ScriptFault:
    where = script.file if turn is None else f"{script.file}:{turn.line}"
    return ScriptFault(f"{where}: agent `{request.agent}`, turn {number + 1}: {problem}")
