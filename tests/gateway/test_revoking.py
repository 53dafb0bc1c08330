"""An operator ends everything that somebody has at a gateway, by a command beside the servers: they see it in the store."""

import json
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio import to_thread
from click.testing import CliRunner, Result

from mcp_server.app import STORE_FILE
from mcp_server.cli.main import remit
from mcp_server.gateway.connections import FEWEST_OF_ONE
from mcp_server.gateway.door import SLOW
from mcp_server.principal import TokenPrincipal
from mcp_server.records import PromptState, RunState
from mcp_server.sessions.ending import end_session
from mcp_server.store.sqlite import open_store
from tests.behaviour.stories import TEAM, team, until
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.cli.kept import Kept
from tests.gateway.authorization import Issuer, issuing
from tests.gateway.inside import Inside, inside
from tests.gateway.speaking import Speaker
from tests.gateway.teamed import teamed
from tests.protocol.connect import ERAS, Era
from tests.store.samples import a_session
from tests.upstream import bare as bare_server

TASK = {"description": "a job", "prompt": "do it", "subagent_type": "lead", "background": True}
WAITS = {"command": "touch started; sleep 600", "description": "waits"}

RULES = {"bash": "allow", "edit": {"*": "ask", "started": "allow"}}


async def operator(state: Path, *arguments: str) -> Result:
    """`remit gateway sessions …`, as a process beside the server runs it."""
    runner = CliRunner(env={"REMIT_STATE_DIR": str(state), "COLUMNS": "200"})
    return await to_thread.run_sync(lambda: runner.invoke(remit, ["gateway", "sessions", *arguments]))


async def listed(state: Path) -> dict[str, Mapping[str, Any]]:
    lines = (await operator(state, "list", "--json", "--all")).stdout.splitlines()
    return {one["subject"]: one for one in map(json.loads, lines)}


async def works(gateway: Inside, wire: httpx2.AsyncClient, issuer: Issuer, name: str, era: Era) -> Speaker:
    """Somebody whose agent works in the background, for whom somebody must answer."""
    speaker = await Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url, sub=name), era=era).opened()
    assert "task_id" in (await speaker.calls("task", **TASK))["result"]["structuredContent"]
    return speaker


async def test_whoever_is_revoked_while_their_request_arrives_is_not_let_in(tmp_path: Path) -> None:
    async with (
        issuing() as issuer,
        inside(make_world(tmp_path), {"issuers": [{"issuer": issuer.url}]}) as gateway,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        speaker = Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url, sub="ada"), era="2026-07-28")
        message = json.dumps(speaker.message("tools/list")).encode()

        async def slowly() -> AsyncGenerator[bytes]:
            yield message[:-1]
            await operator(gateway.world.places.state, "revoke", json.dumps([issuer.url, "ada"]))
            await anyio.sleep(SLOW)  # the clock that is held to this is the gateway's own
            yield message[-1:]

        headers = {**speaker.headers("tools/list"), "content-type": "application/json"}
        answer = await wire.post(gateway.url, content=slowly(), headers=headers, timeout=LONG)
        assert answer.status_code == 401


async def test_a_connection_is_known_until_it_has_ended_whatever_is_asked_of_it(tmp_path: Path) -> None:
    async with (
        issuing() as issuer,
        inside(make_world(tmp_path), {"issuers": [{"issuer": issuer.url}], "limits": {"sessions": 100}}) as gateway,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        token = issuer.token(gateway.url, sub="ada")
        for _ in range(FEWEST_OF_ONE + 3):
            speaker = await Speaker(wire=wire, url=gateway.url, token=token, era="2025-11-25").opened()
            odd = {**speaker.headers(), "mcp-protocol-version": "2026-07-28"}
            assert (await wire.delete(gateway.url, headers=odd)).status_code >= 400

        async def room_was_made() -> bool:
            return gateway.sessions <= FEWEST_OF_ONE

        await until(room_was_made)


@pytest.mark.parametrize("era", ERAS)
async def test_everything_of_somebody_ends_and_nothing_of_anybody_elses(tmp_path: Path, era: Era) -> None:
    script: dict[str, list[dict[str, Any]]] = {**team(), "title": [{"text": "a job", "calls": []}]}
    world = make_world(tmp_path / "team", script=script, agents=TEAM, settings={"permission": RULES})
    state = world.places.state
    async with (
        issuing() as issuer,
        inside(world, {"issuers": [{"issuer": issuer.url}]}) as gateway,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        alice, bob = [await works(gateway, wire, issuer, name, era) for name in ("alice", "bob")]
        said: list[str] = []

        async def both_ask() -> bool:
            return len(await gateway.store.prompts(state=PromptState.OPEN)) == 2

        await until(both_ask)

        async def call() -> None:
            try:
                said.append(json.dumps(await alice.calls("bash", **WAITS)))
            except (RuntimeError, httpx2.HTTPError) as error:  # its connection may end before it has its answer
                said.append(repr(error))

        async with anyio.create_task_group() as group, alice.stream() as stream:
            group.start_soon(call)
            await until(anyio.Path(world.workspace / "started").exists)
            assert {name: (one["open"], one["working"]) for name, one in (await listed(state)).items()} == {"alice": (1, 2), "bob": (1, 2)}
            told = await operator(state, "revoke", "alice")
            assert told.exit_code == 0, told.output
            assert "1 session ended, 2 runs asked to end" in told.stdout
            with anyio.fail_after(LONG):
                async for _ in stream.aiter_bytes():
                    pass
        assert len(said) == 1
        assert (await alice.posted("tools/list")).status_code == 401

        async def ended() -> bool:
            return (await listed(state))["alice"]["working"] == 0

        await until(ended)
        assert (await listed(state))["bob"]["working"] == 2
        assert (await bob.posted("tools/list")).status_code == 200
        store = gateway.store
        keys = [key for key in await store.principals('["') if '"alice"' in key]
        (root,) = await store.sessions(keys[0], roots=True)
        (child,) = await store.children(root.id)
        run = await store.latest_run(child.id)
        assert run is not None
        assert (run.state, root.ended_at is not None) == (RunState.CANCELLED, True)
        outcomes = [stored.event.outcome for stored in await store.audit_log(principal=keys[0])]
        assert any("everything revoked by an operator" in outcome for outcome in outcomes)
        if era == "2025-11-25":

            async def parted() -> bool:
                return gateway.sessions == 1

            await until(parted)


async def test_another_server_that_was_started_for_a_session_goes_with_it(tmp_path: Path) -> None:
    bare = {"command": sys.executable, "args": ["-I", "-S", str(Path(bare_server.__file__))]}
    world = make_world(tmp_path / "team", settings={"permission": {"play__*": "allow"}})
    managed: dict[str, Any] = {"mcpServers": {"play": bare}}
    async with (
        issuing() as issuer,
        inside(world, {"issuers": [{"issuer": issuer.url}]}, **managed) as gateway,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        speaker = Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url, sub="alice"), era="2026-07-28")
        assert "said hi" in str(await speaker.calls("play__say", text="hi"))
        (root_id,) = gateway.parts.deployment.upstreams.roots
        other = world.store()
        (key,) = await other.principals('["')
        (root,) = await other.sessions(key, roots=True)
        assert root.id == root_id
        await end_session(other, root, "an operator", at=time.time())

        async def gone() -> bool:
            return gateway.parts.deployment.upstreams.roots == frozenset()

        await until(gone)
        await other.close()


@pytest.mark.parametrize("era", ERAS)
async def test_a_session_that_somebody_ended_gives_way_to_another_and_ends_its_lines(tmp_path: Path, era: Era) -> None:
    world = make_world(tmp_path / "team", settings={"permission": RULES})
    async with (
        issuing() as issuer,
        inside(world, {"issuers": [{"issuer": issuer.url}]}) as gateway,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        alice = await Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url, sub="alice"), era=era).opened()
        started = await alice.calls("bash", command="sleep 600", description="waits", background=True)
        assert "bash_id" in started["result"]["structuredContent"]
        other = world.store()
        (key,) = await other.principals('["')
        (first,) = await other.sessions(key, roots=True)
        await end_session(other, first, "an operator", at=time.time())

        async def ended() -> bool:
            return not gateway.parts.deployment.background.of(first.id)

        await until(ended)
        assert not (await alice.calls("read", filePath="README.md"))["result"].get("isError")
        second, _ = await other.sessions(key, roots=True)
        assert (second.id != first.id, second.ended_at) == (True, None)
        await other.close()


async def test_a_token_counts_that_was_issued_since_and_an_api_key_has_an_end_of_its_own(tmp_path: Path) -> None:
    world = make_world(tmp_path / "team")
    async with (
        issuing() as issuer,
        inside(world, {"issuers": [{"issuer": issuer.url}]}) as gateway,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        now, url = int(time.time()), gateway.url

        async def status(token: str) -> int:
            return (await Speaker(wire=wire, url=url, token=token, era="2026-07-28").posted("tools/list")).status_code

        before, after = (issuer.token(url, sub="alice", iat=now - age, nbf=None) for age in (200, 1))
        await gateway.store.revoke_all_of(f'["{issuer.url}","alice",', at=now - 100)
        assert [await status(before), await status(after), await status(issuer.token(url, sub="ann", iat=now - 200))] == [401, 200, 200]
        await gateway.store.revoke_all_of(f'["{issuer.url}","alice","editor"]', at=now)
        assert [await status(after), await status(issuer.token(url, sub="alice", client_id="web", iat=now - 1))] == [401, 200]
        key = await gateway.key("robot")
        told = await operator(world.places.state, "revoke", '["remit:keys","robot"]')
        assert "its API key counts as before" in told.stdout
        assert await status(key) == 200


async def test_a_name_that_is_nobodys_or_several_peoples_is_not_guessed(tmp_path: Path) -> None:
    world = make_world(tmp_path / "team")
    store = open_store(world.places.state / STORE_FILE)
    for number, issuer in enumerate(("https://one.example.org", "https://two.example.org")):
        whose = TokenPrincipal(issuer=issuer, subject="alice", client="editor")
        await store.add_session(a_session(f"root_{number}", principal=whose.key))
    await store.close()
    told = [await operator(world.places.state, "revoke", name) for name in ("alice", "nobody", "[1]", '["x"]')]
    assert [one.exit_code for one in told] == [2, 2, 2, 2]
    assert """'["https://two.example.org","alice"]'""" in told[0].output
    form = (await listed(world.places.state))["alice"]["principal"]
    assert (await operator(world.places.state, "revoke", form)).exit_code == 0


async def test_a_visit_of_the_console_ends_and_a_later_one_counts(kept: Kept) -> None:
    async with teamed(kept.folder) as served:
        alice, bob = await served.window_of("alice"), await served.window_of("bob")
        await served.store.revoke_all_of(f'["{served.issuer.url}","alice",', at=served.wall[0])
        assert (await alice.inside(), await bob.inside()) == (False, True)
        served.wall[0] += 1
        assert await (await served.window_of("alice")).inside()
