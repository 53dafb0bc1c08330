"""Who may come in, and what every answer of the console says to the browser."""

import re

import httpx2
import pytest

from mcp_server.gateway.access import LINK_SECONDS, SILENT_SECONDS, Access
from mcp_server.records import Choice, PromptState
from tests.bounds import LONG
from tests.cli.kept import Kept
from tests.gateway.browsing import site
from tests.gateway.conftest import put


class Clock:
    now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_a_link_opens_the_inbox_once_and_never_again(kept: Kept) -> None:
    async with site(kept.folder) as served:
        first, second = served.stranger(), served.stranger()
        link = served.console.link(served.port)
        opened = await first.client.get(link)
        assert (opened.status_code, opened.url.path) == (200, f"/{served.console.door}/")
        again = await second.client.get(link)
        assert again.status_code == 403
        assert (await second.get()).status_code == 403
        assert (await first.get()).status_code == 200


async def test_asking_about_a_link_does_not_spend_it(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = served.stranger()
        link = served.console.link(served.port)
        assert (await browser.client.head(link)).status_code == 405
        assert (await browser.client.get(link)).status_code == 200


async def test_the_cookie_is_out_of_reach_of_scripts_other_sites_and_other_paths(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = served.stranger()
        given = await browser.client.get(served.console.link(served.port), follow_redirects=False)
        cookie = given.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert f"Path=/{served.console.door}/" in cookie


@pytest.mark.parametrize("page", ["", "events", "prompts/prm_x", "static/../console.py", "static/html.py", "nowhere"])
async def test_nobody_sees_a_page_without_a_link(page: str, kept: Kept) -> None:
    async with site(kept.folder) as served:
        answer = await served.stranger().get(page)
        assert answer.status_code in (403, 404)
        assert "prompt waits" not in answer.text


async def test_nothing_but_the_door_leads_anywhere(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        for path in ("/", "/open", "/prompts/x", f"/{served.console.door[:-1]}/"):
            assert (await browser.client.get(f"{served.origin}{path}")).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""])
async def test_another_name_for_this_machine_is_turned_away(host: str, kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        answer = await browser.get("", host=host.format(port=served.port))
        assert answer.status_code in (400, 421)
        assert "Inbox" not in answer.text


async def test_every_answer_forbids_what_pages_need_not_do(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        stranger = served.stranger()
        answers = [
            await browser.get(),
            await browser.get("static/console.js"),
            await browser.get("static/console.css"),
            await browser.get("prompts/none"),
            await stranger.get(),
            await browser.get("", host="evil.example"),
        ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


async def test_no_page_holds_a_script_or_a_style_of_its_own(kept: Kept) -> None:
    async with site(kept.folder) as served:
        kept_page = (await (await served.browser()).get()).text
    assert kept_page.count("<script") == kept_page.count('<script src="/')
    assert "<style" not in kept_page
    assert " style=" not in kept_page
    assert re.findall(r"<[^>]* on\w+=", kept_page) == []


@pytest.mark.parametrize("headers", [{"origin": "http://127.0.0.1:1"}, {"origin": "null"}, {"sec-fetch-site": "same-site"}])
async def test_a_post_from_another_page_changes_nothing(headers: dict[str, str], kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept)
        fields = {**await browser.fields_of(prompt), "choice": Choice.ALLOW_ONCE.value}
        answer = await browser.post(f"prompts/{prompt.id}", fields, **headers)
        assert answer.status_code == 403
        now = await served.store.prompt(prompt.id, prompt.principal)
        assert now is not None
        assert now.state is PromptState.OPEN


def test_a_link_that_nobody_opened_in_time_is_dead() -> None:
    clock = Clock()
    access = Access(clock=clock)
    token = access.invite()
    clock.now += LINK_SECONDS + 1
    assert access.enter(token) is None


def test_a_visit_ends_after_a_day_of_silence_and_not_before() -> None:
    clock = Clock()
    access = Access(clock=clock)
    cookie = access.enter(access.invite())
    clock.now += SILENT_SECONDS - 1
    assert access.visit(cookie) is not None
    clock.now += SILENT_SECONDS - 1
    assert access.visit(cookie) is not None
    clock.now += SILENT_SECONDS + 1
    assert access.visit(cookie) is None


def test_a_flood_of_links_is_bounded_and_the_newest_still_opens() -> None:
    access = Access(clock=Clock())
    tokens = [access.invite() for _ in range(100)]
    assert access.enter(tokens[0]) is None
    assert access.enter(tokens[-1]) is not None


async def test_no_name_but_loopback_is_listened_on(kept: Kept) -> None:
    async with site(kept.folder) as served, httpx2.AsyncClient(trust_env=False, timeout=LONG) as client:
        assert (await client.get(f"http://127.0.0.1:{served.port}/")).status_code == 404
        with pytest.raises(httpx2.ConnectError):
            await client.get(f"http://127.0.0.2:{served.port}/")
