"""Servers behind a gateway that know each person by a token of their own."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import anyio
import httpx2
import pytest
from mcp_types import Prompt, Resource

from mcp_server.errors import ConfigError, Fault
from mcp_server.gateway.server_cards import MOST
from mcp_server.protocol.sign_in.flow import As
from mcp_server.protocol.upstream.guarded import guarded_way
from mcp_server.protocol.upstream.notes import Noted, Use, origin_of
from mcp_server.protocol.upstream.personal import Personal
from mcp_server.protocol.upstream.shelf import Listed
from mcp_server.protocol.upstream.sign_ins import SignIns
from mcp_server.protocol.upstream.vault import Vault
from mcp_server.settings.upstream import Upstream
from mcp_server.store.protocol import Store
from mcp_server.store.upstreams import Found, Pin
from mcp_server.tools.web.wires import Wires
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.gateway.authorization import issuing
from tests.gateway.browsing import words_of
from tests.gateway.inside import inside
from tests.gateway.speaking import Speaker
from tests.gateway.teamed import Team, Window, teamed
from tests.protocol.connect import ERAS, Era
from tests.store.samples import a_session
from tests.upstream.guarded_server import Browser, Guarded, guarded
from tests.upstream.scripted import Scripted

ALLOWED: dict[str, Any] = {"permission": {"notes__*": "allow"}}


@pytest.mark.parametrize("era", ERAS)
async def test_two_people_of_one_server_are_known_to_it_by_two_sign_ins_and_without_one_nothing_is_sent(era: Era, tmp_path: Path) -> None:
    notes = Scripted()
    async with guarded(notes.server()) as server, issuing() as issuer, httpx2.AsyncClient(timeout=LONG) as wire:
        managed: dict[str, Any] = {"mcpServers": {"notes": {"url": server.url, "oauth": {}}}, **ALLOWED}
        world = make_world(tmp_path)
        async with inside(world, {"issuers": [{"issuer": issuer.url}], "console": {"client_id": "remit"}}, **managed) as gateway:
            ada, bob = [
                await Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url, sub=name, client_id="editor"), era=era).opened()
                for name in ("ada", "bob")
            ]
            refused = await ada.calls("notes__say", text="hello")
            assert "a person must do so at" in str(refused)
            assert (server.taken, server.probed) == ([], 0)
            browser = Browser(address=f"{gateway.url.removesuffix('/mcp')}/console/servers/back")
            signs = gateway.parts.credentials.signs
            console = f'["{issuer.url}","ada","console"]'
            await browser.show(await signs.begin(console, "notes", browser.address))
            state = browser.brought["state"]
            assert await signs.end(console, state, await browser.returned(state)) == "notes"
            done = await ada.calls("notes__say", text="hello")
            assert "said hello" in str(done)
            assert notes.calls == [("say", {"text": "hello"})]
            probed = server.probed
            assert "a person must do so at" in str(await bob.calls("notes__say", text="me too"))
            assert (len(notes.calls), server.probed, len(set(server.taken))) == (1, probed, 1)


@pytest.mark.parametrize("era", ERAS)
async def test_a_callers_token_is_exchanged_at_the_issuer_and_goes_to_no_server(era: Era, tmp_path: Path) -> None:
    notes, secret = Scripted(), tmp_path / "secret"
    secret.write_text("s3cret")
    secret.chmod(0o600)
    async with guarded(notes.server()) as server, issuing() as issuer, httpx2.AsyncClient(timeout=LONG) as wire:
        exchange = {"token_endpoint": f"{server.issuer.url}/exchange", "client_id": "remit", "client_secret_file": str(secret)}
        managed: dict[str, Any] = {"mcpServers": {"notes": {"url": server.url, "exchange": exchange}}, **ALLOWED}
        async with inside(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}, **managed) as gateway:
            tokens = {name: issuer.token(gateway.url, sub=name, client_id="editor") for name in ("ada", "bob")}
            for name, token in tokens.items():
                speaker = await Speaker(wire=wire, url=gateway.url, token=token, era=era).opened()
                assert f"said {name}" in str(await speaker.calls("notes__say", text=name))
            machine = await Speaker(wire=wire, url=gateway.url, token=await gateway.key(), era=era).opened()
            assert "could not be exchanged" in str(await machine.calls("notes__say", text="key"))
        assert {form["subject_token"] for form in server.issuer.exchanged} == set(tokens.values())
        assert {form["resource"] for form in server.issuer.exchanged} == {server.url}
        assert set(server.taken).isdisjoint(tokens.values())
        assert len(set(server.taken)) == 2


@asynccontextmanager
async def console(folder: Path, keys: Callable[[], Sequence[bytes]] = lambda: (bytes(32),)) -> AsyncGenerator[tuple[Team, Guarded]]:
    async with guarded() as server, anyio.create_task_group() as group:

        def signs(store: Store) -> SignIns:
            personal = Personal(Vault(store, keys, lambda: 5.0), As, guarded_way(Wires(), server.url))
            made = SignIns(lambda: {"notes": (server.url, personal)})
            group.start_soon(made.run)
            return made

        named = {"notes": Upstream.model_validate({"url": server.url, "oauth": {}})}
        async with teamed(folder, signs=signs, servers=lambda: named) as team:
            yield team, server
        group.cancel_scope.cancel()


async def led(window: Window, team: Team) -> Browser:
    """Press the button, and agree at the issuer."""
    page = await window.post("servers/notes", {"key": await window.form_key(), "do": "sign-in"})
    assert page.status_code == 200, page.text
    link = page.text.partition('id="onward"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    browser = Browser(address=f"{team.url}/servers/back")
    await browser.show(link)
    return browser


async def test_a_person_signs_in_to_a_server_in_the_console_and_out_again(tmp_path: Path) -> None:
    async with console(tmp_path) as (team, _):
        ada = await team.window_of("ada")
        assert "You are not signed in" in words_of((await ada.get("servers")).text)
        browser = await led(ada, team)
        back = await ada.client.get(browser.back)
        assert back.status_code == 303
        shown = await ada.client.get(urljoin(team.origin, back.headers["location"]))
        assert "You are signed in." in words_of(shown.text)
        bob = await team.window_of("bob")
        assert "You are not signed in" in words_of((await bob.get("servers")).text)
        await ada.post("servers/notes", {"key": await ada.form_key(), "do": "sign-out"})
        assert "You are not signed in" in words_of((await ada.get("servers")).text)


async def test_a_person_sees_how_their_own_sessions_found_each_server_and_nobody_elses(tmp_path: Path) -> None:
    named = {
        "notes": Upstream.model_validate({"url": "https://notes.example.org/mcp?key=s3cret"}),
        "files": Upstream.model_validate({"command": "/opt/files/serve", "args": ["--key", "s3cret"]}),
    }
    tool = {"name": "say", "inputSchema": {"type": "object"}}
    resources = [Resource(uri=f"note://{number}", name="a note") for number in range(MOST + 5)]
    shelf = Listed(resources=resources, prompts=[Prompt(name="greet")])
    async with teamed(tmp_path, servers=lambda: named) as team:
        ada, bob = await team.window_of("ada"), await team.window_of("bob")
        for client, calls, state, at in (("editor", 3, "failed", 5.0), ("shell", 2, "connected", 9.0)):
            shelf = Listed(
                resources=[Resource(uri=f"note://{n}", name=f"Note {n}") for n in range(MOST + 5)], prompts=[Prompt(name="greet")]
            )
            kept = Noted(
                origin=origin_of(named["notes"]),
                state=state,
                era="2026-07-28",
                tools=[tool],
                use={"say": Use(calls=calls, failed=1)},
                shelf=shelf if at == 5.0 else None,
            )
            key = f'["{team.issuer.url}","ada","{client}"]'
            await team.store.add_session(a_session(f"root_{client}", principal=key))
            await team.store.set_found(Found(principal=key, server="notes", said=kept.text(), at=at))
            await team.store.pin(key, "notes", "notes__say", Pin(digest="another", definition="", at=at))
        hers, his = words_of((await ada.get("servers")).text), words_of((await bob.get("servers")).text)
    assert "at notes.example.org: connected" in hers
    assert "notes__saychanged: asks52" in hers
    assert "runs serve: not used yet" in hers
    assert (hers.count("remit://servers/notes/note://"), "and 5 more" in hers, "notes__greet" in hers) == (MOST, True, True)
    assert "note://" not in his
    assert "at notes.example.org: not used yet" in his
    assert "notes__say" not in his
    assert "s3cret" not in hers + his


async def test_a_sign_in_that_somebody_else_began_is_not_ended_in_anothers_browser(tmp_path: Path) -> None:
    async with console(tmp_path) as (team, server):
        ada, mallory = await team.window_of("ada"), await team.window_of("mallory")
        browser = await led(mallory, team)
        lured = await ada.client.get(browser.back)
        assert (lured.status_code, "not begun here" in words_of(lured.text)) == (403, True)
        assert "You are not signed in" in words_of((await ada.get("servers")).text)
        stranger = await team.window().client.get(browser.back)
        assert stranger.status_code == 403
        forged = await ada.post("servers/notes", {"key": "x", "do": "sign-in"})
        assert forged.status_code == 403
        assert server.issuer.grants == []


async def test_a_key_file_that_cannot_be_used_is_told_of_on_the_page_and_by_its_buttons(tmp_path: Path) -> None:
    spoilt = list[Fault]()

    def keys() -> Sequence[bytes]:
        if spoilt:
            raise ConfigError(tuple(spoilt))
        return (bytes(32),)

    async with console(tmp_path, keys) as (team, _):
        ada = await team.window_of("ada")
        await ada.client.get((await led(ada, team)).back)
        key = await ada.form_key()
        spoilt.append(Fault(file="credentials.key", line=None, problem="others may read this key", remedy="run: chmod 600"))
        assert "others may read this key" in words_of((await ada.get("servers")).text)
        pressed = await ada.post("servers/notes", {"key": key, "do": "sign-out"})
        assert "others may read this key" in words_of(pressed.text)
