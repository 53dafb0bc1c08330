"""The tools that the scripted front offers in tests, and what their calls do."""

from enum import StrEnum
from typing import Any

import anyio
from pydantic import BaseModel, ConfigDict, Field

from mcp_server.records import (
    Answer,
    ApprovalSubject,
    CallEnded,
    Choice,
    Ending,
    ImagePart,
    Offer,
    Prompt,
    PromptState,
    Question,
    QuestionOption,
    QuestionSubject,
)
from mcp_server.tools.base import Hints, ToolSpec
from tests.protocol.scripted_front import ScriptedCall, ScriptedTool

RULE = "bash git push allow"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Scene(StrEnum):
    """What a scripted `task` goes through."""

    ASK = "ask"
    THREE = "three"
    BACKGROUND = "background"
    QUESTION = "question"
    OUTRUN = "outrun"
    NEVER = "never"
    OFTEN = "often"
    MISFIT = "misfit"
    CRASH = "crash"


class Path(BaseModel):
    model_config = ConfigDict(extra="forbid")
    filePath: str = Field(description="The file.")


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Play(BaseModel):
    model_config = ConfigDict(extra="forbid")
    scene: Scene


class Close(BaseModel):
    model_config = ConfigDict(extra="forbid")
    expired: bool


class Status(BaseModel):
    model_config = ConfigDict(extra="forbid")
    task_id: str


class State(BaseModel):
    id: str
    state: str
    refused: list[str]


def approval(command: str = "git push") -> ApprovalSubject:
    """May a shell command run?"""
    return ApprovalSubject(
        tool="bash",
        arguments={"command": command},
        wants=(f"bash {command}",),
        because=("agent build: bash * ask (commands change things)",),
        offers=(
            Offer(choice=Choice.ALLOW_ONCE),
            Offer(choice=Choice.ALLOW_SESSION, rules=(RULE,)),
            Offer(choice=Choice.ALLOW_TREE, rules=(RULE,)),
            Offer(choice=Choice.DENY),
        ),
    )


_COLOURS = (QuestionOption(label="red"), QuestionOption(label="blue", description="calm"))
_LETTERS = (QuestionOption(label="a"), QuestionOption(label="b"))
QUESTION = QuestionSubject(
    questions=(
        Question(question="Which one?", header="Which", options=_COLOURS),
        Question(question="Which of these?", options=_LETTERS, multiple=True),
        Question(question="Why?"),
    )
)
ELSEWHERE = Answer(choice=Choice.ALLOW_ONCE, words="from a terminal", by="local", channel="approvals", at=0.0)
PATH = ("build", "general", "explore")


def ending_of(prompt: Prompt) -> tuple[Ending, str]:
    """What a call is told of a closed prompt."""
    match prompt.state:
        case PromptState.ANSWERED if prompt.answer and prompt.answer.choice in (Choice.DENY, Choice.DENY_SESSION):
            return Ending.DENIED_BY_PERSON, "denied by the person"
        case PromptState.ANSWERED if prompt.answer:
            return Ending.DONE, f"{prompt.answer.choice or 'answered'} {prompt.answer.words} via {prompt.answer.channel}".replace("  ", " ")
        case PromptState.EXPIRED:
            return Ending.NOBODY_ANSWERED, "nobody answered in time"
        case _:
            return Ending.NOBODY_COULD_BE_ASKED, f"nobody could be asked: {prompt.reason}"


async def _read(call: ScriptedCall) -> CallEnded:
    path = str(call.arguments["filePath"])
    if path.endswith(".png"):
        return CallEnded(call_id=call.id, tool=call.tool, ending=Ending.DONE, parts=(ImagePart(media_type="image/png", data=PIXEL),))
    return call.end(Ending.DONE, f"the text of {path}")


async def _edit(call: ScriptedCall) -> CallEnded:
    return call.end(Ending.DENIED_BY_RULE, f"denied: edit {call.arguments['filePath']} matches `edit *` deny of agent plan")


async def _task(call: ScriptedCall) -> CallEnded:
    match Scene(call.arguments["scene"]):
        case Scene.NEVER:
            await anyio.sleep_forever()
        case Scene.CRASH:
            return call.end(Ending.FAILED, "the provider failed", _state(call, "error"))
        case Scene.MISFIT:
            return call.end(Ending.DONE, "done", {"state": 1})
        case Scene.BACKGROUND:
            call.front.group.start_soon(_in_background, call)
            return call.end(Ending.DONE, "started", _state(call, "running"))
        case Scene.OUTRUN:
            call.front.group.start_soon(_in_background, call)
            await call.front.until(lambda front: any(other.tool == "read" for other in front.calls.values()))
            return call.end(Ending.DONE, "done without it", _state(call, "completed"))
        case Scene.ASK | Scene.THREE | Scene.QUESTION | Scene.OFTEN as scene:
            return _completed(call, await _asked(call, scene))
    raise AssertionError


async def _asked(call: ScriptedCall, scene: Scene) -> list[Prompt]:
    if scene is Scene.THREE:
        return await _three(call)
    if scene is Scene.QUESTION:
        return [await call.ask(QUESTION, path=PATH)]
    if scene is Scene.OFTEN:
        return [await call.ask(approval(f"git push {n}"), path=PATH) for n in range(12)]
    return [await call.ask(approval(), path=PATH)]


def _completed(call: ScriptedCall, prompts: list[Prompt]) -> CallEnded:
    endings = [ending_of(prompt) for prompt in prompts]
    refused = [text for ending, text in endings if ending is not Ending.DONE]
    return call.end(Ending.DONE, "\n".join(text for _, text in endings), {"id": call.id, "state": "completed", "refused": refused})


async def _three(call: ScriptedCall) -> list[Prompt]:
    prompts: dict[int, Prompt] = {}

    async def one(number: int) -> None:
        prompts[number] = await call.ask(approval(f"git push {number}"), path=PATH)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(one, number)
    return [prompts[number] for number in range(3)]


async def _in_background(call: ScriptedCall) -> None:
    await call.ask(approval(), path=PATH, background=True)


async def _status(call: ScriptedCall) -> CallEnded:
    await call.front.until(lambda front: not any(entry.prompt.background for entry in front.prompts.values()))
    last = [ending_of(prompt)[1] for prompt in call.front.closed if prompt.background]
    return call.end(Ending.DONE, "\n".join(last), _state(call, "completed"))


async def _close(call: ScriptedCall) -> CallEnded:
    if call.arguments["expired"]:
        call.front.close_all(PromptState.EXPIRED)
    else:
        call.front.close_all(PromptState.ANSWERED, ELSEWHERE)
    return call.end(Ending.DONE, "closed")


async def _bash(call: ScriptedCall) -> CallEnded:
    return call.end(*ending_of(await call.ask(approval(), path=("build",))))


def _state(call: ScriptedCall, state: str) -> dict[str, Any]:
    return {"id": call.id, "state": state, "refused": []}


def tools() -> tuple[ScriptedTool, ...]:
    """The tools, in the order listed."""
    return (
        ScriptedTool(spec=_spec("read", Path, Hints(read_only=True, destructive=False, idempotent=True)), script=_read),
        ScriptedTool(spec=_spec("edit", Path, Hints()), script=_edit),
        ScriptedTool(spec=_spec("bash", Nothing, Hints(open_world=True)), script=_bash),
        ScriptedTool(spec=_spec("close_prompts", Close, Hints()), script=_close),
        ScriptedTool(spec=_spec("task", Play, Hints(open_world=True), State), script=_task, shows_background=True),
        ScriptedTool(spec=_spec("task_status", Status, Hints(read_only=True), State), script=_status, shows_background=True),
    )


def _spec(name: str, arguments: type[BaseModel], hints: Hints, output: type[BaseModel] | None = None) -> ToolSpec:
    return ToolSpec(name=name, title=name.title(), description=f"Scripted {name}.", arguments=arguments, hints=hints, output=output)
