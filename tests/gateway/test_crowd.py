"""Five hundred open prompts stay usable."""

from dataclasses import replace

from mcp_server.gateway.inbox import MOST_CARDS
from mcp_server.records import Choice, PromptId
from mcp_server.store.ids import mint
from tests.cli.kept import Kept
from tests.gateway.browsing import site, words_of
from tests.gateway.conftest import put


async def test_of_five_hundred_prompts_the_oldest_are_whole_and_every_other_one_click_away(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        first = await put(kept)
        others = [replace(first, id=PromptId(mint("prm")), created_at=first.created_at + number) for number in range(1, 500)]
        for other in others:
            await served.store.add_prompt(other)
        page = (await browser.get()).text
        assert "500 prompts wait for you." in words_of(page)
        assert page.count('<article class="card open"') == MOST_CARDS
        assert [other.id for other in others if f"/prompts/{other.id}" not in page] == []
        await browser.answers(others[-1], Choice.DENY)
        assert "499 prompts wait for you." in words_of((await browser.get()).text)
