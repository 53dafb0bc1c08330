"""What several tests tell: a tree of three sessions whose last one asks, and how to look at what came of it."""

import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp_types import CallToolResult

from mcp_server.policy.verdicts import SessionId
from mcp_server.protocol.timing import Timing
from mcp_server.records import Answer, Choice, Prompt, PromptState, RunState
from mcp_server.sessions.answers import close_with
from mcp_server.store.protocol import Store
from tests.behaviour.world import LOOK, Connected, Script, World, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import ERAS, Cell

LEAD = """---
description: Leads, and sends others.
mode: subagent
permission:
  task:
    "*": allow
---
You lead.
"""

WRITER = """---
description: Writes files.
mode: subagent
---
You write.
"""

NEAR = Cell(transport="memory", era="2025-11-25")
"""Where nothing about the way a client is connected matters."""

each_era = pytest.mark.parametrize("cell", [Cell(transport="memory", era=era) for era in ERAS], ids=str)

TEAM = {"lead": LEAD, "writer": WRITER}

PATH = "build › lead › writer"


def agent(*lines: str, mode: str = "subagent") -> str:
    """A definition with these lines in its front matter."""
    return "\n".join(["---", "description: Does what it is told.", f"mode: {mode}", *lines, "---", "You work.", ""])


# ---- scripts ------------------------------------------------------------------------------------


def calls(*wanted: tuple[str, Mapping[str, Any]], text: str = "") -> dict[str, Any]:
    """A turn with these calls."""
    return {"text": text, "calls": [{"tool": tool, "arguments": dict(arguments)} for tool, arguments in wanted]}


def says(text: str) -> dict[str, Any]:
    """A turn that ends the run."""
    return {"text": text}


def write(path: str = "out.txt", content: str = "hello") -> tuple[str, dict[str, Any]]:
    return ("write", {"filePath": path, "content": content})


def send(name: str, prompt: str = "do it", **more: Any) -> tuple[str, dict[str, Any]]:
    return ("task", errand(name, prompt, **more))


def errand(name: str, prompt: str = "do it", **more: Any) -> dict[str, Any]:
    """Arguments of `task`."""
    return {"description": "a job", "prompt": prompt, "subagent_type": name, **more}


def team(*turns: dict[str, Any]) -> Script:
    """`lead` sends `writer` and passes its words on; `writer` takes these turns, or writes one file."""
    own = list(turns) or [calls(write()), says("writer: {{results[0].text}}")]
    return {"lead": [calls(send("writer")), says("lead: {{results[0].text}}")], "writer": own}


def team_world(folder: Path, *turns: dict[str, Any], settings: Mapping[str, Any] | None = None) -> World:
    return make_world(folder, script=team(*turns), agents=TEAM, settings=settings)


# ---- looking ------------------------------------------------------------------------------------


def content_of(result: CallToolResult) -> dict[str, Any]:
    assert result.structured_content is not None, result
    return result.structured_content


def state_of(result: CallToolResult) -> str:
    return content_of(result)["state"]


def refused_in(result: CallToolResult) -> list[tuple[str, str, str]]:
    """Who, which tool, how it ended."""
    return [(call["agent_path"], call["tool"], call["ending"]) for call in content_of(result)["refused"]]


T = TypeVar("T")


async def bounded(wait: Awaitable[T], seconds: float = LONG) -> T:
    with anyio.fail_after(seconds):
        return await wait


async def until_ended(connected: Connected, task_id: str) -> CallToolResult:
    """Poll as a model would. Bound it."""
    while True:
        result = await connected.call("task_status", task_id=task_id, wait_seconds=15)
        if result.is_error or state_of(result) not in ("running", "waiting"):
            return result


async def until_told(connected: Connected, tool: str, **arguments: Any) -> CallToolResult:
    """Make the call, and the same call again as long as it says that it goes on: a busy machine may take longer to decide it than the
    request stays.
    """
    with anyio.fail_after(LONG):
        while True:
            told = await connected.call(tool, **arguments)
            report: dict[str, Any] = told.structured_content or {}
            if "is not done yet" not in text_of(told) and report.get("state") != "running":
                return told


@contextmanager
def leaving_soon(timing: Timing) -> Generator[None]:
    """Requests that wait for a person leave after a moment, until the end of the block, and those after it stay. What the server holds for
    frozen may be changed by a test.
    """
    object.__setattr__(timing, "patience", 0.2)
    try:
        yield
    finally:
        object.__setattr__(timing, "patience", 2 * LONG)


async def until_cancelled(connected: Connected, task_id: str) -> CallToolResult:
    """Cancel it, and once more if the call had to leave before the whole tree had ended."""
    with anyio.fail_after(LONG):
        while True:
            told = await connected.call("task_cancel", task_id=task_id)
            if state_of(told) not in ("running", "waiting") and await ended_below(connected.store, task_id):
                return told


async def ended_below(store: Store, task_id: str) -> bool:
    """Has every run of this session and of those below it ended?"""
    for run in await store.unfinished_runs():
        if task_id in [session.id for session in await store.chain(run.session_id)]:
            return False
    return True


async def until(what: Callable[[], Awaitable[bool]], seconds: float = LONG) -> None:
    """Look until it is so. Only for what another process does, or the clock: nothing rings for those."""
    with anyio.fail_after(seconds):
        while not await what():  # noqa: ASYNC110 - what is looked for is in another process, or the clock's
            await anyio.sleep(LOOK)


async def at_rest(connected: Connected, task_id: str) -> None:
    """Wait until the child waits for another. Its own child may be ahead of it: what that asks can be open before this is written."""

    async def rests() -> bool:
        run = await connected.store.latest_run(SessionId(task_id))
        return run is not None and run.state is RunState.WAITING

    await until(rests)


async def closed_prompt(store: Store, state: PromptState = PromptState.EXPIRED) -> None:
    async def found() -> bool:
        return bool(await store.prompts(state=state))

    await until(found)


LIMITS_OF_TIME = (0.5, 5.0, 50.0)
"""Seconds that a run may take, for tests of that limit which need something to have happened before: the first is enough where the
machine has time, and what a busy one spoils is tried again with the next.
"""


# ---- a person in a terminal -----------------------------------------------------------------------


def typed(choice: Choice | None, words: str = "") -> Answer:
    """An answer as `remit approvals` makes it."""
    return Answer(choice=choice, words=words, by="local", channel="approvals", at=time.time())


async def answer_all(store: Store, prompts: Sequence[Prompt], choice: Choice = Choice.ALLOW_ONCE) -> None:
    for prompt in prompts:
        assert await close_with(store, prompt, typed(choice))


def release(world: World, event: str) -> None:
    """Let the turns go on that a script holds by this event."""
    (world.places.config / f"script.yaml.{event}").touch()


@dataclass(slots=True)
class Settable:
    """A clock that people set."""

    ahead: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead
