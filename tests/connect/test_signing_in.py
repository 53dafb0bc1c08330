"""A person signs in with a browser of their own, at a real issuer, for a real gateway; what that gives is seen by nobody else."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from tests.behaviour.gated import gated
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.connect.authorizing import Authorizing, authorizing
from tests.connect.bridging import Desk, desk_client
from tests.cradle.commands import module
from tests.protocol.connect import ERAS, ROOT

BROWSER = f"{sys.executable} {ROOT / 'tests/connect/stand_in.py'} %s"


def kept(desk: Desk) -> dict[str, object]:
    (file,) = (desk.state / "connect").glob("*.json")
    return json.loads(file.read_text())


def change(desk: Desk, **values: object) -> None:
    (file,) = (desk.state / "connect").glob("*.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def silent(issuer: Authorizing, *texts: str) -> None:
    """None of these holds a token, a code or a verifier."""
    assert issuer.given
    for text in texts:
        assert not [secret for secret in issuer.given if secret in text]


async def signed_in(desk: Desk, url: str) -> None:
    """The person signs in ahead, in a terminal."""
    command = desk.command(url, "--sign-in", BROWSER=BROWSER)
    ended = await anyio.run_process([command.command, *command.args], env=command.env, cwd=ROOT, check=False)
    (desk.folder / "desk-ahead.err").write_bytes(ended.stderr)
    assert (ended.returncode, ended.stdout) == (0, b""), ended.stderr


async def test_the_hosts_first_request_opens_the_persons_browser_and_later_starts_need_none(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:
        async with desk_client(desk, served.url, "2025-11-25", BROWSER=BROWSER) as client:
            assert "A sample." in text_of(await client.call_tool("read", {"filePath": "README.md"}))
        for era in ERAS:
            async with desk_client(desk, served.url, era) as client:
                assert "A sample." in text_of(await client.call_tool("read", {"filePath": "README.md"}))
        assert (issuer.pages, issuer.grants) == (1, ["authorization_code"])
        (file,) = (desk.state / "connect").glob("*.json")
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert str(kept(desk)["issuer"]).rstrip("/") == issuer.url
        assert f"open this page: {issuer.url}/authorize?" in desk.said
        silent(issuer, desk.said, served.log.read_text())


async def test_a_token_that_has_ended_is_refreshed_at_its_issuer_without_a_person(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:
        await signed_in(desk, served.url)
        first = kept(desk)["tokens"]
        change(desk, expires_at=time.time() - 1)
        async with desk_client(desk, served.url, "2026-07-28") as client:
            assert (await client.list_tools()).tools
        assert issuer.grants == ["authorization_code", "refresh_token"]
        assert kept(desk)["tokens"] != first
        silent(issuer, desk.said, served.log.read_text())


async def test_a_token_that_the_server_takes_no_more_is_refreshed_before_a_person_is_asked(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:
        await signed_in(desk, served.url)
        tokens = kept(desk)["tokens"]
        change(desk, tokens={**cast("dict[str, object]", tokens), "access_token": "made-up"})
        async with desk_client(desk, served.url, "2025-11-25") as client:
            assert (await client.list_tools()).tools
        assert (issuer.pages, issuer.grants) == (1, ["authorization_code", "refresh_token"])


async def test_two_bridges_at_once_ask_the_person_once(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    seen: list[int] = []
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:

        async def use(name: str) -> None:
            (tmp_path / name).mkdir()
            own = Desk(folder=tmp_path / name)
            async with desk_client(own, served.url, "2025-11-25", BROWSER=BROWSER, REMIT_STATE_DIR=str(desk.state)) as client:
                seen.append(len((await client.list_tools()).tools))

        with anyio.fail_after(4 * LONG):
            async with anyio.create_task_group() as group:
                group.start_soon(use, "one")
                group.start_soon(use, "other")
        assert len(seen) == 2
        assert min(seen) > 0
        assert issuer.pages == 1


async def test_an_answer_with_another_state_is_refused_and_gives_no_token(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:
        issuer.replaced_state = "a-state-of-somebody-elses"
        with (tmp_path / "out.err").open("w") as errors:
            bridge = await anyio.open_process(
                module("mcp_server", "connect", served.url, "--sign-in"),
                env={**(desk.command(served.url).env or {}), "BROWSER": BROWSER},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
            with anyio.fail_after(LONG):
                while "the browser saw 400" not in (tmp_path / "out.err").read_text():  # noqa: ASYNC110 - another process writes it
                    await anyio.sleep(0.05)
            assert issuer.grants == []
            assert bridge.returncode is None, "it still waits for the right one"
            issuer.replaced_state = ""
            page = re.search(r"open this page: (\S+)", (tmp_path / "out.err").read_text())
            assert page is not None
            async with httpx2.AsyncClient(follow_redirects=True, timeout=LONG) as browser:
                assert (await browser.get(page[1])).status_code == 200
            with anyio.fail_after(LONG):
                assert await bridge.wait() == 0
        assert issuer.grants == ["authorization_code"]
        silent(issuer, (tmp_path / "out.err").read_text())


async def test_who_refuses_the_sign_in_leaves_the_host_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:
        issuer.refuses = "access_denied"
        with pytest.raises((MCPError, ExceptionGroup)) as failed:
            async with desk_client(desk, served.url, "2025-11-25", BROWSER=BROWSER):
                pass
        told = _innermost(failed.value)
        assert "the issuer refused it (access_denied)" in told
        assert f"run `remit connect {served.url} --sign-in` in a terminal" in told


def _innermost(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return _innermost(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return str(error)


async def test_signing_out_gives_the_tokens_back_and_forgets_them(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:
        await signed_in(desk, served.url)
        command = desk.command(served.url, "--sign-out")
        ended = await anyio.run_process([command.command, *command.args], env=command.env, cwd=ROOT, check=False)
        assert (ended.returncode, ended.stdout) == (0, b"")
        assert b"signed out" in ended.stderr
        assert list((desk.state / "connect").glob("*.json")) == []
        assert issuer.refreshing == {}


async def test_an_issuer_that_registers_nobody_needs_a_client_id(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path)
    async with authorizing() as issuer, gated(make_world(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}) as served:
        issuer.registers = False
        command = desk.command(served.url, "--sign-in", BROWSER=BROWSER)
        ended = await anyio.run_process([command.command, *command.args], env=command.env, cwd=ROOT, check=False)
        assert ended.returncode == 2
        assert b"give it with --client-id" in ended.stderr
        command = desk.command(served.url, "--sign-in", "--client-id", "desktop", BROWSER=BROWSER)
        ended = await anyio.run_process([command.command, *command.args], env=command.env, cwd=ROOT, check=False)
        assert (ended.returncode, issuer.clients) == (0, {})
        client = kept(desk)["client"]
        assert isinstance(client, dict)
        assert client["client_id"] == "desktop"
