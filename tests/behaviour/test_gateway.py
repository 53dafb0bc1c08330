"""A gateway: everyone who calls is known, and nobody reaches what is another's. The real client, a real issuer, a process of its own."""

from pathlib import Path

import httpx2
import pytest

from tests.behaviour.gated import gated, visiting
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.gateway.authorization import issuing
from tests.protocol.connect import ERAS, Era

each_era = pytest.mark.parametrize("era", ERAS)


@each_era
async def test_a_caller_with_a_token_is_served_and_one_without_is_told_where_to_get_one(tmp_path: Path, era: Era) -> None:
    async with issuing() as issuer, gated(make_world(tmp_path), {"issuers": [{"issuer": issuer.url}]}) as served:
        async with visiting(served.url, issuer.token(served.url), era) as client:
            told = await client.call_tool("read", {"filePath": "README.md"})
            assert "A sample." in text_of(told)
        store = served.world.store()
        sessions = await store.sessions(f'["{issuer.url}","ada","editor"]')
        assert len(sessions) == 1
        assert await store.sessions("local") == ()
        await store.close()
        async with httpx2.AsyncClient(timeout=LONG) as wire:
            answer = await wire.post(served.url, json={})
            assert answer.status_code == 401
            challenge = answer.headers["www-authenticate"]
            place = challenge.split('resource_metadata="')[1].split('"')[0]
            found = (await wire.get(place)).json()
            assert (found["resource"], found["authorization_servers"]) == (served.url, [issuer.url])


@each_era
async def test_a_token_that_does_not_count_is_refused_in_one_wording_and_stands_in_no_log(tmp_path: Path, era: Era) -> None:
    async with issuing() as issuer, gated(make_world(tmp_path), {"issuers": [{"issuer": issuer.url}]}) as served:
        tokens = [
            issuer.token("https://elsewhere.example.org/mcp"),
            issuer.token(served.url, exp=1_000_000),
            issuer.token(served.url, iss="https://elsewhere.example.org"),
            issuer.token(served.url)[:-9] + "AAAAAAAAA",
            "made-up",
        ]
        said: set[tuple[int, str, str]] = set()
        async with httpx2.AsyncClient(timeout=LONG) as wire:
            for token in tokens:
                headers = {"authorization": f"Bearer {token}", "mcp-protocol-version": era}
                answer = await wire.post(served.url, json={}, headers=headers)
                said.add((answer.status_code, answer.text, answer.headers["www-authenticate"]))
        assert len(said) == 1
        assert next(iter(said))[0] == 401
        log = served.log.read_text()
        assert log.count("a token was refused") == len(tokens)
        assert not [token for token in tokens if token in log or token.split(".")[-1] in log]


async def test_a_session_id_of_another_caller_is_as_good_as_none(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    async with (
        issuing() as issuer,
        gated(make_world(tmp_path), {"issuers": [{"issuer": issuer.url}]}) as served,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        usual = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
        callers = [issuer.token(served.url), issuer.token(served.url, sub="eve"), issuer.token(served.url, client_id="other")]
        mine, *others = [{**usual, "authorization": f"Bearer {token}"} for token in callers]
        opened = await wire.post(served.url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, headers=mine)
        session = opened.headers["mcp-session-id"]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for headers in others:
            for method, body in (("POST", ping), ("GET", None), ("DELETE", None)):
                said = [
                    await wire.request(method, served.url, json=body, headers={**headers, "mcp-session-id": one})
                    for one in (session, "0" * 32)
                ]
                assert {(answer.status_code, answer.text) for answer in said} == {(404, said[0].text)}
        still = await wire.post(served.url, json=ping, headers={**mine, "mcp-session-id": session})
        assert still.status_code == 200
