"""A gateway's console in a real browser, before a real server and a real authorization server: from a call that waits to its answer."""

from pathlib import Path

import anyio
import pytest
from playwright.async_api import Page, expect

from tests.authorization.site import SignIn, signing_in
from tests.authorization.walking import signs_in
from tests.behaviour.gated import Gated, gated, visiting
from tests.behaviour.stories import content_of, errand, state_of, team_world
from tests.behaviour.world import text_of
from tests.bounds import LONG
from tests.browser.test_answering import TITLE, only_card
from tests.browser.windows import Windows, barriers, needs_axe
from tests.cli.kept import Kept
from tests.gateway.teamed import CLIENT, teamed
from tests.protocol.connect import ERAS, Era


def known(issuer: SignIn, served: Gated) -> str:
    """Tell the issuer of the console. Its address."""
    console = f"{served.url.removesuffix('/mcp')}/console"
    issuer.client(CLIENT, f"{console}/callback")
    return console


async def signed_in(page: Page, issuer: SignIn, name: str) -> None:
    await page.get_by_role("link", name="Sign in at").click()
    await signs_in(page, issuer.member(name))


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_waits_leads_its_person_through_the_sign_in_to_its_prompt_and_nobody_else(
    era: Era, windows: Windows, tmp_path: Path
) -> None:
    settings = {"console": {"client_id": CLIENT}}
    async with signing_in() as issuer, gated(team_world(tmp_path), {"issuers": [{"issuer": issuer.url}], **settings}) as served:
        console = known(issuer, served)
        issuer.member("ada", preferred_username="Ada")
        with anyio.fail_after(4 * LONG):
            async with visiting(served.url, issuer.token(served.url, sub="ada"), era) as client:
                begun = await client.call_tool("task", errand("lead", background=True))
                task = content_of(begun)["task_id"]
                while state_of(report := await client.call_tool("task_status", {"task_id": task, "wait_seconds": 1})) != "waiting":
                    pass
                page, other = await windows.blank(), await windows.blank()
                (link,) = [word for word in text_of(report).split() if word.startswith(f"{console}/prompts/")]
                await page.goto(link)
                await expect(page.get_by_role("heading", name="Sign in to Remit")).to_be_visible()
                await signed_in(page, issuer, "ada")
                await expect(page).to_have_url(link)
                await expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
                await expect(page.get_by_text("Ada", exact=True)).to_be_visible()
                await other.goto(link)
                await signed_in(other, issuer, "grace")
                await expect(other.get_by_role("heading", name="No such prompt")).to_be_visible()
                await page.get_by_role("link", name="Inbox", exact=True).click()
                await page.get_by_text("Live: new prompts appear by themselves.").wait_for()
                await page.get_by_role("button", name="Allow once").click()
                await expect(only_card(page)).to_contain_text("Answered here in the console")
                while state_of(ended := await client.call_tool("task_status", {"task_id": task, "wait_seconds": 5})) in (
                    "running",
                    "waiting",
                ):
                    pass
                assert state_of(ended) == "completed"
                assert (served.world.workspace / "out.txt").read_text() == "hello"
                await page.get_by_role("button", name="Sign out").click()
                await expect(page.get_by_role("heading", name="Signed out")).to_be_visible()
                await page.goto(link)
                await expect(page.get_by_role("heading", name="Sign in to Remit")).to_be_visible()
        log = served.log.read_text()
        assert [secret for secret in issuer.engine.on_the_wire if secret in log] == []


@needs_axe
async def test_the_sign_in_is_open_to_everybody_and_takes_a_machines_key(windows: Windows, kept: Kept) -> None:
    async with teamed(kept.folder) as team:
        page = await windows.blank()
        await page.goto(f"{team.url}/rulings")
        assert await barriers(page) == []
        await page.get_by_label("API key").fill("remit_key_made_up")
        await page.get_by_role("button", name="Sign in with the key").click()
        await expect(page.get_by_role("alert")).to_contain_text("does not count here")
        await page.get_by_label("API key").fill(await team.key("nightly-build"))
        await page.get_by_label("API key").press("Enter")
        await expect(page).to_have_url(f"{team.url}/rulings")
        await expect(page.get_by_text("the machine nightly-build")).to_be_visible()
        assert await barriers(page) == []
