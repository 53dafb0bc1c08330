"""Through the pages of the authorization server: by a real browser, or without one where the pages are not what a test is about."""

import re
from urllib.parse import urljoin

import httpx2
from playwright.async_api import Page

from tests.authorization.records import Member
from tests.bounds import LONG


async def signs_in(page: Page, member: Member, *, agrees: bool = True) -> None:
    """Fill in and press what the server shows; a window that signed in before is only asked whether it agrees."""
    await page.get_by_role("heading").wait_for()
    if await page.get_by_role("heading", name="Sign in").count():
        await page.locator("[name=username]").fill(member.name)
        await page.locator("[name=password]").fill(member.password)
        await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Agree" if agrees else "Refuse").click()


async def walked(address: str, member: Member) -> str:
    """The address that the browser would be sent back to, with the code in it."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=LONG) as browser:
        page = await browser.get(address)
        fields = {**_hidden(page.text), "username": member.name, "password": member.password}
        page = await browser.post(urljoin(address, "/enter"), data=fields)
        assert "<h1>Agree</h1>" in page.text, page.text
        fields = {**_hidden(page.text), "agreed": "yes"}
        back = await browser.post(urljoin(address, "/agree"), data=fields, follow_redirects=False)
        assert back.status_code == 302, back.text
        return back.headers["location"]


def _hidden(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page)
    return {name: value.replace("&amp;", "&") for name, value in found}
