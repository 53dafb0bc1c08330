"""A link to a prompt: the page says how to sign in, brings the person back, and the answer lets the waiting call go on."""

from pathlib import Path

import anyio
from playwright.async_api import expect

from mcp_server.store.console_address import console_open
from tests.behaviour.stories import NEAR, errand, state_of, team_world
from tests.behaviour.test_links import LINKS_FIRST, OpensLinks
from tests.behaviour.world import connect
from tests.bounds import LONG
from tests.browser.test_answering import TITLE, Later, only_card
from tests.browser.windows import Windows
from tests.gateway.browsing import site


async def test_a_link_leads_to_the_sign_in_and_from_there_to_its_prompt_and_the_call_goes_on(windows: Windows, tmp_path: Path) -> None:
    world, person = team_world(tmp_path, settings=LINKS_FIRST), OpensLinks()
    async with site(world.places.state) as served:
        with console_open(world.places.state, served.origin):
            async with connect(world, NEAR, person=person, heard=person.heard) as connected:
                ended = Later(connected.call("task", **errand("lead")))
                async with anyio.create_task_group() as group:
                    group.start_soon(ended)
                    with anyio.fail_after(LONG):
                        await person.was_asked.wait()
                    page = await windows.blank()
                    await page.goto(person.links[0].url)
                    await expect(page.get_by_role("heading", name="Sign in to answer")).to_be_visible()
                    assert served.console.door not in await page.content()
                    await page.goto(served.console.link(served.port))
                    await expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
                    path = person.links[0].url.removeprefix(served.origin)
                    await expect(page).to_have_url(f"{served.origin}/{served.console.door}{path}")
                    await page.goto(person.links[0].url)  # signed in: it leads on by itself
                    await expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
                    await page.get_by_role("button", name="Allow once").click()
                    await expect(only_card(page)).to_contain_text("Answered here in the console")
    assert state_of(ended.result) == "completed"
    assert (world.workspace / "out.txt").read_text() == "hello"
