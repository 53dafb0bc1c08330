"""Five hundred open prompts in one inbox."""

from dataclasses import replace

from playwright.async_api import expect

from mcp_server.gateway.inbox import MOST_CARDS
from mcp_server.records import Prompt, PromptId
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Store
from tests.browser.windows import Windows
from tests.cli.kept import APPROVAL, Kept
from tests.gateway.browsing import site


async def crowd(kept: Kept, store: Store, count: int, *, later: float = 0) -> list[Prompt]:
    """So many open prompts, oldest first, the first of them so many seconds later than it would be."""
    first = kept.prompt_of(APPROVAL)
    prompts = [replace(first, id=PromptId(mint("prm")), created_at=first.created_at + later + number) for number in range(count)]
    for prompt in prompts:
        await store.add_prompt(prompt)
    return prompts


async def test_of_five_hundred_prompts_the_page_stays_small_and_is_answered_by_keys(windows: Windows, kept: Kept) -> None:
    async with site(kept.folder) as served:
        prompts = await crowd(kept, served.store, 500)
        page = await windows.enter(served)
        cards = page.locator("article.card")
        further = page.locator("#further")
        await expect(page.locator("#count")).to_have_text("500 prompts wait for you.")
        await expect(cards).to_have_count(MOST_CARDS)
        assert await page.evaluate("document.querySelectorAll('*').length") < 6000
        for answered, key in enumerate("adx", start=1):
            await page.keyboard.press("j")
            at = cards.nth(answered - 1)
            await expect(at).to_be_focused()
            await expect(at).to_be_in_viewport()
            await page.keyboard.press(key)
            await expect(at.locator("p.over")).to_be_visible()
            await expect(page.locator("#count")).to_have_text(f"{500 - answered} prompts wait for you.")
            await expect(cards).to_have_count(MOST_CARDS + answered)
            await expect(further.locator("h2")).to_have_text(f"{460 - answered} more behind these")
            await expect(further.locator("li")).to_have_count(460 - answered)
        await further.get_by_role("link").last.click()
        await expect(page.locator("article.card")).to_have_attribute("data-prompt", prompts[-1].id)


async def test_what_comes_behind_a_full_inbox_is_listed_by_itself(windows: Windows, kept: Kept) -> None:
    async with site(kept.folder) as served:
        await crowd(kept, served.store, MOST_CARDS)
        page = await windows.enter(served)
        await expect(page.locator("#further")).to_be_hidden()
        (newest,) = await crowd(kept, served.store, 1, later=1000)
        await expect(page.locator("#further li")).to_have_attribute("data-prompt", newest.id)
        await expect(page.locator("article.card")).to_have_count(MOST_CARDS)
        (oldest,) = await crowd(kept, served.store, 1, later=-1000)
        await expect(page.locator(f"#card-{oldest.id}")).to_be_visible()
        await expect(page.locator("#further li")).to_have_attribute("data-prompt", newest.id)


async def test_j_goes_to_the_next_open_prompt_past_those_that_are_over(windows: Windows, kept: Kept) -> None:
    async with site(kept.folder) as served:
        await crowd(kept, served.store, 4)
        page = await windows.enter(served)
        cards = page.locator("article.card")
        for place, key in (("1", "j"), ("2", "j"), ("3", "j")):
            await page.keyboard.press(key)
            await expect(cards.nth(int(place) - 1)).to_be_focused()
        await page.keyboard.press("a")
        await expect(cards.nth(2).locator("p.over")).to_be_visible()
        await page.keyboard.press("j")
        await expect(cards.nth(3)).to_be_focused()
        await page.keyboard.press("k")
        await expect(cards.nth(1)).to_be_focused()
        await page.keyboard.press("j")
        await expect(cards.nth(3)).to_be_focused()
        await page.keyboard.press("j")
        await expect(cards.nth(3)).to_be_focused()
