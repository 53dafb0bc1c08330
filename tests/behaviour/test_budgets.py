"""Budgets of sessions and of trees: the person is asked to extend them, and a run that may not go on ends with what it has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import CallToolResult

from mcp_server.principal import LOCAL
from mcp_server.records import BudgetSubject, Choice, Prompt, PromptState, RunState
from mcp_server.store.protocol import Store
from tests.behaviour.server_process import short_leases
from tests.behaviour.stories import (
    NEAR,
    TEAM,
    agent,
    answer_all,
    bounded,
    calls,
    content_of,
    each_era,
    errand,
    says,
    state_of,
    team,
    until_cancelled,
    until_ended,
)
from tests.behaviour.test_restart import kill, process
from tests.behaviour.world import Connected, World, connect, make_world
from tests.bounds import LONG
from tests.protocol.connect import Cell, Person, decides

LOOKS = calls(("read", {"filePath": "src/a.py"}), text="so far")
LISTS = calls(("list", {"path": "."}), text="so far")
FOUR_TURNS = [LOOKS, LISTS, LOOKS, says("done")]
WORKER = {"worker": agent()}
PRICED = {"input_tokens": 60, "output_tokens": 40}


def world_of(folder: Path, turns: list[dict[str, Any]] | None = None, agents: Mapping[str, str] = WORKER, **settings: Any) -> World:
    turns = FOUR_TURNS if turns is None else turns
    return make_world(folder, script={"worker": turns}, agents=agents, settings=settings)


async def started(connected: Connected) -> str:
    result = await bounded(connected.call("task", **errand("worker", background=True)))
    return content_of(result)["task_id"]


async def budget_prompt(store: Store, count: int = 1) -> Prompt:
    """The newest of so many prompts about a budget, once it is open."""
    with anyio.fail_after(LONG):
        while True:
            found = [prompt for prompt in await store.prompts() if isinstance(prompt.subject, BudgetSubject)]
            if len(found) >= count and found[-1].state is PromptState.OPEN:
                return found[-1]
            await anyio.sleep(0.01)


async def test_a_run_at_its_budget_waits_and_goes_on_once_the_person_extends_it(tmp_path: Path) -> None:
    async with connect(world_of(tmp_path, session_budget={"steps": 2}), NEAR) as connected:
        task_id = await started(connected)
        prompt = await budget_prompt(connected.store)
        waiting = await bounded(connected.call("task_status", task_id=task_id))
        await answer_all(connected.store, [prompt])
        result = await bounded(until_ended(connected, task_id))
        told = [event.outcome for event in await connected.audit() if event.ref == prompt.id]
    assert prompt.subject == BudgetSubject(scope="session", resource="steps", allowed=2, spent=2, more=2)
    assert state_of(waiting) == "waiting"
    assert content_of(waiting)["waiting_for"][0].startswith(
        "build › worker: the session's budget is used up (2 model turns); extend it by 2 model turns?"
    )
    assert (state_of(result), content_of(result)["result"]) == ("completed", "done")
    assert told == ["opened", "answered: allow_once"]


async def test_an_extension_is_used_up_as_well_and_the_person_is_asked_again(tmp_path: Path) -> None:
    async with connect(world_of(tmp_path, session_budget={"steps": 1}), NEAR) as connected:
        task_id = await started(connected)
        allowed: list[float] = []
        for count in (1, 2, 3):
            prompt = await budget_prompt(connected.store, count)
            assert isinstance(prompt.subject, BudgetSubject)
            allowed.append(prompt.subject.allowed)
            await answer_all(connected.store, [prompt])
        result = await bounded(until_ended(connected, task_id))
    assert allowed == [1, 2, 3]
    assert state_of(result) == "completed"


async def test_a_person_who_does_not_extend_it_ends_the_run_with_what_it_has(tmp_path: Path) -> None:
    async with connect(world_of(tmp_path, session_budget={"steps": 1}), NEAR) as connected:
        task_id = await started(connected)
        await answer_all(connected.store, [await budget_prompt(connected.store)], Choice.DENY)
        result = await bounded(until_ended(connected, task_id))
    assert (state_of(result), content_of(result)["result"]) == ("error", "so far")
    assert content_of(result)["error"] == "stopped at its limit: the session's budget of 1 model turns; the person did not extend it"


@pytest.mark.parametrize(
    ("agents", "settings"),
    [({"worker": agent("prompts: deny")}, {}), (WORKER, {"mode": "dontAsk"})],
    ids=["the agent disturbs nobody", "nobody is asked in this mode"],
)
async def test_where_nobody_can_be_asked_the_run_ends_with_what_it_has(
    agents: Mapping[str, str], settings: dict[str, Any], tmp_path: Path
) -> None:
    async with connect(world_of(tmp_path, agents=agents, session_budget={"steps": 1}, **settings), NEAR) as connected:
        result = await bounded(connected.call("task", **errand("worker")))
        prompts = await connected.store.prompts()
    assert (state_of(result), content_of(result)["result"], prompts) == ("error", "so far", ())
    assert content_of(result)["error"].endswith("nobody can be asked to extend it")


async def test_a_question_about_a_budget_that_nobody_answers_in_time_ends_the_run(tmp_path: Path) -> None:
    world = world_of(tmp_path, session_budget={"steps": 1}, limits={"prompt_deadline": 0.3})
    async with connect(world, NEAR) as connected:
        assert connected.parts is not None
        task_id = await started(connected)
        prompt = await budget_prompt(connected.store)
        await connected.parts.desk.show(prompt.id)
        result = await bounded(until_ended(connected, task_id))
    assert state_of(result) == "error"
    assert "nobody extended it: the question was shown and not answered within 0.3 s" in content_of(result)["error"]


@each_era
async def test_the_clients_form_asks_about_a_budget_in_its_own_words(cell: Cell, tmp_path: Path) -> None:
    person = Person(decides("allow_once"))
    async with connect(world_of(tmp_path, session_budget={"steps": 3}), cell, person=person) as connected:
        result = await bounded(connected.call("task", **errand("worker")))
    assert state_of(result) == "completed"
    (form,) = person.forms
    assert form.message.splitlines() == [
        "build › worker has used up a budget and waits:",
        "Allowed to this session: 3 model turns",
        "Used so far: 3 model turns",
    ]


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"tokens": 150}, "150 tokens"),
        ({"seconds": 0.001}, "0 s of work"),
        ({"steps": 2}, "2 model turns"),
    ],
    ids=str,
)
async def test_each_resource_is_counted(budget: dict[str, float], words: str, tmp_path: Path) -> None:
    turns = [{**turn, "usage": PRICED} for turn in FOUR_TURNS]
    async with connect(world_of(tmp_path, turns, session_budget=budget), NEAR) as connected:
        task_id = await started(connected)
        await answer_all(connected.store, [await budget_prompt(connected.store)], Choice.DENY)
        result = await bounded(until_ended(connected, task_id))
    assert f"the session's budget of {words}" in content_of(result)["error"]


async def test_questions_are_counted_and_those_about_budgets_are_not(tmp_path: Path) -> None:
    asks = [calls(("bash", {"command": f"touch {name}"})) for name in ("a", "b", "c")]
    world = world_of(tmp_path, [*asks, says("done")], session_budget={"prompts": 2})
    async with connect(world, NEAR) as connected:
        task_id = await started(connected)
        await answer_all(connected.store, await connected.open_prompts())
        with anyio.fail_after(LONG):
            while len(await connected.store.prompts()) < 2:  # noqa: ASYNC110 - nothing rings for a prompt alone
                await anyio.sleep(0.01)
        await answer_all(connected.store, await connected.open_prompts())
        await answer_all(connected.store, [await budget_prompt(connected.store)])
        with anyio.fail_after(LONG):
            while len(await connected.store.prompts()) < 4:  # noqa: ASYNC110 - likewise
                await anyio.sleep(0.01)
        await answer_all(connected.store, await connected.open_prompts())
        result = await bounded(until_ended(connected, task_id))
        kinds = [prompt.subject.kind for prompt in await connected.store.prompts()]
    assert state_of(result) == "completed"
    assert kinds == ["approval", "approval", "budget", "approval"]


# ---- trees ------------------------------------------------------------------------------------------


async def test_a_tree_shares_one_budget_and_is_asked_about_once(tmp_path: Path) -> None:
    # One turn more than all may take together: whoever is ahead of the others cannot be done before they ask.
    world = world_of(tmp_path, [LOOKS, LISTS, LOOKS, LISTS, says("done")], tree_budget={"steps": 4})
    async with connect(world, NEAR) as connected:
        tasks = [await started(connected) for _ in range(3)]
        await budget_prompt(connected.store)

        async def all_wait() -> bool:
            runs = await connected.store.unfinished_runs()
            return len(runs) == 3 and all(run.state is RunState.WAITING for run in runs)

        with anyio.fail_after(LONG):
            while not await all_wait():  # noqa: ASYNC110 - nothing rings for a run that rests
                await anyio.sleep(0.01)
        prompts = await connected.store.prompts()
        await answer_all(connected.store, prompts, Choice.DENY)
        results = [await bounded(until_ended(connected, task_id)) for task_id in tasks]
    assert len(prompts) == 1
    assert [state_of(result) for result in results] == ["error"] * 3
    assert all("the tree's budget of 4 model turns" in content_of(result)["error"] for result in results)


async def test_a_grandchild_counts_for_the_tree_and_not_for_its_parents_session(tmp_path: Path) -> None:
    script = team(LOOKS, LOOKS, says("written"))
    world = make_world(tmp_path, script=script, agents=TEAM, settings={"session_budget": {"steps": 3}, "tree_budget": {"steps": 4}})
    async with connect(world, NEAR) as connected:
        begun = await bounded(connected.call("task", **errand("lead", background=True)))
        prompt = await budget_prompt(connected.store)
        await answer_all(connected.store, [prompt])
        result = await bounded(until_ended(connected, content_of(begun)["task_id"]))
    assert isinstance(prompt.subject, BudgetSubject)
    assert (prompt.subject.scope, prompt.subject.spent, prompt.session_path) == ("tree", 4, ("build", "lead"))
    assert state_of(result) == "completed"


async def extended_to_its_end(connected: Connected, task_id: str) -> CallToolResult:
    """How often it is asked again hangs on how far it was ahead."""
    while True:
        await answer_all(connected.store, await connected.store.prompts(state=PromptState.OPEN))
        result = await connected.call("task_status", task_id=task_id)
        if state_of(result) not in ("running", "waiting"):
            return result


async def test_a_question_of_the_tree_outlives_the_run_that_asked_it(tmp_path: Path) -> None:
    script = {"worker": FOUR_TURNS}
    world = make_world(tmp_path, script=script, agents=WORKER, settings={"tree_budget": {"steps": 2}})
    async with connect(world, NEAR) as connected:
        tasks = [await started(connected) for _ in range(2)]
        first = await budget_prompt(connected.store)
        other = next(task_id for task_id in tasks if task_id != first.session_id)
        await until_cancelled(connected, first.session_id)
        await answer_all(connected.store, [await budget_prompt(connected.store, 2)])
        result = await bounded(extended_to_its_end(connected, other))
        prompts = await connected.store.prompts()
    assert state_of(result) == "completed"
    assert [prompt.state for prompt in prompts] == [PromptState.WITHDRAWN, *[PromptState.ANSWERED] * (len(prompts) - 1)]


# ---- restarts and resuming ----------------------------------------------------------------------------


async def test_an_extension_outlives_kill_9_and_so_does_the_question(tmp_path: Path) -> None:
    world = world_of(tmp_path, session_budget={"steps": 2})
    async with process(world) as first:
        task_id = await started(first)
        prompt = await budget_prompt(first.store)
        kill(world)
    async with connect(world, NEAR, limits=short_leases) as second:
        assert [one.id for one in await second.open_prompts()] == [prompt.id]
        await answer_all(second.store, [prompt])
        result = await bounded(until_ended(second, task_id))
        assert len(await second.store.prompts()) == 1
    assert state_of(result) == "completed"


async def test_a_session_that_ended_at_its_budget_is_asked_about_anew_when_it_is_given_more(tmp_path: Path) -> None:
    async with connect(world_of(tmp_path, session_budget={"steps": 1}), NEAR) as connected:
        task_id = await started(connected)
        await answer_all(connected.store, [await budget_prompt(connected.store)], Choice.DENY)
        await bounded(until_ended(connected, task_id))
        await bounded(connected.call("task", **errand("worker", "more", task_id=task_id, background=True)))
        await answer_all(connected.store, [await budget_prompt(connected.store, 2)], Choice.DENY)
        result = await bounded(until_ended(connected, task_id))
        sessions = await connected.store.sessions(LOCAL.key)
    assert state_of(result) == "error"
    assert len(sessions) == 2
