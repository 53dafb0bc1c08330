"""Calls that another server makes tasks of, through Remit, in every pairing of eras."""

from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp.client.session import ClientRequestContext
from mcp_types import INTERNAL_ERROR, CreateMessageRequestParams, ElicitResult, ProgressNotificationParams

from mcp_server.elicited import Asked, Replied
from mcp_server.protocol.upstream import underway as calls_module
from mcp_server.protocol.upstream.attending import MOST_A_CALL, Attending
from mcp_server.protocol.upstream.progress import Progress
from mcp_server.protocol.upstream.rounds import MOST_AT_ONCE
from mcp_server.protocol.upstream.task_wire import LEAST_SECONDS, LONGEST_ID, MOST_SECONDS, RELATED, Told, task_in
from mcp_server.protocol.upstream.tasked import Followed, Tasked
from mcp_server.protocol.upstream.underway import Underway
from mcp_server.tools.base import Step
from mcp_server.tools.whose import Whose
from tests.behaviour.stories import NEAR, bounded
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import ERAS, Cell, Era, Person, accepts, stares
from tests.protocol.task_client import KnowsTasks, TaskUser, asked
from tests.upstream.task_server import AT, Job, Refused, Said, TaskServer
from tests.upstream.test_elicitation import NAME, SETTINGS, SLOWLY

each_upstream = pytest.mark.parametrize("theirs", ERAS)
MODERN = Cell(transport="memory", era="2026-07-28")

UNKNOWN = "interrupted, outcome unknown: `play`:"

each_of_ours = pytest.mark.parametrize("ours", ERAS)


@each_of_ours
@each_upstream
async def test_a_task_is_followed_to_its_end_and_its_words_are_progress(ours: Era, theirs: Era, tmp_path: Path) -> None:
    heard = list[str | None]()

    async def works(job: Job) -> None:
        for words in ("reads\x1b", "writes"):
            job.change("working", words)
            await job.seen()
        job.end("worked")

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    world, cell = make_world(tmp_path, settings=SETTINGS), Cell(transport="memory", era=ours)
    server = TaskServer(era=theirs, does=works)
    async with server.running() as way, connect(world, cell, opener=way) as connected:
        result = await bounded(connected.client.call_tool("play__work", {}, progress_callback=hear))
    assert (text_of(result), result.is_error) == ("worked", False)
    assert [words for words in heard if words in ("reads\ufffd", "writes")] == ["reads\ufffd", "writes"]
    assert server.methods.count("tools/call") == 1


@each_of_ours
@each_upstream
async def test_what_a_task_asks_is_put_before_the_person_and_the_answer_goes_to_it(ours: Era, theirs: Era, tmp_path: Path) -> None:
    async def wonders(job: Job) -> None:
        (answer,) = await job.ask(NAME)
        job.end(f"{answer['action']} {answer['content']}")

    world, cell, person = make_world(tmp_path, settings=SETTINGS), Cell(transport="memory", era=ours), Person(accepts(decision="Ada"))
    server = TaskServer(era=theirs, does=wonders)
    async with server.running() as way, connect(world, cell, person=person, timing=SLOWLY, opener=way) as connected:
        result = await bounded(connected.call("play__work"))
    assert text_of(result) == "accept {'decision': 'Ada'}"
    (form,) = person.forms
    assert form.message.startswith("The MCP server `play` asks you, while build uses play__work:")
    assert server.jobs[0].updates == (1 if theirs == "2026-07-28" else 0)


async def test_an_answer_that_a_task_did_not_take_is_told_again_where_it_is_still_wanted_and_nobody_is_asked_twice(tmp_path: Path) -> None:
    """From 2026-07-28 on."""
    meanwhile = list[int]()

    async def wonders(job: Job) -> None:
        (answer,) = await job.ask(NAME)
        job.end(f"{answer['action']}")

    async def refuses_once(job: Job) -> None:
        if job.updates == 1:
            await job.seen()
            meanwhile.append(job.updates)
            raise Refused(INTERNAL_ERROR, "not now")

    server, person = TaskServer(era="2026-07-28", does=wonders, before_update=refuses_once), Person(accepts(decision="Ada"))
    result, _ = await one_call(server, tmp_path, person=person)
    assert text_of(result) == "accept"
    assert (meanwhile, server.jobs[0].updates, len(person.forms)) == ([1], 2, 1)


@each_upstream
async def test_what_becomes_of_a_task_reaches_a_client_with_tasks_in_one_of_remits_own(theirs: Era, tmp_path: Path) -> None:
    told, go_on = anyio.Event(), anyio.Event()

    async def works(job: Job) -> None:
        job.change("working", "reads")
        await job.seen()
        told.set()
        await go_on.wait()
        (answer,) = await job.ask(NAME)
        job.end(f"{answer['content']}")

    world, server, person = make_world(tmp_path, settings=SETTINGS), TaskServer(era=theirs, does=works), Person(stares)
    async with server.running() as way, connect(world, MODERN, person=person, extensions=[KnowsTasks()], opener=way) as connected:
        user = TaskUser(client=connected.client)
        task_id = await bounded(user.task("play__work"))
        await bounded(told.wait())
        working = await user.get(task_id)
        go_on.set()
        ((key, question),) = asked(await user.until(task_id, "input_required")).items()
        await user.update(task_id, {key: {"action": "accept", "content": {"decision": "Ada"}}})
        task = await user.until_over(task_id)
    assert (working["status"], "reads" in working["statusMessage"]) == ("working", True)
    assert "Your name?" in question["params"]["message"]
    assert task_id != server.jobs[0].id
    assert (task["status"], task["result"]["content"][0]["text"]) == ("completed", "{'decision': 'Ada'}")


async def fails(job: Job) -> None:
    job.change("failed", "oh", error={"code": -32603, "message": "out of\n paper"})


async def gives_up(job: Job) -> None:
    await job.seen(1)
    job.change("cancelled", "no\x1b time")


async def does_badly(job: Job) -> None:
    job.end("it did not work", failed=True)


@each_upstream
@pytest.mark.parametrize(
    ("does", "said"),
    [
        (fails, "`play` answered with an error: out of paper"),
        (gives_up, "`play` gave the call up: no\ufffd time. What it was called for was not finished;"),
        (does_badly, "it did not work"),
    ],
)
async def test_a_task_that_comes_to_nothing_says_so_as_its_server_said_it(theirs: Era, does: Any, said: str, tmp_path: Path) -> None:
    result, server = await one_call(TaskServer(era=theirs, does=does, refuses_early=True), tmp_path)
    assert result.is_error
    assert text_of(result).startswith(said)
    assert "tasks/cancel" not in server.methods


def made(**other: Any) -> Callable[[str, Said], Said]:
    """Changes what a call is answered with."""

    def odd(method: str, said: Said) -> Said:
        if method != "tools/call":
            return said
        return {**said, "task": {**said["task"], **other}} if "task" in said else {**said, **other}

    return odd


def seen(**other: Any) -> Callable[[str, Said], Said]:
    """Changes what is told of a task."""
    return lambda method, said: {**said, **other} if method == "tasks/get" else said


def came_to(method: str, said: Said) -> Said:
    if method == "tasks/result":
        return {"content": "this is none"}
    return {**said, "result": {"content": "this is none"}} if method == "tasks/get" and said["status"] == "completed" else said


@each_upstream
@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (made(taskId=""), "what it says of the task is not of the protocol (taskId)"),
        (made(taskId="x" * (LONGEST_ID + 1)), "what it says of the task is not of the protocol (taskId)"),
        (made(taskId="a\r\nb"), "the task has an id that cannot be sent"),
        (made(status="asleep"), "what it says of the task is not of the protocol (status)"),
        (seen(status=["working"]), "what it says of the task is not of the protocol (status)"),
        (seen(taskId="another", status="completed"), "asked about one task, it told of another"),
        (came_to, "what its task came to is no result of a call"),
    ],
)
async def test_what_makes_no_sense_of_a_task_leaves_its_outcome_unknown_and_the_call_is_not_sent_again(
    theirs: Era, odd: Callable[[str, Said], Said], why: str, tmp_path: Path
) -> None:
    async def works(job: Job) -> None:
        await job.seen(1)
        job.end("worked")

    # Up to 2025-11-25 the result may come before anybody looked.
    result, server = await one_call(TaskServer(era=theirs, does=works, odd=odd, refuses_early=True), tmp_path)
    assert text_of(result).startswith(f"interrupted, outcome unknown: `play`: its answer cannot be used: {why}, after the call was sent.")
    assert server.methods.count("tools/call") == 1


@pytest.mark.parametrize("wished", [None, -1, float("nan"), float("inf"), 10**200])
def test_a_wish_for_looks_that_makes_no_sense_is_none_and_every_other_one_is_kept_within_bounds(wished: float | None) -> None:
    def pause(name: str, interval: float | None) -> float:
        return task_in({"taskId": "one", "status": "working", name: interval}).pause(7.0)

    for name in ("pollInterval", "pollIntervalMs"):
        assert pause(name, wished) == (MOST_SECONDS if wished == 10**200 else 7.0)
        assert (pause(name, 0), pause(name, 500), pause(name, 10**9)) == (LEAST_SECONDS, 0.5, MOST_SECONDS)


@each_upstream
async def test_who_gives_a_call_up_gives_its_task_up(theirs: Era, tmp_path: Path) -> None:
    begun = anyio.Event()

    async def works(job: Job) -> None:
        await job.seen(1)
        begun.set()

    world, server = make_world(tmp_path, settings=SETTINGS), TaskServer(era=theirs, does=works)
    async with server.running() as way, connect(world, NEAR, opener=way) as connected:
        async with anyio.create_task_group() as group:
            group.start_soon(connected.client.call_tool, "play__work")
            await bounded(begun.wait())
            group.cancel_scope.cancel()
        await bounded(server.jobs[0].over.wait())
    assert server.jobs[0].status == "cancelled"
    assert server.methods.count("tasks/cancel") == 1


async def never_ends(job: Job) -> None:
    await job.seen(1)


@each_upstream
async def test_a_task_that_never_ends_is_left_and_given_up_after_the_time_of_a_call(
    theirs: Era, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    underway = list[Underway]()

    def noted(**given: Any) -> Underway:
        underway.append(Underway(**given))
        return underway[-1]

    async def works(job: Job) -> None:
        await job.seen(1)
        underway[-1].scope.deadline = -inf

    monkeypatch.setattr(calls_module, "Underway", noted)
    result, server = await one_call(TaskServer(era=theirs, does=works), tmp_path)
    assert text_of(result).startswith(f"{UNKNOWN} it did not answer within 300 s, after the call was sent.")
    assert server.jobs[0].status == "cancelled"


@pytest.mark.parametrize(("support", "method"), [("optional", "tasks/get"), ("forbidden", None), (None, None)])
async def test_up_to_2025_11_25_a_call_is_a_task_where_the_tool_takes_it_as_one(
    support: str | None, method: str | None, tmp_path: Path
) -> None:
    result, server = await one_call(TaskServer(era="2025-11-25", support=support), tmp_path)
    assert text_of(result) == ("done at once" if method is None else "done ")
    assert (method is None) == (server.jobs == [])


async def test_what_is_over_soon_does_not_take_as_long_as_its_server_wants_between_two_looks(tmp_path: Path) -> None:
    async def works(job: Job) -> None:
        await job.seen()
        job.end("worked")

    def seldom(method: str, said: Said) -> Said:
        return {**said, "pollIntervalMs": 10**9} if "taskId" in said else said

    server = TaskServer(era="2026-07-28", does=works, odd=seldom)
    result, _ = await one_call(server, tmp_path)
    assert text_of(result) == "worked"


async def test_a_server_that_will_not_be_asked_so_often_is_asked_again_later(tmp_path: Path) -> None:
    async def works(job: Job) -> None:
        await job.seen(1)
        job.end("worked")

    def busy_once(method: str, said: Said) -> Said:
        if method == "tasks/get" and server.methods.count(method) == 1:
            raise Refused(-32050, "too many requests")
        return said

    server = TaskServer(era="2026-07-28", does=works, odd=busy_once)
    result, _ = await one_call(server, tmp_path)
    assert text_of(result) == "worked"


async def test_a_task_that_asks_again_and_again_is_given_up(tmp_path: Path) -> None:
    """From 2026-07-28 on. Up to then what a connection asks is counted, whatever it is about."""
    looks = count()

    def asks_on(method: str, said: Said) -> Said:
        form = {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}}
        asks = {f"{next(looks)}-{at}": {"method": "elicitation/create", "params": form} for at in range(MOST_AT_ONCE)}
        return {**said, "status": "input_required", "inputRequests": asks} if method == "tasks/get" else said

    result, server = await one_call(TaskServer(era="2026-07-28", does=never_ends, odd=asks_on), tmp_path)
    assert f"`play` asked for input {MOST_A_CALL} times and wanted more; its task was given up." in text_of(result)
    assert server.jobs[0].status == "cancelled"


async def test_a_task_that_wants_what_no_server_is_given_is_given_up(tmp_path: Path) -> None:
    turn = CreateMessageRequestParams(messages=[], max_tokens=1).model_dump(by_alias=True, mode="json", exclude_none=True)
    odd = seen(status="input_required", inputRequests={"one": {"method": "sampling/createMessage", "params": turn}})
    result, server = await one_call(TaskServer(era="2026-07-28", does=never_ends, odd=odd), tmp_path)
    assert text_of(result).startswith("`play` wants to use a model of its client's (sampling); Remit lends no server any.")
    assert server.jobs[0].status == "cancelled"


async def one_call(server: TaskServer, tmp_path: Path, *, person: Person | None = None) -> tuple[Any, TaskServer]:
    world = make_world(tmp_path, settings=SETTINGS)
    async with server.running() as way, connect(world, NEAR, person=person, timing=SLOWLY, opener=way) as connected:
        return await bounded(connected.call("play__work")), server


async def test_what_a_shared_server_says_of_a_task_goes_to_whose_it_is() -> None:
    asking, tasked, heard = Attending("play"), Tasked(), list[str]()

    class Somebody:
        def __init__(self, name: str) -> None:
            self.name = name

        async def __call__(self, asked: Asked) -> Replied:
            heard.append(f"{self.name} is asked")
            return Replied(action="decline")

        def refuse(self, why: str) -> None:
            raise AssertionError(why)

        async def step(self, step: Step) -> None:
            heard.append(f"{self.name} hears {step.done}")

    def underway(name: str) -> Any:
        return asking.calls.begun(Whose(principal=name, workspace="/w", root=f"ses_{name}"), Somebody(name), 60.0)

    def followed(name: str, call: Underway) -> Followed:
        return Followed(task_id=f"of {name}", call=call, progress=Progress(Somebody(name).step), token=f"token of {name}")

    context = cast(ClientRequestContext, None)
    with underway("ann") as anns, underway("bob") as bobs:
        ann, bob = followed("ann", anns), followed("bob", bobs)
        with tasked.follow(ann), tasked.follow(bob):
            with pytest.raises(ValueError, match="same id"), tasked.follow(ann):
                pass
            named = tasked.call_of({RELATED: {"taskId": "of bob"}})
            assert await asking.heard(context, NAME, named) == ElicitResult(action="decline")
            await tasked.progressed(ProgressNotificationParams(progress_token=bob.token, progress=3))
            asleep, awake = ann.woken, bob.woken
            await tasked.changed(Told(task_id="of bob"))
            assert (asleep.is_set(), awake.is_set()) == (False, True)
            assert [tasked.call_of(meta) for meta in (None, {RELATED: "of bob"}, {RELATED: {"taskId": "of nobody"}})] == [None] * 3
    assert heard == ["bob is asked", "bob hears 3.0"]
    assert tasked.call_of({RELATED: {"taskId": "of bob"}}) is None


async def test_up_to_2025_11_25_news_of_a_task_has_it_looked_at_and_its_progress_is_passed_on(tmp_path: Path) -> None:
    heard = list[float]()

    async def works(job: Job) -> None:
        await job.seen(1)
        await server.tell("notifications/progress", {"progressToken": server.tokens[0], "progress": 5, "total": 9})
        job.interval = 10**9
        job.change("working", "nearly")
        await job.seen(1)
        job.end("worked")
        await server.tell(
            "notifications/tasks/status", {"taskId": job.id, "status": "completed", "createdAt": AT, "lastUpdatedAt": AT, "ttl": 1}
        )

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    world, server = make_world(tmp_path, settings=SETTINGS), TaskServer(era="2025-11-25", does=works, refuses_early=True)
    async with server.running() as way, connect(world, NEAR, opener=way) as connected:
        result = await bounded(connected.client.call_tool("play__work", {}, progress_callback=hear))
    assert text_of(result) == "worked"
    assert 5 in heard
