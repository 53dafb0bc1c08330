"""How a gateway ends: nothing new is taken, what is under way may come to its end, streams end in order, and runs stay for the next."""

import json
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from mcp_server.records import RunState
from tests.behaviour.gated import Gated, gated, visiting
from tests.behaviour.stories import agent, calls, errand, says
from tests.behaviour.world import LOOK, make_world, text_of
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing
from tests.protocol.connect import ERAS, Era, Person, stares

each_era = pytest.mark.parametrize("era", ERAS)

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
WAITS = {"command": "touch begun; until test -e go; do sleep 0.02; done; echo let go", "description": "waits"}
"""Arguments of a call that ends when there is a file `go`."""
ENDING = "ending: nothing new is taken"


@asynccontextmanager
async def ending(folder: Path, issuer: Issuer, seconds: float) -> AsyncGenerator[Gated]:
    """A gateway that lets calls go on for so long, and whose `slow` never gets its turn."""
    world = make_world(
        folder,
        script={"slow": [{"await": "never", **says("done")}], "build": [calls(("read", {"filePath": "README.md"})), says("x")]},
        agents={"slow": agent()},
    )
    gateway = {"issuers": [{"issuer": issuer.url}], "limits": {"drain_seconds": seconds}}
    async with gated(world, gateway, permission={"bash": "allow", "edit": {"*": "allow", "new.txt": "ask"}}) as served:
        yield served


async def held(client: Client, heard: list[str]) -> None:
    """A call that ends when there is a file `go`."""
    heard.append(text_of(await client.call_tool("bash", WAITS)))


async def begun(served: Gated) -> None:
    """Wait until the call's command has begun."""
    with anyio.fail_after(LONG):
        while not (served.world.workspace / "begun").exists():  # noqa: ASYNC110 - another process writes it
            await anyio.sleep(LOOK)


@each_era
async def test_a_call_under_way_ends_as_ever_while_new_ones_are_told_to_come_back(tmp_path: Path, era: Era) -> None:
    async with issuing() as issuer, ending(tmp_path, issuer, 300) as served:
        token = issuer.token(served.url)
        heard: list[str] = []
        async with visiting(served.url, token, era) as client, httpx2.AsyncClient(timeout=LONG) as wire:
            await client.list_tools()  # else it asks for them once the call has ended
            async with anyio.create_task_group() as group:
                group.start_soon(held, client, heard)
                await begun(served)
                served.process.terminate()
                await served.logged(ENDING)
                answer = await wire.get(served.url.removesuffix("/mcp") + "/readyz")
                assert (answer.status_code, answer.text) == (503, "not ready")
                body = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": HELLO}
                usual = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
                refused = await wire.post(served.url, json=body, headers=usual)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
                assert refused.json()["id"] == 7
                assert refused.json()["error"]["data"] == {"retryAfter": 5}
                with pytest.raises(MCPError, match="takes nothing new"):
                    await client.call_tool("read", {"filePath": "README.md"})
                (served.world.workspace / "go").touch()
            assert "let go" in "".join(heard)
        with anyio.fail_after(LONG):
            assert await served.process.wait() == 0


@each_era
async def test_a_call_that_only_waits_for_a_child_is_answered_and_the_run_is_left_for_the_next(tmp_path: Path, era: Era) -> None:
    async with issuing() as issuer, ending(tmp_path, issuer, 0.2) as served:
        heard: list[Any] = []
        store = served.world.store()

        async def sends(client: Client) -> None:
            heard.append(await client.call_tool("task", errand("slow")))

        async with visiting(served.url, issuer.token(served.url), era) as client, anyio.create_task_group() as group:
            await client.list_tools()  # else it asks for them once the call has ended
            group.start_soon(sends, client)
            with anyio.fail_after(LONG):
                while not await store.unfinished_runs():  # noqa: ASYNC110 - another process writes it
                    await anyio.sleep(LOOK)
            served.process.terminate()
        (told,) = heard
        assert told.structured_content["state"] in ("running", "queued")
        assert "task_status" in text_of(told)
        with anyio.fail_after(LONG):
            assert await served.process.wait() == 0
        (run,) = await store.unfinished_runs()
        assert run.state is RunState.QUEUED
        await store.close()


@each_era
async def test_a_call_that_does_not_come_to_its_end_is_cut_off_in_words(tmp_path: Path, era: Era) -> None:
    async with issuing() as issuer, ending(tmp_path, issuer, 0.2) as served:
        person = Person(stares)
        async with visiting(served.url, issuer.token(served.url), era, person if era == "2025-11-25" else None) as client:
            await client.list_tools()
            said: list[str] = []

            async def asks() -> None:
                try:
                    said.append(text_of(await client.call_tool("bash" if era == "2026-07-28" else "write", ARGUMENTS[era])))
                except MCPError as error:
                    said.append(str(error))

            async with anyio.create_task_group() as group:
                group.start_soon(asks)
                await (begun(served) if era == "2026-07-28" else person.sees_a_form())
                served.process.terminate()
            assert SAID[era] in said[0]
        with anyio.fail_after(LONG):
            assert await served.process.wait() == 0


SAID: dict[str, str] = {"2026-07-28": "is not done yet", "2025-11-25": "waits for a person and has done nothing yet"}
"""How a call is answered that works, and one whose form nobody has filled in."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "2026-07-28": WAITS,
    "2025-11-25": {"filePath": "new.txt", "content": "x"},
}


async def test_a_connections_own_stream_ends_in_order(tmp_path: Path) -> None:
    async with issuing() as issuer, ending(tmp_path, issuer, 300) as served, httpx2.AsyncClient(timeout=LONG) as wire:
        usual = {
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {issuer.token(served.url)}",
            "mcp-protocol-version": "2025-11-25",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        opened = await wire.post(served.url, json=body, headers=usual)
        usual["mcp-session-id"] = opened.headers["mcp-session-id"]
        await wire.post(served.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=usual)
        async with wire.stream("GET", served.url, headers=usual) as answer:
            assert answer.status_code == 200
            served.process.terminate()
            async for _ in answer.aiter_bytes():  # raises where the end is missing
                pass
        with anyio.fail_after(LONG):
            assert await served.process.wait() == 0


async def test_what_listens_is_told_that_it_is_over(tmp_path: Path) -> None:
    async with issuing() as issuer, ending(tmp_path, issuer, 300) as served, httpx2.AsyncClient(timeout=LONG) as wire:
        usual = {
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {issuer.token(served.url)}",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "subscriptions/listen",
        }
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        }
        params = {"notifications": {"resourcesListChanged": True}, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": "ears", "method": "subscriptions/listen", "params": params}
        heard: list[dict[str, Any]] = []
        async with wire.stream("POST", served.url, json=body, headers=usual) as answer:
            assert answer.status_code == 200, await answer.aread()
            async for line in answer.aiter_lines():
                if line.startswith("data:"):
                    heard.append(json.loads(line.removeprefix("data:")))
                    if len(heard) == 1:
                        served.process.terminate()
        assert heard[-1]["id"] == "ears"
        assert "result" in heard[-1]
        with anyio.fail_after(LONG):
            assert await served.process.wait() == 0


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
async def test_a_second_signal_ends_at_once(tmp_path: Path, which: signal.Signals) -> None:
    async with (
        issuing() as issuer,
        ending(tmp_path, issuer, 600) as served,
        httpx2.AsyncClient(timeout=LONG) as wire,
        anyio.create_task_group() as group,
    ):
        call = {"name": "bash", "arguments": WAITS}

        async def calls_it() -> None:
            usual = {
                "accept": "application/json, text/event-stream",
                "authorization": f"Bearer {issuer.token(served.url)}",
                "mcp-protocol-version": "2025-11-25",
            }
            opened = await wire.post(served.url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}, headers=usual)
            usual["mcp-session-id"] = opened.headers["mcp-session-id"]
            try:
                await wire.post(served.url, json={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}, headers=usual)
            except httpx2.HTTPError:
                return

        group.start_soon(calls_it)
        await begun(served)
        served.process.send_signal(which)
        await served.logged(ENDING)
        served.process.send_signal(which)
        with anyio.fail_after(LONG):
            assert await served.process.wait() == 0
        group.cancel_scope.cancel()
