"""An answer counts only where the prompt offers it, once, and makes the very rules that were shown."""

from dataclasses import replace

import pytest

from mcp_server.policy.values import Action, AskRef, CallId, Reach, Rule
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import Answer, ApprovalSubject, Choice, Offer, Prompt, PromptId, Question, QuestionSubject
from mcp_server.sessions.answers import accepts, rulings_of
from mcp_server.store.ids import mint

ALLOW = Rule(permission="edit", pattern="a.txt", action=Action.ALLOW)
DENY = replace(ALLOW, action=Action.DENY)
ASKS = (AskRef(owner="silence", rule="edit a.txt"),)

APPROVAL = ApprovalSubject(
    tool="write",
    arguments={},
    wants=("edit a.txt",),
    because=("silence",),
    asks=ASKS,
    offers=(
        Offer(choice=Choice.ALLOW_ONCE),
        Offer(choice=Choice.ALLOW_SESSION, rules=(str(ALLOW),), grants=(ALLOW,)),
        Offer(choice=Choice.ALLOW_TREE, rules=(str(ALLOW),), grants=(ALLOW,)),
        Offer(choice=Choice.DENY),
        Offer(choice=Choice.DENY_SESSION, rules=(str(DENY),), grants=(DENY,)),
    ),
)
ONCE_ONLY = replace(APPROVAL, offers=(Offer(choice=Choice.ALLOW_ONCE), Offer(choice=Choice.DENY)))
QUESTION = QuestionSubject(questions=(Question(question="Which?"),))


def prompt(subject: ApprovalSubject | QuestionSubject = APPROVAL, calls: int = 1) -> Prompt:
    return Prompt(
        id=PromptId(mint("prm")),
        principal="local",
        root_id=SessionId("ses_root"),
        session_id=SessionId("ses_child"),
        session_path=("build", "writer"),
        chain=(SessionId("ses_root"), SessionId("ses_child")),
        calls=tuple(CallId(f"call_{number}") for number in range(calls)),
        digest="digest",
        subject=subject,
        created_at=0.0,
        once_seconds=60.0,
    )


def answer(choice: Choice | None) -> Answer:
    return Answer(choice=choice, by="local", channel="form", at=100.0)


@pytest.mark.parametrize("choice", list(Choice))
def test_an_approval_takes_what_it_offers(choice: Choice) -> None:
    assert accepts(prompt(), answer(choice))
    assert accepts(prompt(ONCE_ONLY), answer(choice)) is (choice in (Choice.ALLOW_ONCE, Choice.DENY))
    assert not accepts(prompt(QUESTION), answer(choice))


def test_no_choice_answers_a_question_and_no_approval() -> None:
    assert accepts(prompt(QUESTION), answer(None))
    assert not accepts(prompt(), answer(None))
    assert rulings_of(prompt(QUESTION), answer(None)) == ()


@pytest.mark.parametrize(
    ("choice", "reach", "rule", "until"),
    [
        (Choice.ALLOW_SESSION, Reach.SESSION, ALLOW, 43300.0),
        (Choice.ALLOW_TREE, Reach.TREE, ALLOW, 43300.0),
        (Choice.DENY_SESSION, Reach.SESSION, DENY, None),
    ],
)
def test_a_standing_answer_makes_the_rule_that_was_shown_and_an_allow_ends(
    choice: Choice, reach: Reach, rule: Rule, until: float | None
) -> None:
    (record,) = rulings_of(prompt(calls=3), answer(choice))
    assert (record.reach, record.ruling.rule, record.ruling.answers, record.action) == (reach, rule, ASKS, rule.action)
    assert (record.ruling.session_id, record.ruling.digest, record.expires_at) == ("ses_child", None, until)


def test_once_makes_one_ruling_a_waiting_call_bound_to_its_digest_and_expiring() -> None:
    records = rulings_of(prompt(calls=3), answer(Choice.ALLOW_ONCE))
    assert [(record.reach, record.ruling.digest, record.expires_at) for record in records] == [(Reach.ONCE, "digest", 160.0)] * 3
    assert len({record.id for record in records}) == 3


def test_a_plain_deny_makes_no_ruling() -> None:
    assert rulings_of(prompt(), answer(Choice.DENY)) == ()
