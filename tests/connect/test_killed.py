"""A gateway that is killed and started again: a bridge of either era finds it again, and no call is made twice."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from tests.authorization.records import Member
from tests.authorization.site import signing_in
from tests.authorization.walking import walked
from tests.behaviour.gated import Gated, gated
from tests.behaviour.stories import until
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.connect.bridging import Desk, desk_client
from tests.gateway.inside import key_in
from tests.ports import held_port

ONCE = "echo once >> {name}; while [ ! -e go ]; do sleep 0.05; done"


async def killed(served: Gated) -> None:
    """Until it is gone: what was started for it stands in its place, and may end before it."""
    served.process.kill()
    await served.process.wait()

    async def gone() -> bool:
        try:
            await (await anyio.connect_tcp("127.0.0.1", urlsplit(served.url).port or 0)).aclose()
        except OSError:
            return True
        return False

    await until(gone)


async def signs_in(desk: Desk, member: Member) -> None:
    """Open the page that the bridge names, and let the browser come back to it."""

    async def told() -> bool:
        return bool(desk.pages)

    await until(told)
    async with httpx2.AsyncClient(timeout=LONG) as browser:
        assert (await browser.get(await walked(desk.pages[0], member))).status_code == 200


@asynccontextmanager
async def two_bridges(folder: Path, url: str, member: Member, key: str) -> AsyncGenerator[dict[str, Client]]:
    """One of each era: one whose person signs in, one with a key."""
    person, machine = Desk(folder=folder / "person"), Desk(folder=folder / "machine")
    for desk in (person, machine):
        desk.folder.mkdir()
    async with anyio.create_task_group() as group:
        group.start_soon(signs_in, person, member)
        async with desk_client(person, url, "2025-11-25") as legacy, desk_client(machine, url, "2026-07-28", REMIT_KEY=key) as modern:
            yield {"legacy": legacy, "modern": modern}


async def reads(client: Client) -> None:
    assert "A sample." in text_of(await client.call_tool("read", {"filePath": "README.md"}))


async def test_a_gateway_that_is_killed_between_two_calls_and_within_one_is_found_again_and_runs_nothing_twice(tmp_path: Path) -> None:
    world = make_world(tmp_path / "team", settings={"permission": {"bash": "allow", "edit": "allow"}})
    world.places.state.mkdir(mode=0o700)
    store = world.store()
    key = await key_in(store, "robot")
    await store.close()
    async with signing_in() as server:
        trusted = {"issuers": [{"issuer": server.url}]}
        with held_port() as port, anyio.fail_after(4 * LONG):
            async with (
                gated(world, trusted, port=port) as served,
                two_bridges(tmp_path, served.url, server.member("ada"), key) as clients,
            ):
                for client in clients.values():
                    await reads(client)
                await killed(served)
                async with gated(world, trusted, port=port) as second:
                    for client in clients.values():
                        await reads(client)
                    await _killed_in_mid_call(second, clients)
                async with gated(world, trusted, port=port):
                    (world.workspace / "go").touch()
                    for name, client in clients.items():
                        await reads(client)
                        assert (world.workspace / name).read_text() == "once\n"


async def _killed_in_mid_call(served: Gated, clients: dict[str, Client]) -> None:
    told: list[str] = []

    async def call(name: str, client: Client) -> None:
        with pytest.raises(MCPError) as broken:
            await client.call_tool("bash", {"command": ONCE.format(name=name), "description": "counts"})
        told.append(str(broken.value))

    async with anyio.create_task_group() as group:
        for name, client in clients.items():
            group.start_soon(call, name, client)
        for name in clients:
            await until(anyio.Path(served.world.workspace / name).exists)
        await killed(served)
    assert len(told) == 2
    assert all("broke before the answer came; whether the call took effect is not known" in one for one in told), told
