"""The pages beside the inbox: what stands, and what happened."""

import html
import json
import re
from dataclasses import replace

import anyio
import pytest

from mcp_server.gateway import audit
from mcp_server.principal import LOCAL
from mcp_server.records import Choice
from mcp_server.sessions import exporting
from tests.cli.kept import CHILD, DECISION, RULE, WRITER, Kept
from tests.gateway.browsing import hidden_in, site, words_of
from tests.gateway.conftest import put


async def test_a_ruling_is_listed_and_taken_back_and_the_audit_tells_it(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        await browser.answers(await put(kept), Choice.ALLOW_SESSION)
        (ruling,) = await served.store.rulings(principal=LOCAL.key)
        page = (await browser.get("rulings")).text
        assert f"allow, session: {RULE}" in words_of(page)
        assert "build › explore" in words_of(page)
        after = await browser.post(f"rulings/{ruling.id}", hidden_in(page))
        assert "No ruling stands" in words_of(after.text)
        (taken,) = await served.store.rulings(principal=LOCAL.key)
        assert taken.revoked_at is not None
        assert "revoked" in [event.outcome for event in await served.audit() if event.kind == "ruling"]


async def test_a_ruling_is_taken_back_once_and_by_its_own_form_alone(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser, stranger = await served.browser(), served.stranger()
        await browser.answers(await put(kept), Choice.ALLOW_SESSION)
        (ruling,) = await served.store.rulings(principal=LOCAL.key)
        fields = hidden_in((await browser.get("rulings")).text)
        for refused in (await stranger.post(f"rulings/{ruling.id}", fields), await browser.post(f"rulings/{ruling.id}", {"key": "x"})):
            assert refused.status_code == 403
        (standing,) = await served.store.rulings(principal=LOCAL.key)
        assert standing.revoked_at is None
        assert (await browser.post(f"rulings/{ruling.id}", fields)).status_code == 200
        assert (await browser.post(f"rulings/{ruling.id}", fields)).status_code == 409
        assert (await browser.post("rulings/rul_none", fields)).status_code == 409


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 1), ("?kind=decision", 1), ("?kind=run", 0), ("?action=deny", 1), ("?action=allow", 0), ("?tool=read", 1), ("?tool=edit", 0)],
)
async def test_the_audit_is_searched_by_what_the_form_says(query: str, count: int, kept: Kept) -> None:
    async with site(kept.folder) as served:
        page = words_of((await (await served.browser()).get(f"audit{query}")).text)
    assert f"{count} event{'' if count == 1 else 's'}." in page
    assert ("built-in guard: read .env* ask" in page) is bool(count)


async def test_a_filter_that_means_nothing_says_so_and_stays_text(kept: Kept) -> None:
    async with site(kept.folder) as served:
        page = (await (await served.browser()).get('audit?since="><script>&kind=x&session=%00')).text
    assert "neither a span such as 30m" in page
    assert page.count("<script") == 2
    assert "0 events." in page


async def filled(kept: Kept, count: int, **fields: str) -> None:
    """So many further events."""
    events = [replace(DECISION, outcome=f"number {number}", **fields) for number in range(count)]  # pyright: ignore[reportArgumentType] - texts
    await anyio.to_thread.run_sync(lambda: kept.use(lambda store: store.audit(events)))


async def test_older_events_are_a_page_further_as_far_as_there_are_any(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MOST_READ", 20)
    monkeypatch.setattr(audit, "AT_ONCE", 10)
    monkeypatch.setattr(audit, "MOST_ROWS", 15)
    await filled(kept, 30)
    seen, place, page = list[str](), "audit", ""
    async with site(kept.folder) as served:
        browser = await served.browser()
        for _ in range(3):
            page = html.unescape((await browser.get(place)).text)
            seen += re.findall(r">(number \d+)<", page)
            found = re.search(r'href="/[^/]+/(audit\?before=\d+)" rel="next"', page)
            place = found[1] if found else ""
        other = words_of((await browser.get("audit?tool=edit")).text)
    assert seen == [f"number {number}" for number in reversed(range(30))]
    assert place == ""
    assert "1 event, the oldest ones." in words_of(page)
    assert "0 events of the newest 20; there are older ones." in other


@pytest.mark.parametrize(("form", "ending"), [("jsonl", "Z.jsonl"), ("ocsf", "Z.ocsf.jsonl")])
async def test_an_export_holds_all_that_the_filters_select_and_writes_nothing(
    form: str, ending: str, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "PAGE", 10)
    await filled(kept, 35, tool="bash")
    async with site(kept.folder) as served:
        browser = await served.browser()
        page = html.unescape((await browser.get("audit?tool=bash")).text)
        assert f"/audit/export?tool=bash&form={form}" in page
        answer = await browser.get(f"audit/export?tool=bash&form={form}")
        everything = await browser.get(f"audit/export?form={form}")
        kept_now = len(await served.audit())
    lines = [json.loads(line) for line in answer.text.splitlines()]
    told = [line["unmapped"]["remit"] if form == "ocsf" else line for line in lines]
    assert [one["outcome"] for one in told] == [f"number {number}" for number in range(35)]
    assert len(everything.text.splitlines()) == kept_now == 36
    named = rf'attachment; filename="remit-audit-[0-9T-]+{re.escape(ending)}"'
    assert re.fullmatch(named, answer.headers["content-disposition"])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("form=csv", "no such form"),
        ("since=yesterday", "neither a span such as 30m"),
        ("kind=decisions", "no such kind of event"),
        ("action=denied", "no such decision"),
    ],
)
async def test_an_export_of_what_means_nothing_is_refused(query: str, said: str, kept: Kept) -> None:
    async with site(kept.folder) as served:
        answer = await (await served.browser()).get(f"audit/export?{query}")
    assert answer.status_code == 400
    assert said in words_of(answer.text)


async def test_nobody_without_a_visit_gets_an_export(kept: Kept) -> None:
    async with site(kept.folder) as served:
        answer = await served.stranger().get("audit/export")
    assert answer.status_code == 403
    assert "decision" not in answer.text


async def test_redacted_arguments_are_shown_where_the_audit_holds_them_and_no_column_is_where_not(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        assert "Arguments" not in words_of((await browser.get("audit")).text)
        await filled(kept, 1, arguments='{"command": "echo <b>"}')
        page = (await browser.get("audit")).text
    assert "Arguments" in words_of(page)
    assert '{"command": "echo &lt;b&gt;"}' in page


async def test_sessions_stand_as_a_tree_with_what_each_waits_for(kept: Kept) -> None:
    await anyio.to_thread.run_sync(kept.working)
    prompt = await anyio.to_thread.run_sync(lambda: kept.prompt(session=WRITER))
    async with site(kept.folder) as served:
        browser = await served.browser()
        going, everything = (await browser.get("sessions")).text, (await browser.get("sessions?all=1")).text
    rows = re.findall(r'class="depth-(\d)"[^>]*>(.*?)</li>', going)
    assert [(depth, words_of(row).split()[0]) for depth, row in rows] == [("0", "build"), ("1", "writer"), ("2", "explore"), ("1", "1")]
    assert f"/prompts/{prompt.id}" in going
    assert "completed" not in words_of(going)
    assert "completed" in words_of(everything)


async def test_a_transcript_shows_each_call_its_verdict_and_its_end(kept: Kept) -> None:
    async with site(kept.folder) as served:
        text = (await (await served.browser()).get(f"sessions/{CHILD}")).text
    page = words_of(text)
    for said in ("look around", "I look", "calls read", "deny (deny) by built-in guard: read .env* ask", "read: denied by the person"):
        assert said in page
    assert "refused:" in page
    assert "\\u001b" in text
    assert "\x1b" not in text


async def test_a_session_that_is_not_there_is_not_found(kept: Kept) -> None:
    async with site(kept.folder) as served:
        assert (await (await served.browser()).get("sessions/ses_none")).status_code == 404


@pytest.mark.parametrize("page", ["", "rulings", "audit", "sessions", f"sessions/{CHILD}"])
async def test_every_field_has_a_label_and_every_page_one_heading(page: str, kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        await browser.answers(await put(kept), Choice.ALLOW_SESSION)
        await put(kept)
        text = (await browser.get(page)).text
    labelled = set(re.findall(r'<label for="([^"]+)"', text))
    fields = [tag for tag in re.findall(r"<(?:input|select)[^>]*>", text) if 'type="hidden"' not in tag]
    assert [tag for tag in fields if (found := re.search(r' id="([^"]+)"', tag)) is None or found[1] not in labelled] == []
    assert text.count("<h1") == 1
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert 'lang="en"' in text
    assert text.count("aria-current") == 1
