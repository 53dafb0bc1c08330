"""What each role opens in a gateway's console of what is somebody else's, and what it does not."""

from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest

from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import TokenPrincipal
from mcp_server.records import Answer, AuditEvent, Choice, Offer, Prompt, PromptState
from mcp_server.store.ids import mint
from tests.cli.kept import APPROVAL, AT, Kept
from tests.gateway.browsing import words_of
from tests.gateway.conftest import put
from tests.gateway.teamed import Team, Window, teamed
from tests.store.samples import a_run

ROLES: dict[str, Any] = {
    "approver": [{"claims": {"groups": "leads"}}],
    "operator": [{"subject": "olga"}],
    "auditor": [{"claims": {"groups": "audit"}}],
}
TITLE = "look into the ledger of accounts"
ASKS = replace(
    APPROVAL,
    answer_by=("approver",),
    offers=(Offer(choice=Choice.DENY),),
    role_offers=(Offer(choice=Choice.ALLOW_ONCE), Offer(choice=Choice.DENY)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """Of one person at work in a client."""

    prompt: Prompt
    session: str

    @property
    def pages(self) -> tuple[str, ...]:
        return (f"prompts/{self.prompt.id}", f"sessions/{self.session}")


async def working(team: Team, kept: Kept, subject: str = "alice", **claims: Any) -> Things:
    """A session in somebody's editor, with a prompt that an approver must answer, and an event in the audit."""
    store, key = team.store, TokenPrincipal(issuer=team.issuer.url, subject=subject, client="editor").key
    await store.keep_claims(key, claims, issued_at=AT)
    model = await anyio.to_thread.run_sync(kept.prompt_of, (await put(kept)).subject)
    root = await store.session(model.root_id, "local")
    assert root is not None
    session = SessionId(mint("ses"))
    await store.add_session(replace(root, id=session, root_id=session, principal=key, title=TITLE))
    prompt = replace(model, principal=key, session_id=session, root_id=session, subject=ASKS, created_at=AT + 1)
    event = AuditEvent(at=AT, kind="prompt", principal=key, session_id=session, session_path=("build",), ref=prompt.id)
    await store.add_prompt(prompt, (event,))
    return Things(prompt=prompt, session=session)


async def now(team: Team, prompt: Prompt) -> Prompt:
    found = await team.store.prompt(prompt.id, prompt.principal)
    assert found is not None
    return found


async def seen(window: Window) -> str:
    """Every page of a list."""
    return "\n".join([(await window.get(page)).text for page in ("", "sessions", "sessions?all=1", "rulings", "audit", "audit/export")])


async def test_an_approver_answers_in_the_console_what_the_person_who_asks_may_not(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things = await working(team, kept)
        alice = await team.window_of("alice")
        own = await alice.get(f"prompts/{things.prompt.id}")
        assert own.status_code == 200
        assert "Allow once" not in own.text
        assert (await alice.answers(things.prompt, choice=Choice.ALLOW_ONCE.value)).status_code == 409
        assert (await now(team, things.prompt)).state is PromptState.OPEN
        bob = await team.window_of("bob", groups=["leads"])
        inbox = words_of((await bob.get()).text)
        assert "for alice" in inbox
        assert "You may answer it as approver, for this once." in inbox
        answer = await bob.answers(things.prompt, choice=Choice.ALLOW_ONCE.value, words="go on")
        assert answer.status_code == 303
        closed = await now(team, things.prompt)
        assert isinstance(closed.answer, Answer)
        by = TokenPrincipal(issuer=team.issuer.url, subject="bob", client="remit-console").key
        assert (closed.answer.by, closed.answer.roles, closed.answer.choice) == (by, ("approver",), Choice.ALLOW_ONCE)
        assert "Answered here in the console" in words_of((await bob.get(f"prompts/{things.prompt.id}")).text)
        assert things.session not in await seen(bob), "an approver is shown what waits for them, and nothing else"
        assert (await bob.get(f"sessions/{things.session}")).status_code == 404


async def test_nobody_answers_by_a_role_that_they_do_not_hold_nor_for_themselves(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things = await working(team, kept, "bob", groups=["leads"])
        for window, status in (
            (await team.window_of("bob", groups=["leads"]), 409),
            (await team.window_of("eve"), 404),
            (await team.window_of("olga"), 404),
            (await team.window_of("carol", groups=["audit"]), 403),
        ):
            answer = await window.answers(things.prompt, choice=Choice.ALLOW_ONCE.value)
            assert answer.status_code == status
            assert (await now(team, things.prompt)).state is PromptState.OPEN


async def test_an_auditor_reads_everything_changes_nothing_and_is_told_of(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things = await working(team, kept)
        carol = await team.window_of("carol", groups=["audit"])
        assert things.prompt.id not in (await carol.get()).text, "what waits for others does not wait for an auditor"
        everything = await seen(carol)
        assert things.session in everything
        assert things.prompt.id in everything
        assert "for alice" in words_of(everything)
        prompt = await carol.get(things.pages[0])
        assert "You may read it, and not answer it." in prompt.text
        assert 'name="choice"' not in prompt.text
        assert TITLE in (await carol.get(things.pages[1])).text
        looks = [event for event in await team.audit() if event.kind == "look"]
        assert {event.ref for event in looks} >= {things.prompt.id, things.session}
        assert {event.principal for event in looks} == {TokenPrincipal(issuer=team.issuer.url, subject="carol", client="remit-console").key}


async def test_an_operator_sees_who_works_and_not_at_what(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things = await working(team, kept)
        olga = await team.window_of("olga")
        sessions = await olga.get("sessions")
        assert things.session in sessions.text
        assert "for alice" in words_of(sessions.text)
        page = await olga.get(things.pages[1])
        assert page.status_code == 200
        for text in (sessions.text, page.text):
            assert TITLE not in text
            assert things.prompt.id not in text
        assert (await olga.get(things.pages[0])).status_code == 404
        assert things.prompt.id not in (await olga.get("audit")).text
        assert "look" in {event.kind for event in await team.audit()}


async def test_an_operator_ends_a_run_and_a_session_and_nobody_does_by_another_role(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things, store = await working(team, kept), team.store
        session = await store.session(things.session, things.prompt.principal)
        assert session is not None
        run = a_run(session, mint("run"))
        await store.add_run(run, [])
        page, end = things.pages[1], f"{things.pages[1]}/end"
        carol, bob, olga = [
            await team.window_of(name, groups=[group]) for name, group in (("carol", "audit"), ("bob", "leads"), ("olga", ""))
        ]
        assert "End this" not in (await carol.get(page)).text
        for window, status in ((carol, 403), (bob, 404)):
            for what in ("run", "session"):
                assert (await window.post(end, {"key": await window.form_key(), "what": what})).status_code == status
        assert (await olga.post(end, {"key": "made up", "what": "session"})).status_code == 403
        assert (await store.run(run.id), (await now(team, things.prompt)).state) == (run, PromptState.OPEN)
        by, key = TokenPrincipal(issuer=team.issuer.url, subject="olga", client="remit-console").key, await olga.form_key()
        assert "End this run and all below it" in (await olga.get(page)).text
        assert (await olga.post(end, {"key": key, "what": "run"})).status_code == 303
        asked = await store.run(run.id)
        assert asked is not None
        assert asked.cancel_requested == "an operator, in the console"
        assert (await olga.post(end, {"key": key, "what": "session"})).status_code == 303
        over = await store.session(things.session, things.prompt.principal)
        assert over is not None
        assert (over.ended_at is not None, (await now(team, things.prompt)).state) == (True, PromptState.WITHDRAWN)
        told = [event.outcome for event in await team.audit() if event.ruled_by == by and event.kind in ("run", "session")]
        assert set(told) == {"asked to end by an operator, in the console", "ended by an operator, in the console"}
        assert (await olga.post(end, {"key": key, "what": "session"})).status_code == 409


async def test_a_member_sees_nothing_of_others_and_their_ids_are_like_unknown_ones(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things = await working(team, kept)
        eve, machine = await team.window_of("eve"), team.window()
        await machine.enter_by(await team.key("alice"))
        for window in (eve, machine):
            everything = await seen(window)
            assert things.session not in everything
            assert things.prompt.id not in everything
            for page, unknown in zip(things.pages, (f"prompts/{mint('prm')}", f"sessions/{mint('ses')}"), strict=True):
                assert (await window.get(page)).text == (await window.get(unknown)).text
        assert "look" not in {event.kind for event in await team.audit()}


@pytest.mark.parametrize(("groups", "status"), [(["payments"], 200), (["billing"], 404), ([], 404)])
async def test_a_role_over_a_team_opens_what_is_its_peoples_alone(groups: list[str], status: int, kept: Kept) -> None:
    team_of = {"payments": {"who": [{"claims": {"groups": "payments"}}], "roles": {"approver": [{"subject": "dora"}]}}}
    async with teamed(kept.folder, teams=team_of) as team:
        things = await working(team, kept, groups=groups)
        dora = await team.window_of("dora")
        page = await dora.get(things.pages[0])
        assert page.status_code == status
        assert ("for alice · team payments" in words_of(page.text)) is (status == 200)
        assert (things.prompt.id in (await dora.get()).text) is (status == 200)
        answer = await dora.answers(things.prompt, choice=Choice.ALLOW_ONCE.value)
        assert answer.status_code == (303 if status == 200 else 404)


async def test_a_role_that_is_taken_away_at_the_issuer_ends_with_the_next_sign_in(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things = await working(team, kept)
        bob = await team.window_of("bob", groups=["leads"])
        assert (await bob.get(things.pages[0])).status_code == 200
        team.issuer.member("bob").claims = {"groups": []}
        await team.window_of("bob")
        assert (await bob.get(things.pages[0])).status_code == 404, "in every window of theirs"


async def test_a_claim_that_settings_come_to_ask_for_counts_from_the_next_sign_in_on(kept: Kept) -> None:
    async with teamed(kept.folder, roles=ROLES) as team:
        things = await working(team, kept)
        team.said[0] = team.said[0].model_copy(
            update={"roles": type(team.said[0].roles).model_validate({"approver": [{"claims": {"office": "lead"}}]})}
        )
        bob = await team.window_of("bob", office="lead")
        assert (await bob.get(things.pages[0])).status_code == 200
