from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx2
import pytest
from pydantic import SecretStr

from mcp_server.protocol.sign_in.flow import As
from mcp_server.protocol.sign_in.given import NotGiven
from mcp_server.protocol.upstream.guarded import guarded_way
from mcp_server.protocol.upstream.personal import Bearer, NotSignedIn, Personal
from mcp_server.protocol.upstream.vault import Holder, Vault
from mcp_server.store.sqlite import open_store
from mcp_server.tools.web.wires import Wires
from tests.bounds import LONG
from tests.upstream.guarded_server import Browser, Guarded, guarded


@dataclass(frozen=True, slots=True)
class Desk:
    """One deployment, one server behind a sign-in, and two people."""

    server: Guarded
    vault: Vault
    alice: Holder
    bob: Holder

    def personal(self, who: As | None = None, *, issuer: str | None = None) -> Personal:
        way = guarded_way(Wires(), self.server.url, issuer)
        return Personal(self.vault, lambda: who or As(), way)

    async def sent(self, holder: Holder) -> int:
        async with httpx2.AsyncClient(auth=Bearer(self.personal(), holder), timeout=LONG) as client:
            return (await client.post(self.server.url, json={})).status_code


@asynccontextmanager
async def desk(folder: Path) -> AsyncGenerator[Desk]:
    store = open_store(folder / "remit.db")
    try:
        async with guarded() as server:
            alice = Holder(principal="alice", server="notes", address=server.url)
            yield Desk(server, Vault(store, lambda: (bytes(32),), lambda: 5.0), alice, replace(alice, principal="bob"))
    finally:
        await store.close()


async def test_who_signed_in_is_known_to_the_server_by_their_own_token_and_nobody_else_by_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        browser = Browser()
        await at.personal().sign_in(at.alice, browser, browser.show)
        assert await at.sent(at.alice) == 200
        assert at.server.taken == [await at.personal().token(at.alice)]
        probed = at.server.probed
        with pytest.raises(NotSignedIn):
            await at.sent(at.bob)
        assert at.server.probed == probed
        assert await at.personal().token(replace(at.alice, address=f"{at.server.url}/elsewhere")) is None


async def test_two_people_of_one_server_send_two_tokens(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for holder in (at.alice, at.bob):
            browser = Browser()
            await at.personal().sign_in(holder, browser, browser.show)
        for holder in (at.alice, at.bob, at.alice):
            assert await at.sent(holder) == 200
        first, second, third = at.server.taken
        assert first == third != second


async def test_a_token_about_to_end_and_one_that_is_not_taken_are_refreshed_once_for_all_who_wait(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.server.issuer.lasting = 10
        browser = Browser()
        await at.personal().sign_in(at.alice, browser, browser.show)
        personal, got = at.personal(), list[str | None]()
        at.server.issuer.lasting = 600

        async def one() -> None:
            got.append(await personal.token(at.alice))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(one)
        assert at.server.issuer.grants == ["authorization_code", "refresh_token"]
        assert len(set(got)) == 1
        at.server.outdated.add(str(got[0]))
        assert await at.sent(at.alice) == 200
        assert at.server.issuer.grants == ["authorization_code", "refresh_token", "refresh_token"]
        assert len(browser.shown) == 1


async def test_a_sign_in_that_cannot_be_refreshed_any_more_leaves_nobody_signed_in(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.server.issuer.lasting = 10
        browser = Browser()
        await at.personal().sign_in(at.alice, browser, browser.show)
        at.server.issuer.refreshing.clear()
        assert await at.personal().token(at.alice) is None


async def test_signing_out_gives_the_tokens_back_and_forgets_them(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        browser = Browser()
        await at.personal().sign_in(at.alice, browser, browser.show)
        assert await at.personal().sign_out(at.alice) is True
        assert "/revoke" in at.server.issuer.asked
        assert await at.personal().token(at.alice) is None
        assert await at.personal().sign_out(at.alice) is False


@pytest.mark.parametrize(
    "named", ["http://127.0.0.2:9/", "https://10.0.0.7/", "https://169.254.169.254/latest", "https://[::ffff:10.0.0.7]/"]
)
async def test_a_server_cannot_send_remit_to_where_only_remit_can_reach(tmp_path: Path, named: str) -> None:
    async with desk(tmp_path) as at:
        at.server.names = [named]
        browser = Browser()
        with pytest.raises(NotGiven, match=r"address, and only public ones|is not on https"):
            await at.personal().sign_in(at.alice, browser, browser.show)
        assert browser.shown == []


async def test_where_settings_name_the_issuer_no_other_one_gets_the_clients_secret(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, guarded() as evil:
        at.server.names = [evil.issuer.url]
        who = As(client_id="remit", client_secret=SecretStr("s3cret-of-remit"), issuer=at.server.issuer.url)
        browser = Browser()
        with pytest.raises(NotGiven, match="another issuer than the settings do"):
            await at.personal(who, issuer=who.issuer).sign_in(at.alice, browser, browser.show)
        assert evil.issuer.asked == []
        assert browser.shown == []
        at.server.names = []
        await at.personal(who, issuer=who.issuer).sign_in(at.alice, browser, browser.show)
        assert await at.sent(at.alice) == 200


async def test_a_server_that_names_no_issuer_is_none_that_gets_the_clients_secret(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, guarded() as evil:
        evil.named = False
        holder = replace(at.alice, address=evil.url)
        who = As(client_id="remit", client_secret=SecretStr("s3cret-of-remit"), issuer=at.server.issuer.url)
        browser = Browser()
        with pytest.raises(NotGiven, match="does not name the issuer"):
            await Personal(at.vault, lambda: who, guarded_way(Wires(), evil.url, who.issuer)).sign_in(holder, browser, browser.show)
        assert browser.shown == []


async def test_a_sign_in_at_an_issuer_of_before_is_not_refreshed_with_todays_secret(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.server.issuer.lasting = 10
        browser = Browser()
        await at.personal().sign_in(at.alice, browser, browser.show)
        who = As(client_id="remit", client_secret=SecretStr("s3cret-of-remit"), issuer="https://login.example.org")
        assert await at.personal(who).token(at.alice) is None
        assert at.server.issuer.grants == ["authorization_code"]


async def test_tokens_are_given_back_to_no_address_inside(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, guarded() as other:
        at.server.issuer.metadata["revocation_endpoint"] = f"{other.issuer.url.replace('127.0.0.1', '127.0.0.2')}/revoke"
        browser = Browser()
        await at.personal().sign_in(at.alice, browser, browser.show)
        assert await at.personal().sign_out(at.alice) is True
        assert "/revoke" not in (*other.issuer.asked, *at.server.issuer.asked)
        assert await at.personal().token(at.alice) is None


async def test_the_settings_scopes_are_asked_for_where_the_server_names_none(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        browser = Browser()
        await at.personal(As(scope="notes:read")).sign_in(at.alice, browser, browser.show)
        assert at.server.issuer.scopes == ["notes:read"]


async def test_a_server_that_asks_nobody_to_sign_in_is_said_to_be_one(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        open_to_all = replace(at.alice, address=f"{at.server.issuer.url}/.well-known/oauth-authorization-server")
        browser = Browser()
        with pytest.raises(NotGiven, match="asks nobody to sign in: it answered 405"):
            await at.personal().sign_in(open_to_all, browser, browser.show)
