"""Whole runs on providers' wire formats: a model is told what it does wrong, and goes on; who answered and what it cost is kept."""

import json
from pathlib import Path
from typing import Any

import anyio
from starlette.responses import Response

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import ModelTurn
from tests.behaviour.stories import NEAR, agent, bounded, content_of, errand
from tests.behaviour.world import LOOK, Connected, World, connect, make_world
from tests.bounds import LONG
from tests.models.wire_forms import OUT, PLAIN, READ, WRITTEN, Anthropic, Compatible, Form, Given, OpenAIChat
from tests.models.wire_server import WireServer, wire_server


def provided(server: WireServer, *forms: Form) -> dict[str, Any]:
    """Settings that reach these providers at the server."""
    return {form.provider: {"base_url": server.address + form.suffix} for form in forms}


def world_of(folder: Path, server: WireServer, form: Form, *others: Form, **settings: Any) -> World:
    """A world whose only calls of a model are the run's: nobody names sessions, so answers are given in the order laid down."""
    reader = agent("permission:", "  read: allow")
    model = f"{form.provider}:{form.model}"
    said = {"model": model, "providers": provided(server, form, *others), "agents": {"title": {"disable": True}}, **settings}
    return make_world(folder, settings=said, agents={"reader": reader})


def read(id: str, path: str) -> Given:
    return Given(calls=[(id, "read", {"filePath": path})])


async def test_malformed_arguments_are_told_to_the_model_and_the_run_goes_on(tmp_path: Path) -> None:
    form = OpenAIChat()
    answers = [
        form.answer(given, stream=False)
        for given in (Given(calls=[("m1", "read", '{"filePath": ')]), read("m2", "README.md"), Given(text="It is a sample."))
    ]
    async with wire_server(*answers) as server, connect(world_of(tmp_path, server, form), NEAR) as connected:
        report = content_of(await bounded(connected.call("task", **errand("reader"))))
    assert (report["state"], report["result"]) == ("completed", "It is a sample.")
    told = [message for message in server.bodies[1]["messages"] if message["role"] == "tool"]
    assert told[0]["tool_call_id"] == "m1"
    assert "`read` needs a JSON object of arguments; what came was none, and nothing was done" in told[0]["content"]
    assert "A sample." in json.dumps(server.bodies[2]["messages"][-1])


async def test_the_caller_is_told_what_a_run_used_and_cost(tmp_path: Path) -> None:
    form = Anthropic()
    answers = [form.answer(given, stream=True) for given in (read("a", "README.md"), Given(text="Done."))]
    async with wire_server(*answers) as server, connect(world_of(tmp_path, server, form), NEAR) as connected:
        usage = content_of(await bounded(connected.call("task", **errand("reader"))))["usage"]
    assert (usage["turns"], usage["tool_calls"], usage["cached_tokens"]) == (2, 1, 2 * READ)
    assert (usage["input_tokens"], usage["output_tokens"]) == (2 * (PLAIN + READ + WRITTEN), 2 * OUT)
    assert usage["cost_usd"] > 0
    assert usage["unpriced"] == 0


async def test_the_cost_of_a_run_on_a_model_nobody_knows_is_not_known(tmp_path: Path) -> None:
    form = Compatible()
    answer = form.answer(Given(text="Done."), stream=False)
    async with wire_server(answer) as server, connect(world_of(tmp_path, server, form), NEAR) as connected:
        usage = content_of(await bounded(connected.call("task", **errand("reader"))))["usage"]
    assert (usage["cost_usd"], usage["unpriced"]) == (None, 1)


async def test_a_fallback_is_named_in_transcript_and_audit(tmp_path: Path) -> None:
    first, second = OpenAIChat(), Compatible()
    answers: list[Response] = [first.error(401, "the key is wrong", {}), second.answer(Given(text="I help out."), stream=False)]
    async with wire_server(*answers) as server:
        world = world_of(tmp_path, server, first, second, model_fallback="lab:small")
        async with connect(world, NEAR) as connected:
            report = content_of(await bounded(connected.call("task", **errand("reader"))))
            entries = await connected.store.transcript(SessionId(report["task_id"]))
            audit = await connected.audit()
    assert report["result"] == "I help out."
    (turn,) = [stored.entry for stored in entries if isinstance(stored.entry, ModelTurn)]
    assert turn.model == "lab:small"
    why = "`openai:gpt-5-mini` failed: provider `openai`, model `gpt-5-mini`: HTTP 401: the key is wrong"
    assert turn.instead == why
    assert [event.outcome for event in audit if "answered:" in event.outcome] == [f"lab:small answered: {why}"]


async def test_an_agents_own_fallback_goes_before_the_settings(tmp_path: Path) -> None:
    first, second = OpenAIChat(), Compatible()
    answers: list[Response] = [first.error(400, "no", {}), second.answer(Given(text="Mine."), stream=False)]
    async with wire_server(*answers) as server:
        agents = {"reader": {"fallback": "lab:tiny"}, "title": {"disable": True}}
        world = world_of(tmp_path, server, first, second, model_fallback="lab:small", agents=agents)
        async with connect(world, NEAR) as connected:
            await bounded(connected.call("task", **errand("reader")))
    assert server.bodies[1]["model"] == "tiny"


async def test_a_refusal_ends_the_run_and_nobody_else_is_asked(tmp_path: Path) -> None:
    first, second = OpenAIChat(), Compatible()
    answer = first.answer(Given(text="I will not.", refused=True), stream=False)
    async with wire_server(answer) as server:
        world = world_of(tmp_path, server, first, second, model_fallback="lab:small")
        async with connect(world, NEAR) as connected:
            report = content_of(await bounded(connected.call("task", **errand("reader"))))
    assert (report["state"], len(server.bodies)) == ("error", 1)
    assert report["error"] == "the provider held the answer back: its model refused: I will not."


async def test_a_session_is_named_for_its_first_task_only(tmp_path: Path) -> None:
    form = Compatible()
    answers = [form.answer(Given(text="Done."), stream=False) for _ in range(6)]
    async with wire_server(*answers) as server:
        world = world_of(tmp_path, server, form, agents={})
        async with connect(world, NEAR) as connected:
            await bounded(connected.call("task", **errand("reader", "the first")))
            await until_named(connected)
            for prompt in ("the second", "the third"):
                await bounded(connected.call("task", **errand("reader", prompt)))
        assert len(server.bodies) == 4  # a turn for each task, and the name


async def until_named(connected: Connected) -> None:
    """Nobody waits for a name but this test."""
    with anyio.fail_after(LONG):
        while True:
            if any(session.title for session in await connected.store.sessions(LOCAL.key) if session.parent_id is None):
                return
            await anyio.sleep(LOOK)
