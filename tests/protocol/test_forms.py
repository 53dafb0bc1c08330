"""What a form shows, and what its replies mean."""

import json
from dataclasses import replace

import pytest
from mcp_types import ElicitResult
from mcp_types._v2025_11_25 import PrimitiveSchemaDefinition
from pydantic import TypeAdapter

from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import SessionId
from mcp_server.protocol.forms import message_of, schema_of
from mcp_server.protocol.replies import Answered, PutOff, Reply, Unusable, read_reply
from mcp_server.records import ApprovalSubject, Choice, Offer, Prompt, PromptId, QuestionSubject
from mcp_server.sessions.offered import shown
from tests.protocol.scripts import QUESTION, RULE, approval


def prompt_of(subject: ApprovalSubject | QuestionSubject, *, calls: int = 1, path: tuple[str, ...] = ("build", "explore")) -> Prompt:
    return Prompt(
        id=PromptId("p"),
        principal="local",
        root_id=SessionId("r"),
        session_id=SessionId("s"),
        session_path=path,
        calls=tuple(CallId(str(n)) for n in range(calls)),
        digest="",
        subject=subject,
        created_at=0.0,
    )


def test_a_message_names_path_call_need_reason_notes_and_how_many_wait() -> None:
    subject = replace(approval(), notes=("could also fetch",))
    assert message_of(prompt_of(subject, calls=3)).splitlines() == [
        "build › explore wants to use bash:",
        "  command: git push",
        "Needs: bash git push",
        "Asked because: agent build: bash * ask (commands change things)",
        "Note: could also fetch",
        "3 calls, all the same, wait for this answer.",
        "An allow for longer than this call ends with the session, or 12 h after it was given.",
    ]


def test_an_answer_for_one_call_speaks_of_no_end() -> None:
    once = replace(approval(), offers=(Offer(choice=Choice.ALLOW_ONCE), Offer(choice=Choice.DENY)))
    assert "An allow for longer" not in message_of(prompt_of(once))


def test_no_argument_can_pass_for_a_line_of_ours() -> None:
    forged = "ls\nAsked because: it is harmless\u202e\u200b\x1b[2K"
    message = message_of(prompt_of(replace(approval(), arguments={"command": forged, "more\nlines": {"a": "b\nc"}}, wants=(forged,))))
    assert message.count("\nAsked because:") == 1
    assert "\u202e" not in message
    assert "\x1b" not in message
    assert "  command: ls\\nAsked because: it is harmless\\u202e\\u200b\\u001b[2K" in message


def test_what_is_cut_is_counted() -> None:
    text = shown("a" * 3000 + "z" * 500, 300)
    assert text == "a" * 200 + " […3200 characters not shown…] " + "z" * 100


def test_rules_too_long_for_a_title_are_written_out_in_the_message() -> None:
    long = f"bash {'x' * 300} allow"
    subject = replace(approval(), offers=(Offer(choice=Choice.ALLOW_ONCE), Offer(choice=Choice.ALLOW_SESSION, rules=(long, RULE))))
    prompt = prompt_of(subject)
    titles = [option["title"] for option in schema_of(prompt, titled=True)["properties"]["decision"]["oneOf"]]
    assert titles == ["Allow once", "Allow for this subagent: the 2 rules written out above"]
    assert message_of(prompt).splitlines()[-4:-1] == ["“Allow for this subagent” means:", f"  {long}", f"  {RULE}"]


def test_a_root_is_no_subagent() -> None:
    options = schema_of(prompt_of(approval(), path=("build",)), titled=True)["properties"]["decision"]["oneOf"]
    assert options[1]["title"] == f"Allow for this session: `{RULE}`"


@pytest.mark.parametrize("titled", [True, False])
@pytest.mark.parametrize("subject", [approval(), QUESTION], ids=["approval", "question"])
def test_every_field_is_one_that_the_protocol_allows(subject: ApprovalSubject | QuestionSubject, titled: bool) -> None:
    adapter = TypeAdapter[PrimitiveSchemaDefinition](PrimitiveSchemaDefinition)
    schema = schema_of(prompt_of(subject), titled=titled)
    for name, field in schema["properties"].items():
        known = adapter.validate_python(field).model_dump(by_alias=True, exclude_none=True)
        assert known == field, name
    assert set(schema["required"]) <= set(schema["properties"])


def test_older_hosts_get_their_own_form_of_titles() -> None:
    field = schema_of(prompt_of(approval()), titled=False)["properties"]["decision"]
    assert field["enum"] == ["allow_once", "allow_session", "allow_tree", "deny"]
    assert field["enumNames"][0] == "Allow once"
    assert "oneOf" not in field


# ---- replies ------------------------------------------------------------------------------------

BARE = Unusable(reason="the client accepted the form without a decision in it, which is not consent")
NOT_OFFERED = Unusable(reason="the client answered with a decision that the form did not offer")
AT_ONCE = Unusable(reason="the client declined by itself, before anybody can have read the form")
UNANSWERED = Unusable(reason="the client accepted the form without an answer to every question")


@pytest.mark.parametrize(
    ("result", "seconds", "reply"),
    [
        (ElicitResult(action="accept", content={"decision": "allow_once"}), 0.0, Answered(choice=Choice.ALLOW_ONCE)),
        (ElicitResult(action="accept", content={"decision": "deny", "words": "no"}), 9.0, Answered(choice=Choice.DENY, words="no")),
        (ElicitResult(action="accept"), 9.0, BARE),
        (ElicitResult(action="accept", content={}), 9.0, BARE),
        (ElicitResult(action="accept", content={"decision": None}), 9.0, BARE),
        (ElicitResult(action="accept", content={"words": "sure"}), 9.0, BARE),
        (ElicitResult(action="accept", content={"decision": ""}), 9.0, NOT_OFFERED),
        (ElicitResult(action="accept", content={"decision": True}), 9.0, NOT_OFFERED),
        (ElicitResult(action="accept", content={"decision": ["allow_once"]}), 9.0, NOT_OFFERED),
        (ElicitResult(action="accept", content={"decision": "deny_session"}), 9.0, NOT_OFFERED),
        (ElicitResult(action="decline"), 9.0, Answered(choice=Choice.DENY)),
        (ElicitResult(action="decline", content={"decision": "allow_once"}), 9.0, Answered(choice=Choice.DENY)),
        (ElicitResult(action="decline"), 0.004, AT_ONCE),
        (ElicitResult(action="cancel"), 0.0, PutOff()),
    ],
)
def test_a_reply_to_an_approval_means_one_thing(result: ElicitResult, seconds: float, reply: Reply) -> None:
    assert read_reply(prompt_of(approval()), result, seconds=seconds, reflex=0.1) == reply


@pytest.mark.parametrize(
    ("content", "answers"),
    [
        ({"answer_1": "red", "answer_2": ["a"], "answer_3": "so"}, [["red"], ["a"], ["so"]]),
        ({"answer_1_own": "green", "answer_2": "a, b", "answer_3": "so"}, [["green"], ["a", "b"], ["so"]]),
        ({"answer_1": "red", "answer_2": ["a", "b"], "answer_2_own": "c", "answer_3": "so"}, [["red"], ["a", "b", "c"], ["so"]]),
        ({"answer_1": "mauve", "answer_2": ["a"], "answer_3": "so"}, None),
        ({"answer_1": ["red"], "answer_2": ["a"], "answer_3": "so"}, None),
        ({"answer_1": "red", "answer_2": ["a", "z"], "answer_3": "so"}, None),
        ({"answer_1": "red", "answer_2": [], "answer_3": "so"}, None),
        ({"answer_1": "red", "answer_2": ["a"], "answer_3": "  "}, None),
        ({}, None),
    ],
)
def test_questions_are_answered_with_what_they_offer_or_own_words(
    content: dict[str, str | int | float | bool | list[str] | None], answers: list[list[str]] | None
) -> None:
    reply = read_reply(prompt_of(QUESTION), ElicitResult(action="accept", content=content), seconds=9, reflex=0.1)
    assert reply == (UNANSWERED if answers is None else Answered(choice=None, words=json.dumps(answers)))


def test_a_declined_question_is_an_answer_without_answers() -> None:
    reply = read_reply(prompt_of(QUESTION), ElicitResult(action="decline"), seconds=9, reflex=0.1)
    assert reply == Answered(choice=None, words="[[], [], []]")
