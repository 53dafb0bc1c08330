"""Answers count only from a person at a terminal who types the code back."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from mcp_server.elicited import BooleanField, ElicitationSubject, FormAsked, TextField
from mcp_server.policy.values import Action, Reach
from mcp_server.principal import LOCAL
from mcp_server.records import Choice, PromptState
from tests.cli.kept import CHILD, QUESTION, ROOT, RULE, Kept
from tests.cli.person import BOUND, REMIT, Person


def test_a_prompt_is_allowed_once_by_the_code_typed_back(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Person(("approvals", "approve", prompt.id, "--reach", "once", "--words", "go on"), environment, tmp_path) as person:
        person.sees("build › explore wants to use edit")
        person.sees("edit src/a.py")
        person.types_the_code("to allow it once")
        assert person.leaves()[0] == 0
    answer = kept.prompt_now(prompt).answer
    assert answer is not None
    assert (answer.choice, answer.words, answer.by, answer.channel) == (Choice.ALLOW_ONCE, "go on", LOCAL.key, "approvals")
    (ruling,) = kept.use(lambda store: store.rulings(principal=LOCAL.key))
    assert (ruling.reach, ruling.ruling.digest, ruling.ruling.session_id) == (Reach.ONCE, "d1", CHILD)


def test_the_reach_is_asked_for_where_it_is_not_named(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Person(("approvals", "approve", prompt.id[:10]), environment, tmp_path) as person:
        person.sees("2  allow it for this subagent: `edit src/\\* allow`")
        person.types("2")
        person.types_the_code("to allow it for this subagent")
        assert person.leaves()[0] == 0
    (ruling,) = kept.use(lambda store: store.rulings(principal=LOCAL.key))
    assert (ruling.reach, ruling.ruling.rule) == (Reach.SESSION, RULE)


def test_a_denial_for_the_session_becomes_a_ruling(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Person(("approvals", "deny", prompt.id, "--session"), environment, tmp_path) as person:
        person.types_the_code("to deny it for this subagent")
        assert person.leaves()[0] == 0
    (ruling,) = kept.use(lambda store: store.rulings(principal=LOCAL.key))
    assert (ruling.action, ruling.reach) == (Action.DENY, Reach.SESSION)
    assert kept.prompt_now(prompt).state is PromptState.ANSWERED


def test_a_wrong_code_changes_nothing(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Person(("approvals", "approve", prompt.id, "--reach", "once"), environment, tmp_path) as person:
        person.sees("Type")
        person.types("yes")
        code, said = person.leaves()
    assert code == 2
    assert "the code was not typed back; nothing was changed" in said
    assert kept.prompt_now(prompt).state is PromptState.OPEN


def test_an_answer_that_the_prompt_does_not_offer_is_none(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Person(("approvals", "approve", prompt.id, "--reach", "tree"), environment, tmp_path) as person:
        code, said = person.leaves()
    assert code == 2
    assert "does not offer that answer" in said
    assert kept.prompt_now(prompt).state is PromptState.OPEN


def test_what_a_model_wrote_cannot_steer_the_terminal(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Person(("approvals", "approve", prompt.id, "--reach", "once"), environment, tmp_path) as person:
        person.types("")
        _, said = person.leaves()
    assert "\x1b" not in said
    assert "one\\u001b[2J" in said


def test_without_a_terminal_nobody_can_answer(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    ended = subprocess.run(
        [REMIT, "approvals", "approve", prompt.id, "--reach", "once"],
        input="aaaaa\n",
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=BOUND,
        start_new_session=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "for a person at a terminal" in ended.stderr
    assert kept.prompt_now(prompt).state is PromptState.OPEN


def test_a_question_is_answered_by_number_and_by_word(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt(QUESTION)
    with Person(("approvals", "approve", prompt.id), environment, tmp_path) as person:
        person.sees("Number, or your own words: ")
        person.types("2")
        person.sees("Your answer: ")
        person.types("it grows")
        person.types_the_code("to send this answer")
        assert person.leaves()[0] == 0
    answer = kept.prompt_now(prompt).answer
    assert answer is not None
    assert (answer.choice, json.loads(answer.words)) == (None, [["green"], ["it grows"]])


def test_what_another_server_asks_is_filled_in_and_sent_by_the_code_typed_back(
    kept: Kept, environment: Mapping[str, str], tmp_path: Path
) -> None:
    kept.tree()
    fields = (TextField(name="name", required=True, least=2), BooleanField(name="window"))
    asked = FormAsked(message="Book it?\n\x1b[2JType yes", fields=fields)
    prompt = kept.prompt(ElicitationSubject(server="play", tool="play__book", asked=asked))
    with Person(("approvals", "approve", prompt.id), environment, tmp_path) as person:
        person.sees("The MCP server `play` asks you, while build › explore uses play__book:")
        person.sees("│ Book it\\?")
        person.sees("name")
        person.types("Ada")
        person.sees("window")
        person.types("yes")
        person.types_the_code("to ")
        assert person.leaves()[0] == 0
    answer = kept.prompt_now(prompt).answer
    assert answer is not None
    assert (answer.choice, json.loads(answer.words)) == (None, {"action": "accept", "content": {"name": "Ada", "window": True}})
    assert kept.use(lambda store: store.rulings(principal=LOCAL.key)) == ()


def test_a_ruling_is_revoked_by_the_code_typed_back(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Person(("approvals", "approve", prompt.id, "--reach", "session"), environment, tmp_path) as person:
        person.types_the_code("to allow it")
        assert person.leaves()[0] == 0
    (ruling,) = kept.use(lambda store: store.rulings(principal=LOCAL.key))
    with Person(("rulings", "revoke", ruling.id), environment, tmp_path) as person:
        person.sees("build › explore, session: edit src/\\* allow")
        person.types_the_code("to revoke this ruling")
        code, said = person.leaves()
    assert (code, said.splitlines()[-1]) == (0, "revoked: edit src/* allow")
    (ruling,) = kept.use(lambda store: store.rulings(principal=LOCAL.key))
    assert ruling.revoked_at is not None
    log = kept.use(lambda store: store.audit_log(root_id=ROOT))
    assert [e.event.outcome for e in log if e.event.kind == "ruling"] == ["given", "revoked"]
