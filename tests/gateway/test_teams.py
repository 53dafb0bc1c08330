"""What a team's policy gives whom, over the real address, in both eras: rules, tools, agents, modes, workspaces."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client

from mcp_server.app import rules_at
from mcp_server.errors import ConfigError
from mcp_server.protocol.tasks_wire import IDENTIFIER as TASKS
from mcp_server.settings.values import Flags
from mcp_server.store.ids import mint
from tests.behaviour.gated import manage, visiting
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing
from tests.gateway.inside import Inside, inside
from tests.gateway.speaking import Speaker
from tests.protocol.connect import ERAS, ROOT, Era

PAYMENTS = [{"claims": {"groups": "payments"}}]
OPS = [{"claims": {"groups": "ops"}}]

Policy = Mapping[str, Any]


@asynccontextmanager
async def governed(folder: Path, policy: Policy, **managed: Any) -> AsyncGenerator[tuple[Inside, Issuer]]:
    """A gateway under a policy, and the issuer of its tokens."""
    world = make_world(folder / "world")
    (folder / "shop").mkdir()
    (folder / "shop" / "wares.txt").write_text("wares\n")
    async with issuing() as issuer:
        gateway = {"issuers": [{"issuer": issuer.url}], "workspaces": {"shop": str(folder / "shop")}, **policy}
        async with inside(world, gateway, **managed) as served:
            yield served, issuer


def token_of(served: Inside, issuer: Issuer, subject: str = "alice", **said: Any) -> str:
    return issuer.token(served.url, sub=subject, **said)


async def wrote(client: Client, path: str) -> str:
    return text_of(await client.call_tool("write", {"filePath": path, "content": "x"}))


@pytest.mark.parametrize("era", ERAS)
async def test_a_teams_rules_bind_its_people_and_nobody_else(tmp_path: Path, era: Era) -> None:
    policy = {"teams": {"payments": {"who": PAYMENTS, "permission": {"edit": {"*": "allow", "*.lock": "deny"}}}}}
    async with governed(tmp_path, policy, permission={"edit": "deny"}) as (served, issuer):
        async with visiting(served.url, token_of(served, issuer, groups=["payments"]), era) as alice:
            assert (await wrote(alice, "a.txt")).startswith("created")
            refused = await wrote(alice, "a.lock")
            assert "edit *.lock` deny" in refused
            assert "settings.yaml:" in refused
        async with visiting(served.url, token_of(served, issuer, "bob", groups=["ops"]), era) as bob:
            assert "edit *` deny" in await wrote(bob, "b.txt")


@pytest.mark.parametrize("era", ERAS)
async def test_what_one_is_not_given_is_neither_listed_nor_done(tmp_path: Path, era: Era) -> None:
    policy = {"people": {"alice": {"who": [{"subject": "alice"}], "tools": ["read", "task", "task_status"], "agents": ["explore"]}}}
    async with governed(tmp_path, policy, mode="bypassPermissions") as (served, issuer):
        async with visiting(served.url, token_of(served, issuer), era) as alice:
            tools = {tool.name: tool for tool in (await alice.list_tools()).tools}
            assert list(tools) == ["task", "task_status", "read"]
            assert [prompt.name for prompt in (await alice.list_prompts()).prompts] == ["explore"]
            assert "explore:" in (tools["task"].description or "")
            assert "general:" not in (tools["task"].description or "")
            assert "not among the tools that you are given" in await wrote(alice, "a.txt")
            errand = {"description": "look about", "prompt": "look", "subagent_type": "general"}
            assert "not among the agents that you are given" in text_of(await alice.call_tool("task", errand))
        async with visiting(served.url, token_of(served, issuer, "bob"), era) as bob:
            assert {"write", "bash"} <= {tool.name for tool in (await bob.list_tools()).tools}
            assert (await wrote(bob, "b.txt")).startswith("created")


@pytest.mark.parametrize("era", ERAS)
async def test_a_team_is_given_the_tools_of_a_server_by_its_name(tmp_path: Path, era: Era) -> None:
    play = {"command": sys.executable, "args": ["-I", "-S", str(ROOT / "tests" / "upstream" / "bare.py")]}
    policy = {"teams": {"payments": {"who": PAYMENTS, "tools": ["read", "play__*"]}, "ops": {"who": OPS, "tools": ["read", "other__*"]}}}
    async with governed(tmp_path, policy, mcpServers={"play": play}, permission={"play__*": "allow"}) as (served, issuer):
        async with visiting(served.url, token_of(served, issuer, groups=["payments"]), era) as alice:
            assert {tool.name for tool in (await alice.list_tools()).tools} >= {"read", "play__say"}
            assert text_of(await alice.call_tool("play__say", {"text": "hi"})) == "said hi"
        async with visiting(served.url, token_of(served, issuer, "bob", groups=["ops"]), era) as bob:
            assert {tool.name for tool in (await bob.list_tools()).tools} == {"read"}
            assert "there is no tool 'play__say'" in text_of(await bob.call_tool("play__say", {"text": "hi"}))


@pytest.mark.parametrize("era", ERAS)
async def test_a_teams_mode_is_a_cap(tmp_path: Path, era: Era) -> None:
    policy = {"teams": {"payments": {"who": PAYMENTS, "max_mode": "dontAsk"}}}
    async with (
        governed(tmp_path, policy, mode="bypassPermissions") as (served, issuer),
        visiting(served.url, token_of(served, issuer, groups="payments"), era) as alice,
    ):
        assert "mode dontAsk" in text_of(await alice.call_tool("session_info", {}))
        assert not (await wrote(alice, "a.txt")).startswith("created")


@pytest.mark.parametrize("era", ERAS)
async def test_the_address_selects_workspace_and_agent_where_both_are_given(tmp_path: Path, era: Era) -> None:
    policy = {"people": {"alice": {"who": [{"subject": "alice"}], "workspaces": ["default", "shop"], "agents": ["plan"]}}}
    async with governed(tmp_path, policy) as (served, issuer):
        mine = token_of(served, issuer)
        async with visiting(f"{served.url}/shop/plan", mine, era) as alice:
            assert text_of(await alice.call_tool("session_info", {})).startswith(f"plan in {tmp_path / 'shop'}")
            assert "wares" in text_of(await alice.call_tool("read", {"filePath": "wares.txt"}))
        async with visiting(served.url, mine, era) as alice:
            assert text_of(await alice.call_tool("session_info", {})).startswith(f"build in {served.world.workspace}")


@pytest.mark.parametrize(
    "below",
    ["/shop/plan", "/none/plan", "/default/none", "/default/explore", "/default/summary", "/default/plan", "/../plan", "/shop/build"],
)
async def test_an_address_that_is_not_there_and_one_that_is_not_given_are_one_answer(tmp_path: Path, below: str) -> None:
    policy = {"everyone": {"workspaces": ["default"], "agents": []}}
    async with governed(tmp_path, policy) as (served, issuer), httpx2.AsyncClient(timeout=LONG) as wire:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {"authorization": f"Bearer {token_of(served, issuer)}", "accept": "application/json, text/event-stream"}
        answer = await wire.post(f"{served.url}{below}", json=body, headers=headers)
        assert answer.status_code == 404
        assert below == "/../plan" or "nothing for you at this address" in answer.text


async def test_a_connection_does_not_move_to_another_address(tmp_path: Path) -> None:
    async with governed(tmp_path, {}) as (served, issuer), httpx2.AsyncClient(timeout=LONG) as wire:
        headers = {"authorization": f"Bearer {token_of(served, issuer)}", "accept": "application/json, text/event-stream"}
        hello: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opened = await wire.post(served.url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, headers=headers)
        headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        await wire.post(served.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        call: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "session_info", "arguments": {}}}
        assert "build in" in (await wire.post(served.url, json=call, headers=headers)).text
        moved = await wire.post(f"{served.url}/shop/plan", json=call, headers=headers)
        assert "made at another address" in moved.text
        assert "plan in" not in moved.text


async def test_a_task_is_found_at_the_address_alone_at_which_it_was_begun(tmp_path: Path) -> None:
    async with governed(tmp_path, {}) as (served, issuer), httpx2.AsyncClient(timeout=LONG) as wire:
        mine = token_of(served, issuer)
        knows: dict[str, Any] = {"extensions": {TASKS: {}}}
        at = {
            below: Speaker(wire=wire, url=f"{served.url}{below}", token=mine, era="2026-07-28", capabilities=knows)
            for below in ("", "/shop/build", "/default/plan")
        }
        write = {"name": "write", "arguments": {"filePath": "a.txt", "content": "x"}}
        task = (await at[""].asked("tools/call", write))["result"]["taskId"]
        for below in ("/shop/build", "/default/plan"):
            for verb in ("get", "update", "cancel"):
                said = [await at[below].asked(f"tasks/{verb}", {"taskId": one, "inputResponses": {}}) for one in (task, mint("call"))]
                assert said[0] == said[1], (below, verb)
        assert (await at[""].asked("tasks/get", {"taskId": task}))["result"]["status"] == "working"


async def test_who_is_no_member_is_told_so_and_served_nothing(tmp_path: Path) -> None:
    async with governed(tmp_path, {"roles": {"member": PAYMENTS}}) as (served, issuer), httpx2.AsyncClient(timeout=LONG) as wire:
        headers = {"authorization": f"Bearer {token_of(served, issuer, groups='ops')}", "accept": "application/json, text/event-stream"}
        answer = await wire.post(served.url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)
        assert (answer.status_code, "not among those who may use" in answer.text) == (403, True)
        headers["authorization"] = f"Bearer {token_of(served, issuer, groups='payments')}"
        assert (await wire.post(served.url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)).status_code != 403


async def test_what_the_issuer_said_last_counts_and_an_older_token_brings_nothing_back(tmp_path: Path) -> None:
    policy = {"teams": {"payments": {"who": PAYMENTS, "permission": {"edit": "allow"}}}}
    async with governed(tmp_path, policy, permission={"edit": "deny"}) as (served, issuer):
        now = issuer.claims()["iat"]
        older = token_of(served, issuer, groups=["payments"], iat=now - 60)
        newer = token_of(served, issuer, groups=[], iat=now - 30)
        async with visiting(served.url, older, "2026-07-28") as alice:
            assert (await wrote(alice, "a.txt")).startswith("created")
            async with visiting(served.url, newer, "2026-07-28") as again:
                assert "edit *` deny" in await wrote(again, "b.txt")
            assert "edit *` deny" in await wrote(alice, "c.txt")


async def test_a_policy_that_changes_holds_from_the_next_call_on(tmp_path: Path) -> None:
    policy: dict[str, Any] = {"teams": {"payments": {"who": PAYMENTS, "permission": {"edit": "allow"}}}}
    async with (
        governed(tmp_path, policy, permission={"edit": "deny"}) as (served, issuer),
        visiting(served.url, token_of(served, issuer, groups=["payments"]), "2025-11-25") as alice,
    ):
        assert (await wrote(alice, "a.txt")).startswith("created")
        file = served.world.places.managed / "settings.yaml"
        file.write_text(file.read_text().replace('"payments"', '"billing"'))
        os.utime(file, (1, 1))
        assert "edit *` deny" in await wrote(alice, "b.txt")


async def test_an_api_key_has_the_team_of_its_name(tmp_path: Path) -> None:
    policy = {"teams": {"machines": {"who": [{"key": "nightly"}], "tools": ["read"]}}}
    async with governed(tmp_path, policy) as (served, _), visiting(served.url, await served.key("nightly"), "2026-07-28") as machine:
        assert [tool.name for tool in (await machine.list_tools()).tools] == ["read"]


def test_folders_that_lead_into_each_other_are_no_two_workspaces(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    (tmp_path / "shop").symlink_to(world.workspace / "src")
    manage(world, gateway={"url": "https://remit.example.org/mcp", "workspaces": {"shop": str(tmp_path / "shop")}})
    with pytest.raises(ConfigError, match="the workspace `shop` lies in the workspace `default`"):
        rules_at(world.workspace, world.places, Flags())
