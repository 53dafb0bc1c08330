"""Several people at one console: each sees and changes what is theirs, by whatever program it came about, and nothing else."""

import time
from contextlib import aclosing
from dataclasses import dataclass, replace

import anyio
import pytest

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL, Principal, TokenPrincipal
from mcp_server.records import AuditEvent, Choice, Prompt, PromptState
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Store
from tests.bounds import LONG
from tests.cli.kept import AT, Kept
from tests.gateway.browsing import Browser, Site, site
from tests.gateway.conftest import put
from tests.gateway.test_live import opened

ISSUER = "https://login.example.org"


def member(subject: str, client: str = "console", issuer: str = ISSUER) -> TokenPrincipal:
    return TokenPrincipal(issuer=issuer, subject=subject, client=client)


ADA = member("ada")
ADAS_EDITOR = member("ada", "editor")

OTHERS = {
    "another person": member("grace", "editor"),
    "the same name at another issuer": member("ada", "editor", "https://elsewhere.example.org"),
    "a name that goes on": member("ada2", "editor"),
    "a name that holds a client": member('ada","editor', "editor"),
    "a program that is called like the person": member("ada", "ada"),
    "a key of the same name": member("ada", "key_1", "remit:keys"),
    "this machine's user": LOCAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """Something of each kind that has an id, of one principal."""

    prompt: Prompt
    ruling: str

    @property
    def ids(self) -> list[str]:
        return [self.prompt.id, self.prompt.session_id, self.ruling]

    @property
    def pages(self) -> list[str]:
        return [f"prompts/{self.prompt.id}", f"sessions/{self.prompt.session_id}"]


async def given(served: Site, kept: Kept, principal: Principal) -> Things:
    """A session with an open prompt, one that was answered for the session, and the audit of both."""
    store, key = served.store, principal.key
    model = await anyio.to_thread.run_sync(kept.prompt_of, (await put(kept)).subject)
    root = await store.session(model.root_id, LOCAL.key)
    assert root is not None
    session = SessionId(mint("ses"))
    await store.add_session(replace(root, id=session, root_id=session, principal=key, title=f"work of {session}"))
    prompt = replace(model, principal=key, session_id=session, root_id=session, created_at=AT + 1)
    over = replace(prompt, id=type(prompt.id)(mint("prm")))
    await store.add_prompt(prompt)
    event = AuditEvent(at=time.time(), kind="prompt", principal=key, session_id=session, session_path=("build",), ref=over.id)
    await store.add_prompt(over, (event,))
    console = served.browser_of(principal)
    assert (await console.answers(over, Choice.ALLOW_SESSION)).status_code == 200
    [ruling] = await store.rulings(principal=key)
    return Things(prompt=prompt, ruling=ruling.id)


PAGES = ("", "sessions", "sessions?all=1", "rulings", "audit", "audit/export")
OF_SESSION = ("audit?session={}", "audit/export?session={}", "agents?session={}&tool=read", "sessions/{}")


async def everything(browser: Browser, session: str) -> str:
    """All pages on which something of a person may stand, where an address may name a session."""
    return "\n".join([(await browser.get(page.format(session))).text for page in (*PAGES, *OF_SESSION)])


async def state_of(store: Store, prompt: Prompt) -> PromptState:
    found = await store.prompt(prompt.id, prompt.principal)
    assert found is not None
    return found.state


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
async def test_nothing_of_somebody_else_is_seen_or_changed_and_their_ids_are_like_unknown_ones(kept: Kept, other: Principal) -> None:
    async with site(kept.folder) as served:
        mine, theirs = await given(served, kept, ADAS_EDITOR), await given(served, kept, other)
        browser = served.browser_of(ADA)
        seen = await everything(browser, mine.prompt.session_id)
        assert [one for one in mine.ids if one not in seen] == []
        assert [one for one in theirs.ids if one in seen] == []
        made_up = mint("ses")
        asked = [(await everything(browser, one)).replace(one, "…") for one in (theirs.prompt.session_id, made_up)]
        assert asked[0] == asked[1]
        key = (await browser.fields_of(mine.prompt))["key"]
        for page, made_up in zip(theirs.pages, (f"prompts/{mint('prm')}", f"sessions/{mint('ses')}"), strict=True):
            found, unknown = await browser.get(page), await browser.get(made_up)
            assert (found.status_code, found.text) == (unknown.status_code, unknown.text)
            assert found.status_code == 404
        fields = {"key": key, "digest": theirs.prompt.digest, "choice": Choice.ALLOW_ONCE.value}
        answers = [await browser.post(page, fields) for page in (theirs.pages[0], f"prompts/{mint('prm')}")]
        assert [(one.status_code, one.text) for one in answers] == [(404, answers[0].text)] * 2
        revoked = [await browser.post(f"rulings/{one}", {"key": key}) for one in (theirs.ruling, mint("rul"))]
        assert [(one.status_code, one.text) for one in revoked] == [(409, revoked[0].text)] * 2
        for what in ("run", "session"):
            ends = [
                await browser.post(f"sessions/{one}/end", {"key": key, "what": what}) for one in (theirs.prompt.session_id, mint("ses"))
            ]
            assert [(one.status_code, one.text) for one in ends] == [(404, ends[0].text)] * 2
        their = await served.store.session(theirs.prompt.session_id, other.key)
        assert their is not None
        assert their.ended_at is None
        assert await state_of(served.store, theirs.prompt) is PromptState.OPEN
        assert [one.id for one in await served.store.rulings(principal=other.key, standing_at=time.time())] == [theirs.ruling]


async def test_a_person_answers_and_revokes_what_came_about_by_any_program_of_theirs(kept: Kept) -> None:
    async with site(kept.folder) as served:
        things = [await given(served, kept, one) for one in (ADAS_EDITOR, member("ada", "terminal"))]
        browser = served.browser_of(ADA)
        for one in things:
            assert (await browser.answers(one.prompt, Choice.ALLOW_ONCE, words="go on")).status_code == 200
            now = await served.store.prompt(one.prompt.id, one.prompt.principal)
            assert now is not None
            assert now.answer is not None
            assert (now.answer.by, now.answer.words) == (ADA.key, "go on")
            given_by = [ruling.given_by for ruling in await served.store.rulings(principal=one.prompt.principal) if ruling.ruling.digest]
            assert given_by == [ADA.key]
            key = (await browser.fields_of(one.prompt)).get("key") or _key_in((await browser.get("rulings")).text)
            assert (await browser.post(f"rulings/{one.ruling}", {"key": key})).status_code == 200
        assert [one.ruling for one in things if one.ruling in (await browser.get("rulings")).text] == []


async def test_a_program_that_acts_for_itself_sees_nothing_of_the_person_who_is_called_like_it(kept: Kept) -> None:
    async with site(kept.folder) as served:
        theirs = await given(served, kept, ADAS_EDITOR)
        mine = await given(served, kept, member("ada", "ada"))
        seen = await everything(served.browser_of(member("ada", "ada")), mine.prompt.session_id)
        assert [one for one in mine.ids if one not in seen] == []
        assert [one for one in theirs.ids if one in seen] == []


async def test_a_stream_tells_of_ones_own_prompts_alone_and_of_a_program_that_comes_later(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = served.browser_of(ADA)
        with anyio.fail_after(LONG):
            async with aclosing(opened(browser)) as told:
                assert await anext(told) == []
                await given(served, kept, member("grace", "editor"))
                mine = await given(served, kept, ADAS_EDITOR)
                ids = await anext(told)
                while ids != [mine.prompt.id]:
                    assert set(ids) <= {one.id for one in await served.store.prompts(principal=ADAS_EDITOR.key)}
                    ids = await anext(told)


def _key_in(page: str) -> str:
    return page.split('name="key" value="')[1].split('"')[0]
