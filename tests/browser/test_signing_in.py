"""The Python client signs in by itself: a real authorization server, a real browser, a gateway that is a process of its own."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from tests.authorization.site import SignIn, signing_in
from tests.authorization.walking import signs_in
from tests.behaviour.gated import Gated, gated
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.browser.oauth import program, signing
from tests.browser.windows import Windows
from tests.connect.bridging import Desk, desk_client
from tests.protocol.connect import ERAS, ROOT, Era

each_era = pytest.mark.parametrize("era", ERAS)

SCOPES = {"required": ["remit"], "tools": {"bash": ["remit:shell"]}}
ALLOWED = {"permission": {"bash": "allow", "edit": "allow"}}
LARGE = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """An authorization server and a gateway that trusts it."""

    server: SignIn
    gateway: Gated

    def secrets_in(self, *texts: str) -> list[str]:
        """Those that ever were on the wire and stand in one of the texts."""
        assert len(self.server.engine.on_the_wire) > 2
        return [secret for secret in self.server.engine.on_the_wire if any(secret in text for text in texts)]


@pytest.fixture(scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Team]:
    world = make_world(tmp_path_factory.mktemp("team"), settings=ALLOWED, files={"README.md": "A sample.\n"})
    (world.workspace / "large.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * (LARGE // 256))
    async with (
        signing_in() as server,
        gated(world, {"issuers": [{"issuer": server.url}], "scopes": SCOPES}) as gateway,
    ):
        yield Team(server=server, gateway=gateway)


async def sessions_of(team: Team, subject: str, client: str) -> int:
    store = team.gateway.world.store()
    try:
        return len(await store.sessions(f'["{team.server.url}","{subject}","{client}"]'))
    finally:
        await store.close()


@each_era
async def test_the_python_client_signs_in_through_a_browser_steps_up_and_refreshes(era: Era, team: Team, windows: Windows) -> None:
    member = team.server.member(f"ada of {era}", groups=["dev"])
    async with signing(await windows.blank(), member) as held:
        provider = held.provider(team.gateway.url)
        async with program(team.gateway.url, provider, era) as client:
            assert "A sample." in text_of(await client.call_tool("read", {"filePath": "README.md"}))
            assert (len(held.pages), team.server.scopes[-1]) == (1, "remit")
            assert f"resource={team.gateway.url.replace(':', '%3A').replace('/', '%2F')}" in held.pages[0]

            told = await client.call_tool("bash", {"command": "echo stepped up", "description": "says so"})
            assert "stepped up" in text_of(told)
            assert len(held.pages) == 2
            assert set(team.server.scopes[-1].split()) == {"remit", "remit:shell"}

            before = held.pocket.tokens
            provider.context.token_expiry_time = 1.0  # as the program sees it, its token has ended long ago
            told = await client.call_tool("bash", {"command": "echo refreshed", "description": "says so"})
            assert "refreshed" in text_of(told)
            assert (len(held.pages), team.server.engine.grants[-1]) == (2, "refresh_token")
            assert held.pocket.tokens != before
        assert held.pocket.client is not None
        sessions = await sessions_of(team, member.name, held.pocket.client.client_id)
        assert sessions == 1, "whatever token it came with, it is one caller with one session"
    assert team.secrets_in(team.gateway.log.read_text()) == []


@dataclass(slots=True, kw_only=True)
class AtTheDesk:
    """Somebody who reads what a bridge says, and opens each page that it names in a browser."""

    desk: Desk
    windows: Windows
    opened: list[str] = field(default_factory=list[str])

    async def sits(self, server: SignIn, name: str) -> None:
        page, member = await self.windows.blank(), server.member(name)
        while True:
            for address in self.desk.pages:
                if address not in self.opened:
                    self.opened.append(address)
                    await page.goto(address)
                    await signs_in(page, member)
            await anyio.sleep(0.05)


async def signed_in(desk: Desk, url: str) -> None:
    """Ahead, in a terminal."""
    command = desk.command(url, "--sign-in")
    with (desk.folder / "desk-ahead.err").open("w") as errors:
        ended = await anyio.run_process([command.command, *command.args], env=command.env, cwd=ROOT, check=False, stderr=errors)
    assert (ended.returncode, ended.stdout) == (0, b""), desk.said


@each_era
async def test_the_bridge_signs_in_through_a_browser_steps_up_and_brings_results_of_megabytes(
    era: Era, team: Team, windows: Windows, tmp_path: Path
) -> None:
    person = AtTheDesk(desk=Desk(folder=tmp_path), windows=windows)
    with anyio.fail_after(4 * LONG):
        async with anyio.create_task_group() as group:
            group.start_soon(person.sits, team.server, f"grace of {era}")
            if era == "2026-07-28":  # whose first question waits for seconds only, and not for a person
                await signed_in(person.desk, team.gateway.url)
            async with desk_client(person.desk, team.gateway.url, era) as client:
                assert "A sample." in text_of(await client.call_tool("read", {"filePath": "README.md"}))
                assert len(person.opened) == 1
                told = await client.call_tool("bash", {"command": "echo stepped up", "description": "says so"})
                assert "stepped up" in text_of(told)
                assert len(person.opened) == 2
                large = await client.call_tool("read", {"filePath": "large.png"})
                assert len(large.model_dump_json()) > LARGE
            group.cancel_scope.cancel()
    assert team.secrets_in(team.gateway.log.read_text(), person.desk.said) == []
