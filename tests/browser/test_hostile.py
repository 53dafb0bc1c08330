"""What a model or a file chose, as a browser lays it out: text, with all that hides in it on show, and no way around the buttons."""

import pytest
from playwright.async_api import Locator, Page, expect

from mcp_server.records import PromptState
from tests.browser.windows import DESK, PHONE, Windows
from tests.cli.kept import Kept
from tests.gateway.browsing import site
from tests.gateway.test_hostile import HIDING, MARKUP, saying

HUGE = (f"{MARKUP}{HIDING}\n" + "W" * 900 + "\n") * 100
"""100 KB of everything."""

PRETENDING = "</p></section><div class='over'>Answered here in the console: allow it once</div><button>Allow once</button>"

TEXTS = {"markup": MARKUP, "hiding": HIDING, "huge": HUGE, "pretending": PRETENDING, "dense": "א\u202e" * 4000, "lines": "\n" * 90_000}

REACHED = """card => [...card.querySelectorAll("button:enabled")].map(button => {
    button.scrollIntoView({block: "center"});
    const box = button.getBoundingClientRect();
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return button.contains(hit);
})"""
"""Of each button: is it on top where it is drawn?"""

KINDS = "card => [...card.querySelectorAll('*')].map(one => one.localName)"


async def kinds_in(card: Locator) -> set[str]:
    kinds: list[str] = await card.evaluate(KINDS)
    return set(kinds)


async def no_sideways_scrolling(page: Page) -> None:
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize(("name", "size"), [*((name, DESK) for name in TEXTS), ("markup", PHONE), ("huge", PHONE)], ids=str)
async def test_a_hostile_prompt_is_read_and_denied_as_any_other(name: str, size: tuple[int, int], windows: Windows, kept: Kept) -> None:
    text = TEXTS[name]
    async with site(kept.folder) as served:
        page = await windows.enter(served, size=size)
        await served.store.add_prompt(prompt := kept.prompt_of(saying(text)))
        card = page.locator("article.card")
        await expect(card).to_be_visible()
        assert await kinds_in(card) <= {
            "header", "h2", "h3", "p", "bdi", "time", "span", "section", "ul", "li", "code", "mark", "dl", "dt", "dd", "pre",
            "div", "form", "input", "button", "kbd", "label",
        }  # fmt: skip
        assert await card.get_by_role("button").all_inner_texts() == [
            "Allow once a", "Allow for this subagent s", "Deny d", "Deny for this subagent x",
        ]  # fmt: skip
        assert await card.evaluate(REACHED) == [True] * 4
        assert await card.locator("p.over").count() == 0
        await no_sideways_scrolling(page)
        height: float = await card.evaluate("card => card.offsetHeight")
        assert height < 4500, "a person finds the buttons"
        await page.keyboard.press("j")
        await page.keyboard.press("d")
        await expect(card.locator("p.over")).to_contain_text("Answered here in the console")
        now = await served.store.prompt(prompt.id, prompt.principal)
        assert now is not None
        assert now.state is PromptState.ANSWERED


async def test_what_hides_is_seen_in_its_place_and_order(windows: Windows, kept: Kept) -> None:
    async with site(kept.folder) as served:
        page = await windows.enter(served)
        await served.store.add_prompt(kept.prompt_of(saying("safe.txt\u202egpj.exe\u200b\x1b[2J")))
        first = page.locator("ul.wants code").first
        await expect(first).to_have_text("safe.txt\\u202egpj.exe\\u200b\\u001b[2J")
        marks = first.locator("mark.escape")
        await expect(marks).to_have_text(["\\u202e", "\\u200b\\u001b"])
        for mark in await marks.all():
            await expect(mark).to_be_in_viewport()
            assert await mark.evaluate("one => getComputedStyle(one).backgroundColor") != "rgba(0, 0, 0, 0)"
        # Drawn from left to right: no character stands left of the one before it.
        places: list[float] = await first.evaluate(
            """code => [...code.childNodes].map(node => {
                const range = document.createRange();
                range.selectNodeContents(node);
                return range.getBoundingClientRect().left;
            })"""
        )
        assert places == sorted(places)


async def test_no_script_of_a_page_of_ours_is_needed_to_see_that_text_stays_text(windows: Windows, kept: Kept) -> None:
    async with site(kept.folder) as served:
        page = await windows.enter(served, policy=False)  # were the policy not there, nothing would run either
        await served.store.add_prompt(kept.prompt_of(saying(MARKUP)))
        await expect(page.locator("article.card")).to_be_visible()
        assert await page.locator("article.card").locator("script, img, textarea, a, iframe").count() == 0
        assert await page.locator("ul.wants code").first.inner_text() == MARKUP
