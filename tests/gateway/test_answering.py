"""An answer counts once, from the form that was shown, and what does not count is kept in the audit."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from mcp_server.elicited import ElicitationSubject, FormAsked
from mcp_server.policy.values import Reach
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import Answer, BudgetSubject, Choice, Prompt, PromptId, PromptState, Subject
from mcp_server.sessions.answers import close_with
from tests.cli.kept import APPROVAL, QUESTION, RULE, Kept
from tests.gateway.browsing import Browser, Site, site, words_of
from tests.gateway.conftest import put

REFUSED = "an answer through the console was refused"


async def now(served: Site, prompt: Prompt) -> Prompt:
    found = await served.store.prompt(prompt.id, LOCAL.key)
    assert found is not None
    return found


async def refusals(served: Site) -> list[str]:
    return [event.outcome.removeprefix(f"{REFUSED}: ") for event in await served.audit() if event.outcome.startswith(REFUSED)]


async def test_allow_once_closes_the_prompt_with_the_words_and_one_ruling(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept)
        page = await browser.answers(prompt, Choice.ALLOW_ONCE, words=" go on ")
        assert "Answered here in the console" in words_of(page.text)
        answer = (await now(served, prompt)).answer
        assert answer is not None
        assert (answer.choice, answer.words, answer.by, answer.channel) == (Choice.ALLOW_ONCE, "go on", LOCAL.key, "console")
        (ruling,) = await served.store.rulings(principal=LOCAL.key)
        assert (ruling.reach, ruling.ruling.digest, ruling.channel) == (Reach.ONCE, prompt.digest, "console")


async def test_an_answer_for_the_session_makes_the_very_rule_that_the_page_shows(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept)
        assert str(RULE) in words_of((await browser.get()).text)
        await browser.answers(prompt, Choice.ALLOW_SESSION)
        (ruling,) = await served.store.rulings(principal=LOCAL.key)
        assert (ruling.reach, ruling.ruling.rule) == (Reach.SESSION, RULE)


async def test_a_denial_lets_nothing_happen(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept)
        await browser.answers(prompt, Choice.DENY, words="not that one")
        assert await served.store.rulings(principal=LOCAL.key) == ()
        answer = (await now(served, prompt)).answer
        assert answer is not None
        assert (answer.choice, answer.words) == (Choice.DENY, "not that one")


async def test_a_budget_is_extended(kept: Kept) -> None:
    budget = BudgetSubject(scope="tree", resource="tokens", allowed=1000.0, spent=1200.0, more=500.0)
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept, budget)
        assert "Extend it by 500 tokens" in words_of((await browser.get()).text)
        await browser.answers(prompt, Choice.ALLOW_ONCE)
        assert (await now(served, prompt)).state is PromptState.ANSWERED


async def test_a_models_questions_are_answered_by_choice_and_own_words(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept, QUESTION)
        page = words_of((await browser.get()).text)
        assert "Which colour?" in page
        assert "green: like grass" in page
        await browser.answers(prompt, answer_0="1", own_1="because")
        answer = (await now(served, prompt)).answer
        assert answer is not None
        assert answer.choice is None
        assert json.loads(answer.words) == [["green"], ["because"]]


@pytest.mark.parametrize(
    "fields", [{}, {"answer_0": "1"}, {"answer_0": "7", "own_1": "x"}, {"answer_0": "red", "own_1": "x"}, {"answer_0": "0", "own_1": "  "}]
)
async def test_half_an_answer_to_questions_is_none(fields: dict[str, str], kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept, QUESTION)
        assert (await browser.answers(prompt, None, **fields)).status_code == 409
        assert (await now(served, prompt)).state is PromptState.OPEN


# ---- what does not count ------------------------------------------------------------------------


async def test_an_answer_sent_twice_counts_once_and_the_second_is_in_the_audit(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept)
        fields = {**await browser.fields_of(prompt), "choice": Choice.ALLOW_ONCE.value}
        assert (await browser.post(f"prompts/{prompt.id}", fields)).status_code == 200
        replayed = await browser.post(f"prompts/{prompt.id}", fields)
        assert replayed.status_code == 409
        assert "did not count" in words_of(replayed.text)
        assert len(await served.store.rulings(principal=LOCAL.key)) == 1
        assert await refusals(served) == ["it was not open any more; nothing was changed"]


async def test_of_two_browsers_the_first_answer_counts_and_the_second_is_told(kept: Kept) -> None:
    async with site(kept.folder) as served:
        one, other = await served.browser(), await served.browser()
        prompt = await put(kept)
        late = {**await other.fields_of(prompt), "choice": Choice.ALLOW_ONCE.value}
        await one.answers(prompt, Choice.DENY)
        told = await other.post(f"prompts/{prompt.id}", late)
        assert told.status_code == 409
        assert "deny it" in words_of(told.text)
        answer = (await now(served, prompt)).answer
        assert answer is not None
        assert answer.choice is Choice.DENY


async def test_what_was_answered_in_a_terminal_is_over_here_and_says_where(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept)
        stale = {**await browser.fields_of(prompt), "choice": Choice.ALLOW_ONCE.value}
        answer = Answer(choice=Choice.DENY, by=LOCAL.key, channel="approvals", at=1_790_000_100.0)
        assert await close_with(served.store, prompt, answer)
        assert "in a terminal" in words_of((await browser.get(f"prompts/{prompt.id}")).text)
        assert "Nobody waits" in words_of((await browser.get()).text)
        assert (await browser.post(f"prompts/{prompt.id}", stale)).status_code == 409


async def test_an_expired_prompt_takes_no_answer_and_says_why(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept)
        stale = {**await browser.fields_of(prompt), "choice": Choice.ALLOW_ONCE.value}
        await served.store.close_prompt(prompt.id, PromptState.EXPIRED, reason="its time was up")
        told = await browser.post(f"prompts/{prompt.id}", stale)
        assert told.status_code == 409
        assert "Nobody answered in time: its time was up" in words_of(told.text)
        assert await served.store.rulings(principal=LOCAL.key) == ()


async def _without_a_key(browser: Browser, other: Browser, prompt: Prompt) -> dict[str, str]:
    return {"digest": prompt.digest, "choice": "allow_once"}


async def _with_another_visits_key(browser: Browser, other: Browser, prompt: Prompt) -> dict[str, str]:
    return {**await other.fields_of(prompt), "choice": "allow_once"}


async def _with_another_calls_digest(browser: Browser, other: Browser, prompt: Prompt) -> dict[str, str]:
    return {**await browser.fields_of(prompt), "digest": "d2", "choice": "allow_once"}


async def _with_an_answer_that_is_not_offered(browser: Browser, other: Browser, prompt: Prompt) -> dict[str, str]:
    return {**await browser.fields_of(prompt), "choice": "allow_tree"}


async def _without_a_choice(browser: Browser, other: Browser, prompt: Prompt) -> dict[str, str]:
    return {**await browser.fields_of(prompt), "words": "allow_once"}


Forge = Callable[[Browser, Browser, Prompt], Awaitable[dict[str, str]]]


@pytest.mark.parametrize(
    "forge",
    [_without_a_key, _with_another_visits_key, _with_another_calls_digest, _with_an_answer_that_is_not_offered, _without_a_choice],
    ids=lambda forge: forge.__name__.strip("_"),
)
async def test_a_forged_answer_changes_nothing_and_is_in_the_audit(forge: Forge, kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser, other = await served.browser(), await served.browser()
        prompt = await put(kept)
        answer = await browser.post(f"prompts/{prompt.id}", await forge(browser, other, prompt))
        assert answer.status_code in (403, 409)
        assert (await now(served, prompt)).state is PromptState.OPEN
        assert len(await refusals(served)) == 1


async def test_a_stranger_cannot_answer_even_with_a_form_that_is_right(kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser, stranger = await served.browser(), served.stranger()
        prompt = await put(kept)
        fields = {**await browser.fields_of(prompt), "choice": "allow_once"}
        assert (await stranger.post(f"prompts/{prompt.id}", fields)).status_code == 403
        assert (await now(served, prompt)).state is PromptState.OPEN
        assert await refusals(served) == ["it came from nobody who has come in"]


@pytest.mark.parametrize(
    ("subject", "sent"),
    [
        (APPROVAL, {"choice": "allow_once"}),
        (ElicitationSubject(server="play", tool="play__ask", asked=FormAsked(message="Your name?")), {"action": "accept"}),
    ],
    ids=["an approval", "a server's question"],
)
async def test_another_persons_prompt_does_not_exist_here(subject: Subject, sent: dict[str, str], kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        mine = await put(kept)
        session = await served.store.session(mine.root_id, LOCAL.key)
        assert session is not None
        other = SessionId("ses_" + "z" * 32)
        theirs = replace(mine, id=PromptId("prm_" + "z" * 32), principal="somebody else", session_id=other, root_id=other, subject=subject)
        await served.store.add_session(replace(session, id=other, root_id=other, principal="somebody else"))
        await served.store.add_prompt(theirs)
        assert theirs.id not in (await browser.get()).text
        assert (await browser.get(f"prompts/{theirs.id}")).status_code == 404
        fields = {**await browser.fields_of(mine), **sent}
        assert (await browser.post(f"prompts/{theirs.id}", fields)).status_code == 404
        assert await refusals(served) == ["there is no such prompt"]


@pytest.mark.parametrize("body", [b"choice=allow_once", b"\xff\xfe", b"x" * 100_000, b"&" * 1000, b'{"choice": "allow_once"}'])
async def test_a_body_that_is_no_form_of_ours_changes_nothing(body: bytes, kept: Kept) -> None:
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept, APPROVAL)
        headers = {"origin": served.origin, "content-type": "application/x-www-form-urlencoded"}
        answer = await browser.client.post(f"{browser.door}/prompts/{prompt.id}", content=body, headers=headers)
        assert answer.status_code in (400, 403)
        assert (await now(served, prompt)).state is PromptState.OPEN
