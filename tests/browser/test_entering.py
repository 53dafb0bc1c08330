"""The way into the console, in a browser."""

import pytest

from tests.browser.windows import Windows
from tests.cli.kept import Kept
from tests.gateway.browsing import site


async def test_the_link_opens_the_inbox_once_and_a_second_browser_stays_outside(windows: Windows, kept: Kept) -> None:
    async with site(kept.folder) as served:
        link = served.console.link(served.port)
        first, second = await windows.blank(), await windows.blank()
        await first.goto(link)
        await first.get_by_text("Live: new prompts appear by themselves.").wait_for()
        assert "token" not in first.url
        answer = await second.goto(link)
        assert answer is not None
        assert answer.status == 403
        assert await second.locator("h1").inner_text() == "Not open here"
        assert await second.locator("nav").count() == 0
        await first.reload()
        await first.get_by_text("Live: new prompts appear by themselves.").wait_for()


@pytest.mark.parametrize("page", ["", "sessions", "rulings", "audit"])
async def test_without_a_cookie_no_page_is_shown(page: str, windows: Windows, kept: Kept) -> None:
    async with site(kept.folder) as served:
        stranger = await windows.blank()
        answer = await stranger.goto(f"{served.origin}/{served.console.door}/{page}")
        assert answer is not None
        assert answer.status == 403
        assert await stranger.locator("h1").inner_text() == "Not open here"
