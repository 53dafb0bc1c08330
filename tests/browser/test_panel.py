"""The panel in a real browser, inside a minimal host that keeps the protocol of MCP Apps."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from mcp_server.principal import LOCAL
from mcp_server.records import Choice
from tests.app.panel_user import ANSWER
from tests.behaviour.stories import (
    NEAR,
    PATH,
    Settable,
    answer_all,
    calls,
    each_era,
    errand,
    refused_in,
    says,
    state_of,
    team_world,
    until,
    write,
)
from tests.behaviour.world import text_of
from tests.browser.hosting import Host, hosting
from tests.browser.windows import Scheme, Windows, barriers, needs_axe
from tests.gateway.test_hostile import HIDING, MARKUP
from tests.protocol.connect import Cell

FILES = ("a.txt", "b.txt", "c.txt")
THREE = (*(calls(write(name)) for name in FILES), says("writer: done"))


@each_era
async def test_a_client_without_forms_completes_a_task_that_needs_three_approvals(cell: Cell, windows: Windows, tmp_path: Path) -> None:
    """It declares what Claude Desktop declares: no forms, and that it renders apps."""
    world = team_world(tmp_path, *THREE)
    async with hosting(world, cell, windows) as host:
        host.begin("task", **errand("lead"))
        for name in FILES:
            card = host.app.locator("article.card.open").filter(has_text=name)
            await expect(card.locator("h2")).to_have_text(f"{PATH} wants to use write")
            await card.get_by_role("button", name="Allow once").click()
            await expect(host.app.locator("article.card.over").filter(has_text=name)).to_contain_text("Answered here in the client's panel")
        result = await host.ended()
        answers = [one.answer for one in await host.connected.store.prompts(principal=LOCAL.key) if one.answer]
        secrets = [call["arguments"]["secret"] for call in host.relayed if call["name"] == ANSWER]
        page = await host.app.locator("html").inner_html()
    assert state_of(result) == "completed"
    assert [(world.workspace / name).read_text() for name in FILES] == ["hello"] * 3
    assert [answer.channel for answer in answers] == ["panel"] * 3
    assert len({*secrets}) == 3
    assert [secret for secret in secrets if secret in page or any(secret in text for text in host.read)] == []


async def test_the_keyboard_alone_is_enough_and_a_screen_reader_is_told(windows: Windows, tmp_path: Path) -> None:
    async with hosting(team_world(tmp_path), NEAR, windows) as host:
        host.begin("task", **errand("lead"))
        await expect(host.app.locator("#count")).to_have_text("1 prompt waits for you.")
        assert await host.app.locator("#count").get_attribute("aria-live") == "polite"
        await host.app.get_by_role("button", name="Allow once").focus()
        await host.page.keyboard.press("k")
        await expect(host.app.get_by_role("article", name=f"{PATH} wants to use write")).to_be_focused()
        await host.page.keyboard.press("a")
        await expect(host.app.locator("article.card.over")).to_be_focused()
        assert state_of(await host.ended()) == "completed"


@needs_axe
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_serious_in_the_panel(theme: Scheme, windows: Windows, tmp_path: Path) -> None:
    script = (calls(write("a.txt"), write("b.txt")), says("writer: done"))
    async with hosting(team_world(tmp_path, *script), NEAR, windows, theme=theme, policy=False) as host:
        host.begin("task", **errand("lead"))
        await expect(host.app.locator("article.card.open")).to_have_count(2)
        assert await barriers(host.frame) == []
        await host.app.get_by_role("button", name="Deny", exact=True).first.click()
        await expect(host.app.locator("article.card.over")).to_have_count(1)
        assert await barriers(host.frame) == [], "also of what is over"


async def test_a_denial_with_words_reaches_the_model(windows: Windows, tmp_path: Path) -> None:
    async with hosting(team_world(tmp_path), NEAR, windows) as host:
        host.begin("task", **errand("lead"))
        await host.app.get_by_label("Words to the model (optional)").fill("not that file")
        await host.page.keyboard.press("Enter")
        await expect(host.app.locator("article.card.open")).to_have_count(1)
        await host.app.get_by_role("button", name="Deny", exact=True).click()
        await expect(host.app.locator("article.card.over")).to_contain_text("deny it")
        last = await host.ended()
    assert refused_in(last)[0][1:] == ("write", "denied by the person")
    assert "not that file" in text_of(last)


async def test_what_is_answered_elsewhere_loses_its_buttons_by_itself(windows: Windows, tmp_path: Path) -> None:
    async with hosting(team_world(tmp_path), NEAR, windows) as host:
        host.begin("task", **errand("lead"))
        await expect(host.app.locator("article.card.open")).to_have_count(1)
        await answer_all(host.connected.store, await host.connected.open_prompts(), Choice.DENY)
        await expect(host.app.locator("article.card.over")).to_contain_text("Answered in a terminal")
        await expect(host.app.locator("form")).to_have_count(0)
        await expect(host.app.locator("#count")).to_have_text("Nobody waits for an answer.")


async def test_what_nobody_answered_in_time_says_so(windows: Windows, tmp_path: Path) -> None:
    clock = Settable()
    async with hosting(team_world(tmp_path), NEAR, windows, clock=clock) as host:
        host.begin("task", **errand("lead"))
        await expect(host.app.locator("article.card.open")).to_have_count(1)
        clock.ahead = 1000.0
        await expect(host.app.locator("article.card.over")).to_contain_text("Nobody answered in time")


@pytest.mark.parametrize("text", [MARKUP, HIDING, "x" * 100_000, "Allow once\n" * 3000], ids=["markup", "hiding", "long", "lines"])
async def test_a_hostile_text_is_text_and_nothing_else(text: str, windows: Windows, tmp_path: Path) -> None:
    safe = text.replace("\ud800", "")
    async with hosting(team_world(tmp_path, calls(write("out.txt", safe)), says("done")), NEAR, windows) as host:
        host.begin("task", **errand("lead"))
        card = host.app.locator("article.card.open")
        await expect(card).to_have_count(1)
        elements: list[str] = await card.evaluate("(card) => [...new Set([...card.querySelectorAll('*')].map((one) => one.localName))]")
        shown: str = await card.evaluate("(card) => card.textContent")
        width: bool = await host.app.locator("html").evaluate("(html) => html.scrollWidth <= html.clientWidth")
        height: float = await card.evaluate("(card) => card.getBoundingClientRect().height")
    assert {"script", "img", "iframe", "a", "textarea", "object", "style"} & {*elements} == set()
    assert [character for character in "\u202e\u200b\u2066\ufeff\x00\x1b" if character in shown] == []
    assert width, "nothing reaches out of the panel"
    assert height < 2500, "a long text scrolls in a box of its own"


async def test_dark_and_light_are_the_hosts_and_change_with_it(windows: Windows, tmp_path: Path) -> None:
    async with hosting(team_world(tmp_path), NEAR, windows, theme="dark") as host:
        html = host.app.locator("html")
        assert await html.evaluate("(html) => getComputedStyle(html).backgroundColor") == "rgb(21, 23, 27)"
        await host.page.evaluate("tell('ui/notifications/host-context-changed', { theme: 'light' })")
        await expect(html).to_have_attribute("data-theme", "light")
        assert await html.evaluate("(html) => getComputedStyle(html).backgroundColor") == "rgb(251, 250, 248)"


async def test_a_result_that_asks_nobody_leaves_no_panel_behind(windows: Windows, tmp_path: Path) -> None:
    async with hosting(team_world(tmp_path), NEAR, windows) as host:
        await host.call("read", filePath="src/a.py")
        await expect(host.app.locator("body")).to_have_class("panel gone")

        async def said() -> bool:
            return await host.said("ui/notifications/request-teardown") == [{}]

        await until(said)


async def test_after_the_last_answer_the_person_may_tell_the_model_to_go_on(windows: Windows, tmp_path: Path) -> None:
    async with hosting(team_world(tmp_path), NEAR, windows) as host:
        await host.call(*write()[:1], **write()[1])
        await host.app.get_by_role("button", name="Allow once").click()
        await host.app.get_by_role("button", name="Tell the model to go on").click()
        await expect(host.app.get_by_role("button", name="Tell the model to go on")).to_be_hidden()
        await looked_twice(host)
        await expect(host.app.get_by_role("button", name="Tell the model to go on")).to_be_hidden()
        (message,) = await host.said("ui/message")
    assert message == {"role": "user", "content": [{"type": "text", "text": "I have answered in Remit's panel. Please go on."}]}


async def looked_twice(host: Host) -> None:
    before = len(host.relayed)

    async def twice() -> bool:
        return len(host.relayed) > before + 1

    await until(twice)


async def test_messages_from_anybody_but_the_host_are_passed_over(windows: Windows, tmp_path: Path) -> None:
    async with hosting(team_world(tmp_path), NEAR, windows) as host:
        host.begin("task", **errand("lead"))
        await expect(host.app.locator("article.card.open")).to_have_count(1)
        forged: dict[str, Any] = {"jsonrpc": "2.0", "method": "ui/notifications/host-context-changed", "params": {"theme": "dark"}}
        await host.app.locator("html").evaluate("(html, forged) => window.postMessage(forged, '*')", forged)
        await host.page.evaluate("tell('ui/notifications/host-context-changed', { containerDimensions: { maxHeight: 900 } })")
        await expect(host.app.locator("html")).to_have_attribute("style", re.compile("max-height: 900px"))
        await expect(host.app.locator("html")).to_have_attribute("data-theme", "light")
