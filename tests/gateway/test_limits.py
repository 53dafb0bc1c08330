"""How much the people of a gateway may use: requests, runs at once, tokens and cost of models in a day; each alone, and a team together."""

import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from mcp_server.principal import API_KEYS, TokenPrincipal
from mcp_server.records import RunRecord, Usage
from mcp_server.sessions.allowance import charge_of
from mcp_server.sessions.retention import DAY, Keeping, prune
from mcp_server.store.ledger import Charge, DayUse, day_of
from mcp_server.telemetry.base import LimitTold, Silent
from tests.behaviour.gated import visiting
from tests.behaviour.stories import agent, calls, content_of, errand, says, send, state_of, until
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.gateway.authorization import issuing
from tests.gateway.inside import Inside, inside
from tests.gateway.speaking import Speaker
from tests.protocol.connect import ERAS, Era

ERA: Era = "2026-07-28"
NIGHTLY = json.dumps(["person", API_KEYS, "nightly"])
MACHINES = json.dumps(["team", "machines"])
NOON = 1_800_014_400.0
"""Of a day of UTC: no test of a day begins close to its end."""

USED = {"input_tokens": 60, "output_tokens": 40}


def used(tokens: int) -> dict[str, int]:
    return {"input_tokens": 0, "output_tokens": tokens}


LOOKS = {**calls(("read", {"filePath": "README.md"}), text="so far"), "usage": USED}
DONE = {**says("done"), "usage": USED}
HELD = {**says("done"), "await": "go", "usage": USED}
SCRIPT: dict[str, list[dict[str, Any]]] = {
    "worker": [LOOKS, LOOKS, DONE, DONE],
    "holder": [LOOKS, HELD],
    "waiter": [{**LOOKS, "await": "go"}, DONE],
    "talker": [{**LOOKS, "usage": {"input_tokens": 900, "output_tokens": 0}}, {**says("word " * 500), "usage": used(1)}],
    "compaction": [{**says("gist"), "usage": used(10)}],
    "summary": [{**says("words"), "usage": used(5)}],
    "lead": [calls(send("holder")), says("lead: {{results[0].text}}")],
}
AGENTS = {"worker": agent(), "holder": agent(), "waiter": agent(), "talker": agent(), "lead": agent("permission: {task: allow}")}


class Told(Silent):
    """Hears which limits were reached."""

    def __init__(self) -> None:
        self.limits: list[LimitTold] = []

    def limited(self, told: LimitTold) -> None:
        self.limits.append(told)


@asynccontextmanager
async def limited(folder: Path, ear: Told | None = None, **said: Any) -> AsyncGenerator[Inside]:
    """A gateway for keys, at noon."""
    world = make_world(folder / "world", script=SCRIPT, agents=AGENTS, settings={"limits": {"context_tokens": 1000, "inline_result": 500}})
    async with inside(world, said, telemetry=ear or Told()) as served:
        served.ahead[0] = NOON - time.time()
        yield served


@asynccontextmanager
async def visited(folder: Path, ear: Told | None = None, **said: Any) -> AsyncGenerator[tuple[Inside, Client]]:
    """Likewise, with a client of the machine `nightly`."""
    async with limited(folder, ear, **said) as served, visiting(served.url, await served.key("nightly"), ERA) as client:
        yield served, client


def everyone(**limits: float) -> dict[str, Any]:
    return {"everyone": {"limits": limits}}


def machines(*names: str, **said: Any) -> dict[str, Any]:
    return {"teams": {"machines": {"who": [{"key": name} for name in names], **said}}}


async def sent(client: Client, name: str, **more: Any) -> CallToolResult:
    return await client.call_tool("task", errand(name, **more))


async def ended(served: Inside, count: int = 1) -> list[str]:
    """Wait until so many runs have ended: the errors of them all, empty for one that has none."""

    async def over() -> bool:
        return len([run for run in await runs_of(served) if run.outcome is not None]) == count

    await until(over)
    return [getattr(run.outcome, "limit", "") for run in await runs_of(served)]


async def runs_of(served: Inside) -> list[RunRecord]:
    store = served.store
    sessions = [session for principal in await store.principals("[") for session in await store.sessions(principal)]
    runs = [await store.latest_run(session.id) for session in sessions]
    return [run for run in runs if run is not None]


def release(served: Inside) -> None:
    (served.world.places.config / "script.yaml.go").touch()


async def until_turned_away(client: Client, most: int) -> str:
    """Ask until it is too much."""
    for _ in range(most):
        try:
            await client.call_tool("session_info", {})
        except MCPError as refused:
            return str(refused)
    raise AssertionError


# ---- requests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_who_asks_too_often_is_told_when_to_ask_again_by_whatever_client(tmp_path: Path, era: Era) -> None:
    ear = Told()
    async with issuing() as issuer:
        gateway = {"issuers": [{"issuer": issuer.url}], **everyone(requests_per_minute=12)}
        async with inside(make_world(tmp_path / "world"), gateway, telemetry=ear) as served, httpx2.AsyncClient(timeout=LONG) as wire:
            async with visiting(served.url, issuer.token(served.url, sub="alice"), era) as alice:
                said = await until_turned_away(alice, 12)
            assert "limit of 12 requests a minute for each person (`requests_per_minute`). Nothing was done; ask again in" in said
            other = Speaker(wire=wire, url=served.url, token=issuer.token(served.url, sub="alice", client_id="other"), era=ERA)
            answer = await other.posted("tools/list")
            assert answer.status_code == 429
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            told = answer.json()
            assert (told["id"], told["error"]["data"]) == (other.number, {"retryAfter": int(answer.headers["retry-after"])})
            async with visiting(served.url, issuer.token(served.url, sub="bob"), era) as bob:
                assert not (await bob.call_tool("session_info", {})).is_error
    assert LimitTold(limit="requests_per_minute", shared_by="person", team="") in ear.limits


async def test_a_team_shares_its_requests_and_nobody_else_does(tmp_path: Path) -> None:
    together = machines("nightly", "weekly", together={"requests_per_minute": 4})
    async with limited(tmp_path, **together) as served, httpx2.AsyncClient(timeout=LONG) as wire:
        one, two, three = [
            Speaker(wire=wire, url=served.url, token=await served.key(name), era=ERA) for name in ("nightly", "weekly", "yearly")
        ]
        said = [(await one.posted("tools/list")).status_code, (await two.posted("tools/list")).status_code] * 2
        assert said == [200] * 4
        answers = [await (one if place % 2 else two).posted("tools/list") for place in range(4)]
        assert answers[-1].status_code == 429
        assert "for the team machines together" in answers[-1].json()["error"]["message"]
        assert (await three.posted("tools/list")).status_code == 200


async def test_what_only_ends_something_is_never_turned_away(tmp_path: Path) -> None:
    async with limited(tmp_path, **everyone(requests_per_minute=2)) as served, httpx2.AsyncClient(timeout=LONG) as wire:
        speaker = Speaker(wire=wire, url=served.url, token=await served.key(), era="2025-11-25")
        await speaker.opened()
        assert [(await speaker.posted("ping")).status_code for _ in range(2)] == [200, 429]
        for body in (
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
            {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}},
        ):
            assert (await wire.post(speaker.url, json=body, headers=speaker.headers())).status_code == 202
        async with speaker.stream() as opened:
            assert opened.status_code == 429
        assert (await wire.delete(speaker.url, headers=speaker.headers())).status_code == 200


# ---- runs -----------------------------------------------------------------------------------------


async def test_no_more_runs_go_on_at_once_than_may_however_many_are_begun_together(tmp_path: Path) -> None:
    ear, told = Told(), list[CallToolResult]()
    async with visited(tmp_path, ear, **everyone(concurrent_runs=2)) as (served, client):

        async def begins() -> None:
            told.append(await sent(client, "holder", background=True))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(begins)
        refused = [text_of(one) for one in told if one.is_error]
        assert len(refused) == 3
        assert "limit of 2 runs at once for each person (`concurrent_runs`), 2 used" in refused[0]
        assert "task_cancel" in refused[0]
        begun = next(content_of(one)["task_id"] for one in told if not one.is_error)
        await client.call_tool("task_cancel", {"task_id": begun})

        async def one_has_ended() -> bool:
            return len(await served.store.unfinished_runs()) == 1

        await until(one_has_ended)
        assert not (await sent(client, "holder", task_id=begun, background=True)).is_error
        assert "limit of 2 runs" in text_of(await sent(client, "holder", background=True))
        assert "limit concurrent_runs: 2 for each person, 2 used" in text_of(await client.call_tool("session_info", {}))
    assert ear.limits == [LimitTold(limit="concurrent_runs", shared_by="person", team="")] * 4


async def test_an_ended_run_that_is_given_another_prompt_counts_as_well(tmp_path: Path) -> None:
    async with visited(tmp_path, **everyone(concurrent_runs=1)) as (served, client):
        worked = content_of(await sent(client, "worker"))["task_id"]
        await ended(served)
        await sent(client, "holder", background=True)
        assert "limit of 1 run at once" in text_of(await sent(client, "worker", task_id=worked))


async def test_subagents_own_subagents_count_and_a_team_counts_together(tmp_path: Path) -> None:
    ear = Told()
    async with limited(tmp_path, ear, **machines("nightly", "weekly", together={"concurrent_runs": 1})) as served:
        async with visiting(served.url, await served.key("nightly"), ERA) as nightly:
            assert "for the team machines together" in content_of(await sent(nightly, "lead"))["result"]
            assert not (await sent(nightly, "holder", background=True)).is_error
        async with visiting(served.url, await served.key("weekly"), ERA) as weekly:
            assert "for the team machines together" in text_of(await sent(weekly, "holder", background=True))
        async with visiting(served.url, await served.key("yearly"), ERA) as yearly:
            assert not (await sent(yearly, "holder", background=True)).is_error
    assert ear.limits == [LimitTold(limit="concurrent_runs", shared_by="team", team="machines")] * 2


# ---- models ---------------------------------------------------------------------------------------


async def test_a_run_ends_with_what_it_has_once_the_days_tokens_are_used_and_goes_on_the_next_day(tmp_path: Path) -> None:
    ear = Told()
    async with visited(tmp_path, ear, **everyone(tokens_per_day=200)) as (served, client):
        result = await sent(client, "worker")
        assert (state_of(result), content_of(result)["result"]) == ("error", "so far")
        assert content_of(result)["error"] == (
            "stopped at its limit: the gateway's limit of 200 tokens a day for each person (`tokens_per_day`), 200 used; "
            "the next day begins at 00:00 UTC"
        )
        refused = text_of(await sent(client, "worker"))
        assert "no subagent can be sent today: the gateway's limit of 200 tokens a day" in refused
        assert "limit tokens_per_day: 200 for each person, 200 used" in text_of(await client.call_tool("session_info", {}))
        served.ahead[0] += DAY / 2
        again = await sent(client, "worker", task_id=content_of(result)["task_id"])
        assert (state_of(again), content_of(again)["result"]) == ("completed", "done")
        assert "limit tokens_per_day: 200 for each person, 100 used" in text_of(await client.call_tool("session_info", {}))
    assert ear.limits == [LimitTold(limit="tokens_per_day", shared_by="person", team="")] * 2


async def test_each_turn_of_a_run_counts_on_the_day_on_which_it_is_taken(tmp_path: Path) -> None:
    async with limited(tmp_path, **machines("nightly", together={"tokens_per_day": 150})) as served:
        async with visiting(served.url, await served.key("nightly"), ERA) as client:
            await sent(client, "holder", background=True)

        async def one_turn_is_behind() -> bool:
            return (await served.store.used([MACHINES], day=day_of(NOON)))[MACHINES].tokens == 100

        await until(one_turn_is_behind)
        served.ahead[0] += DAY / 2
        release(served)
        assert await ended(served) == [""]
        for day in (NOON, NOON + DAY):
            use = DayUse(tokens=100)
            assert await served.store.day_use(day_of(day)) == {NIGHTLY: use, MACHINES: use}


async def test_the_days_cost_is_counted_and_what_was_used_by_others_of_the_team_is_too(tmp_path: Path) -> None:
    ear = Told()
    async with limited(tmp_path, ear, **machines("nightly", "weekly", together={"cost_per_day": 2.5})) as served:
        weekly = TokenPrincipal(issuer=API_KEYS, subject="weekly", client="key_weekly").key
        charge = await charge_of(served.parts.deployment, weekly, Usage(input_tokens=1000, output_tokens=500, cost=2.0))
        assert charge is not None
        assert (charge.tokens, charge.cost) == (1500, 2.0)
        async with visiting(served.url, await served.key("nightly"), ERA) as client:
            await served.store.charge(charge, at=NOON)
            assert state_of(await sent(client, "worker")) == "completed"
            await served.store.charge(replace(charge, cost=0.75), at=NOON)
            assert "limit of $2.50 a day for the team machines together (`cost_per_day`), $2.75 used" in text_of(
                await sent(client, "worker")
            )
    assert ear.limits == [LimitTold(limit="cost_per_day", shared_by="team", team="machines")]


@pytest.mark.parametrize(("most", "tokens"), [(5_000, 916), (911, 911)])
async def test_the_servers_own_jobs_count_and_the_last_of_a_day_is_left_out(tmp_path: Path, most: int, tokens: int) -> None:
    async with visited(tmp_path, **everyone(tokens_per_day=most)) as (served, client):
        result = content_of(await sent(client, "talker"))
        assert result["result"].startswith("In short: words") is (tokens == 916)
        assert (await served.store.day_use(day_of(NOON)))[NIGHTLY].tokens == tokens


async def test_limits_hold_as_the_settings_are_now(tmp_path: Path) -> None:
    async with visited(tmp_path, **everyone(tokens_per_day=1_000)) as (served, client):
        await served.store.charge(Charge(accounts=[NIGHTLY], tokens=500, cost=0), at=NOON)
        await sent(client, "waiter", background=True)
        file = served.world.places.managed / "settings.yaml"
        file.write_text(file.read_text().replace("1000", "400"))
        release(served)
        (words,) = await ended(served)
        assert "limit of 400 tokens a day" in words


async def test_what_was_used_is_kept_as_long_as_what_has_ended_and_today_always(tmp_path: Path) -> None:
    async with limited(tmp_path, **everyone(tokens_per_day=1_000)) as served:
        store = served.store
        for ago in (0, 1, 2, 3):
            await store.charge(Charge(accounts=[NIGHTLY], tokens=1, cost=0), at=NOON - ago * DAY)
        await prune(store, tmp_path, Keeping(days=0, megabytes=0), now=NOON)
        assert [bool(await store.day_use(day_of(NOON - ago * DAY))) for ago in (0, 1, 2, 3)] == [True] * 4
        await prune(store, tmp_path, Keeping(days=2, megabytes=0), now=NOON)
        assert [bool(await store.day_use(day_of(NOON - ago * DAY))) for ago in (0, 1, 2, 3)] == [True, True, True, False]


async def test_who_came_by_no_gateway_has_no_limit_and_is_not_counted(tmp_path: Path) -> None:
    async with limited(tmp_path, **everyone(tokens_per_day=1, concurrent_runs=1)) as served:
        async with Client(served.parts.server, mode="legacy") as client:
            assert state_of(await sent(client, "worker")) == "completed"
            await sent(client, "holder", background=True)
            assert not (await sent(client, "holder", background=True)).is_error
        assert await served.store.day_use(day_of(NOON)) == {}
        assert await served.store.counted_runs() == {}
