"""A child asks, a person answers in a browser, and the child goes on: the whole server, with a scripted model."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from mcp_types import CallToolResult
from playwright.async_api import Locator, Page, expect

from mcp_server.records import Choice
from tests.behaviour.stories import (
    NEAR,
    PATH,
    Settable,
    answer_all,
    bounded,
    closed_prompt,
    content_of,
    errand,
    refused_in,
    state_of,
    team_world,
    until_ended,
)
from tests.behaviour.world import Connected, World, connect
from tests.browser.windows import Windows
from tests.gateway.browsing import Site, site
from tests.protocol.connect import Person, after, decides

TITLE = f"{PATH} wants to use write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A client that cannot show a prompt, and a console."""

    world: World
    connected: Connected
    served: Site

    async def begin(self) -> str:
        """Let the child start, which asks to write a file. The task's id."""
        return content_of(await bounded(self.connected.call("task", **errand("lead", background=True))))["task_id"]


@asynccontextmanager
async def staged(folder: Path, *, person: Person | None = None, clock: Callable[[], float] = time.time) -> AsyncGenerator[Scene]:
    world = team_world(folder)
    async with connect(world, NEAR, person=person, clock=clock) as connected, site(world.places.state) as served:
        yield Scene(world=world, connected=connected, served=served)


class Later:
    """A call's result, once its task has ended."""

    def __init__(self, call: Awaitable[CallToolResult]) -> None:
        self.call = call
        self.result: CallToolResult

    async def __call__(self) -> None:
        self.result = await bounded(self.call)


def only_card(page: Page) -> Locator:
    return page.locator("article.card")


async def told_in_audit(page: Page) -> list[str]:
    """What the audit page says of prompts, newest first; reached as a person would."""
    await page.get_by_role("link", name="Audit").click()
    await page.get_by_label("Kind").select_option("prompt")
    await page.get_by_role("button", name="Show").click()
    await page.wait_for_url("**/audit?kind=prompt*")
    return await page.locator("tbody td:last-child").all_inner_texts()


async def test_a_childs_prompt_appears_is_allowed_by_key_and_the_child_goes_on(windows: Windows, tmp_path: Path) -> None:
    async with staged(tmp_path) as scene:
        page = await windows.enter(scene.served)
        await expect(page.locator("#count")).to_have_text("Nobody waits for an answer.")
        task = await scene.begin()
        await expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
        await expect(page).to_have_title("(1) Inbox · Remit")
        assert not (scene.world.workspace / "out.txt").exists()
        await page.keyboard.press("a")  # nothing has the focus yet
        await page.keyboard.press("j")
        await expect(only_card(page)).to_be_focused()
        await page.keyboard.press("a")
        await expect(only_card(page).get_by_role("status")).to_contain_text("Answered here in the console")
        await expect(page.locator("#count")).to_have_text("Nobody waits for an answer.")
        await expect(only_card(page)).to_be_focused()
        ended = await bounded(until_ended(scene.connected, task))
        assert state_of(ended) == "completed"
        assert (scene.world.workspace / "out.txt").read_text() == "hello"
        assert (await told_in_audit(page))[:2] == ["answered: allow_once", "opened"]


async def test_a_denial_with_words_reaches_the_child(windows: Windows, tmp_path: Path) -> None:
    async with staged(tmp_path) as scene:
        page = await windows.enter(scene.served)
        task = await scene.begin()
        await expect(only_card(page)).to_be_visible()
        await page.keyboard.press("j")
        await page.keyboard.press("w")
        await page.keyboard.type("add nothing, dad")  # its letters answer nothing
        await page.keyboard.press("Enter")  # nor does this
        await expect(only_card(page).get_by_role("button", name="Deny", exact=False).first).to_be_enabled()
        await page.keyboard.press("Escape")
        await page.keyboard.press("d")
        await expect(only_card(page).get_by_role("status")).to_contain_text("deny it, with the words add nothing, dad")
        ended = await bounded(until_ended(scene.connected, task))
        assert refused_in(ended) == [(PATH, "write", "denied by the person")]
        assert not (scene.world.workspace / "out.txt").exists()
        assert (await told_in_audit(page))[0] == "answered: deny"


async def test_a_prompt_whose_time_is_up_says_so_and_has_no_button_left(windows: Windows, tmp_path: Path) -> None:
    at_another_screen, clock = Person(), Settable()
    async with staged(tmp_path, person=at_another_screen, clock=clock) as scene:
        at_another_screen.acts = [after(lambda: closed_prompt(scene.served.store), decides("allow_once"))]
        page = await windows.enter(scene.served)
        ended = Later(scene.connected.call("task", **errand("lead")))
        async with anyio.create_task_group() as group:
            group.start_soon(ended)
            await expect(only_card(page).get_by_role("button", name="Allow once")).to_be_visible()
            await at_another_screen.sees_a_form()
            clock.ahead = 1000.0
            await expect(only_card(page).locator("p.over")).to_contain_text("Nobody answered in time")
        assert await only_card(page).get_by_role("button").count() == 0
        assert refused_in(ended.result) == [(PATH, "write", "nobody answered in time")]
        assert not (scene.world.workspace / "out.txt").exists()


async def test_a_prompt_that_was_answered_elsewhere_is_withdrawn_where_it_stands(windows: Windows, tmp_path: Path) -> None:
    async with staged(tmp_path) as scene:
        page = await windows.enter(scene.served)
        task = await scene.begin()
        await expect(only_card(page).get_by_role("button", name="Allow once")).to_be_visible()
        await page.keyboard.press("j")
        await answer_all(scene.served.store, await scene.connected.open_prompts())
        await expect(only_card(page).get_by_role("status")).to_contain_text("Answered in a terminal")
        await expect(only_card(page)).to_be_focused()
        await page.keyboard.press("d")  # too late, and there is nothing to press
        await page.get_by_role("button", name="Clear what is over").click()
        await expect(only_card(page)).to_have_count(0)
        assert state_of(await bounded(until_ended(scene.connected, task))) == "completed"


async def test_of_two_browsers_the_second_sees_what_the_first_answered(windows: Windows, tmp_path: Path) -> None:
    async with staged(tmp_path) as scene:
        first, second = await windows.enter(scene.served), await windows.enter(scene.served)
        task = await scene.begin()
        for page in (first, second):
            await expect(only_card(page)).to_be_visible()
        await first.get_by_role("button", name="Allow once").click()
        for page in (first, second):
            await expect(only_card(page).get_by_role("status")).to_contain_text("Answered here in the console")
        assert state_of(await bounded(until_ended(scene.connected, task))) == "completed"


async def test_of_two_browsers_that_answer_at_once_one_counts_and_the_other_is_told(windows: Windows, tmp_path: Path) -> None:
    async with staged(tmp_path) as scene:
        allowing, denying = await windows.enter(scene.served), await windows.enter(scene.served)
        task = await scene.begin()
        for page in (allowing, denying):
            await expect(only_card(page)).to_be_visible()
            await page.keyboard.press("j")
        async with anyio.create_task_group() as group:
            group.start_soon(allowing.keyboard.press, "a")
            group.start_soon(denying.keyboard.press, "d")
        for page in (allowing, denying):
            await expect(only_card(page).locator("p.over")).to_contain_text("Answered here in the console")
        given = [event.outcome for event in await scene.served.audit() if event.outcome.startswith("answered: ")]
        assert given in ([f"answered: {Choice.ALLOW_ONCE.value}"], [f"answered: {Choice.DENY.value}"])
        await bounded(until_ended(scene.connected, task))
        allowed = given == [f"answered: {Choice.ALLOW_ONCE.value}"]
        assert (scene.world.workspace / "out.txt").exists() is allowed


async def test_without_scripts_a_prompt_is_answered_by_loading_the_page_and_pressing_a_button(windows: Windows, tmp_path: Path) -> None:
    async with staged(tmp_path) as scene:
        task = await scene.begin()
        await scene.connected.open_prompts()
        page = await windows.enter(scene.served, scripts=False)
        await expect(page.locator("#live")).to_have_text("Load the page again to see what is new.")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.locator("p.over")).to_contain_text("Answered here in the console")
        assert state_of(await bounded(until_ended(scene.connected, task))) == "completed"
