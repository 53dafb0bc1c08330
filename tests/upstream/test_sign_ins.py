from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest

from mcp_server.principal import TokenPrincipal
from mcp_server.protocol.sign_in.flow import As
from mcp_server.protocol.sign_in.given import NotGiven, Returned
from mcp_server.protocol.upstream.guarded import guarded_way
from mcp_server.protocol.upstream.personal import Personal, who_of
from mcp_server.protocol.upstream.sign_ins import MOST_OF_ONE, SignIns
from mcp_server.protocol.upstream.vault import Vault
from mcp_server.settings.upstream import UpstreamOauth
from mcp_server.store.sqlite import open_store
from mcp_server.tools.web.wires import Wires
from tests.bounds import LONG
from tests.upstream.guarded_server import Guarded, guarded

ALICE, ALICE_ELSEWHERE, BOB = (
    TokenPrincipal(issuer="https://login.example.org", subject=subject, client=client).key
    for subject, client in (("alice", "console"), ("alice", "desktop"), ("bob", "console"))
)
BACK = "https://remit.example.org/console/servers/back"


@asynccontextmanager
async def signing_in(folder: Path) -> AsyncGenerator[tuple[SignIns, Guarded]]:
    store = open_store(folder / "remit.db")
    try:
        async with guarded() as server, anyio.create_task_group() as group:
            vault = Vault(store, lambda: (bytes(32),), lambda: 5.0)
            personal = Personal(vault, lambda: who_of(server.who[0]) if server.who else As(), guarded_way(Wires(), server.url))
            signs = SignIns(lambda: {"notes": (server.url, personal)})
            group.start_soon(signs.run)
            await anyio.lowlevel.checkpoint()
            yield signs, server
            group.cancel_scope.cancel()
    finally:
        await store.close()


async def agreed(page: str) -> tuple[str, Returned]:
    """What the browser brings back from the issuer's page: the state, and the rest."""
    async with httpx2.AsyncClient(follow_redirects=False, timeout=LONG) as client:
        back = (await client.get(page)).headers["location"]
    assert back.startswith(BACK)
    said = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
    return said["state"], Returned(code=said.get("code", ""), error=said.get("error", ""), issuer=said.get("iss"))


async def test_a_sign_in_is_begun_by_one_request_and_ended_by_another(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (signs, _):
        assert await signs.standing(ALICE) == {"notes": False}
        state, came = await agreed(await signs.begin(ALICE, "notes", BACK))
        assert await signs.end(ALICE, state, came) == "notes"
        assert await signs.standing(ALICE) == await signs.standing(ALICE_ELSEWHERE) == {"notes": True}
        assert await signs.standing(BOB) == {"notes": False}
        assert await signs.leave(ALICE, "notes") is True
        assert await signs.standing(ALICE) == {"notes": False}


async def test_a_return_is_believed_once_and_from_who_began_it_alone(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (signs, _):
        state, came = await agreed(await signs.begin(ALICE, "notes", BACK))
        with pytest.raises(NotGiven, match="not begun here"):
            await signs.end(BOB, state, came)
        assert await signs.end(ALICE, state, came) == "notes"
        for again in (state, ""):
            with pytest.raises(NotGiven, match="not begun here"):
                await signs.end(ALICE, again, came)
        assert await signs.standing(BOB) == {"notes": False}


async def test_who_refuses_at_the_issuer_is_told_so_and_has_no_token(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (signs, server):
        server.issuer.refuses = "access_denied"
        state, came = await agreed(await signs.begin(ALICE, "notes", BACK))
        with pytest.raises(NotGiven, match="the issuer refused it"):
            await signs.end(ALICE, state, came)
        assert await signs.standing(ALICE) == {"notes": False}


async def test_the_oldest_of_too_many_sign_ins_gives_way_and_other_peoples_stay(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (signs, _):
        bobs = await agreed(await signs.begin(BOB, "notes", BACK))
        begun = [await agreed(await signs.begin(ALICE, "notes", BACK)) for _ in range(MOST_OF_ONE + 1)]
        with pytest.raises(NotGiven):
            await signs.end(ALICE, *begun[0])
        assert await signs.end(ALICE, *begun[1]) == "notes"
        assert await signs.end(BOB, *bobs) == "notes"


async def test_a_client_secret_that_cannot_be_had_is_said_and_ends_nothing_else(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (signs, server):
        server.who[:] = [UpstreamOauth(client_id="remit", client_secret_file=str(tmp_path / "nowhere"), issuer=server.issuer.url)]
        with pytest.raises(NotGiven, match="cannot be read"):
            await signs.begin(ALICE, "notes", BACK)
        server.who.clear()
        assert await signs.begin(ALICE, "notes", BACK)


async def test_a_server_that_is_not_there_or_asks_nobody_is_said_to_be_so(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (signs, server):
        with pytest.raises(NotGiven, match="no server of that name"):
            await signs.begin(ALICE, "other", BACK)
        server.names = ["https://10.0.0.7/"]
        with pytest.raises(NotGiven, match="private address"):
            await signs.begin(ALICE, "notes", BACK)
