"""`remit approvals watch` on a real pseudo-terminal: what comes is shown, keys answer it, and the terminal is left as it was."""

import json
import signal
import termios
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_server.principal import LOCAL
from mcp_server.records import Answer, Choice, Prompt, PromptState
from mcp_server.sessions.answers import close_with
from tests.cli.kept import APPROVAL, QUESTION, Kept
from tests.cli.person import Person
from tests.cli.screen import Onlooker

Where = Mapping[str, str]


def answered_elsewhere(kept: Kept, prompt: Prompt) -> None:
    answer = Answer(choice=Choice.DENY, by=LOCAL.key, channel="console", at=time.time())
    assert kept.use(lambda store: close_with(store, prompt, answer))


def test_a_prompt_that_comes_is_shown_and_allowed_once_by_a_key(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("nobody waits for an answer")
        prompt = kept.prompt()
        shown = person.until("1 prompt waits for you", "build › explore wants to use edit", "Asked because", "a  allow it once")
        assert "s  allow it for this subagent: `edit src/* allow`" in shown
        assert "agent build: edit * ask" in shown
        person.press("a")
        person.until("done: allow it once", "nobody waits for an answer", "answered in a terminal")
        person.press("q")
        assert person.ends() == 0
    answer = kept.prompt_now(prompt).answer
    assert answer is not None
    assert (answer.choice, answer.by, answer.channel) == (Choice.ALLOW_ONCE, LOCAL.key, "approvals")


@pytest.mark.parametrize(("key", "choice"), [("s", Choice.ALLOW_SESSION), ("d", Choice.DENY), ("x", Choice.DENY_SESSION)])
def test_each_key_gives_its_own_answer(kept: Kept, environment: Where, tmp_path: Path, key: str, choice: Choice) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("1 prompt waits")
        person.press(key)
        person.until("done: ")
        person.press("q")
        assert person.ends() == 0
    answer = kept.prompt_now(prompt).answer
    assert answer is not None
    assert answer.choice is choice


def test_a_key_that_the_prompt_does_not_offer_answers_nothing(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("1 prompt waits")
        person.press("t")
        person.until("does not offer what `t` means")
        person.press("q")
        assert person.ends() == 0
    assert kept.prompt_now(prompt).state is PromptState.OPEN


def test_the_focus_moves_and_keys_act_on_it_alone(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    first = kept.prompt()
    second = kept.prompt(replace(APPROVAL, wants=("edit src/b.py",)))
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("2 prompts wait", r"▸.*edit src/a\.py")
        person.press("j")
        person.until(r"▸.*edit src/b\.py", second.id)
        person.press("k")
        person.until(r"▸.*edit src/a\.py", first.id)
        person.press("\x1b[B")
        person.until(r"▸.*edit src/b\.py", second.id)
        person.press("d")
        person.until("done: deny it", "1 prompt waits")
        person.press("q")
        assert person.ends() == 0
    assert kept.prompt_now(first).state is PromptState.OPEN
    assert kept.prompt_now(second).state is PromptState.ANSWERED


def test_what_was_not_on_the_screen_yet_is_not_answered(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    kept.prompt()
    second = kept.prompt(replace(APPROVAL, wants=("edit src/b.py",)))
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("2 prompts wait")
        person.press("ja")
        person.until("look at it first, then answer")
        person.press("q")
        assert person.ends() == 0
    assert kept.prompt_now(second).state is PromptState.OPEN


def test_a_prompt_answered_elsewhere_says_so_and_takes_no_key(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    first = kept.prompt()
    second = kept.prompt(replace(APPROVAL, wants=("edit src/b.py",)))
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("2 prompts wait")
        answered_elsewhere(kept, first)
        person.until("answered in the console", "1 prompt waits", r"▸.*edit src/a\.py")
        person.press("a")
        person.until("this prompt is over")
        person.press("c")
        person.until(r"▸.*edit src/b\.py")
        assert "src/a.py: " not in person.shown
        kept.use(lambda store: store.close_prompt(second.id, PromptState.EXPIRED, reason="the question was shown and not answered"))
        person.until("nobody answered in time", "nobody waits for an answer")
        person.press("q")
        assert person.ends() == 0
    answer = kept.prompt_now(first).answer
    assert answer is not None
    assert answer.choice is Choice.DENY


def test_words_go_with_the_answer_and_escape_leaves_them(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("1 prompt waits")
        person.press("w")
        person.until("Words to the model:")
        person.press("no\x1b")
        person.until("q quit")
        person.press("w")
        person.until("Words to the model:")
        person.press("leave that alone\r")
        person.until('words: "leave that alone"')
        person.press("d")
        person.until("done: deny it")
        person.press("q")
        assert person.ends() == 0
    answer = kept.prompt_now(prompt).answer
    assert answer is not None
    assert answer.words == "leave that alone"


def test_a_question_is_answered_one_by_one(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt(QUESTION)
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("build › explore asks you", "2  green: like grass")
        person.press("a")
        person.until("1 of 2: Number, or your own words:")
        person.press("2\r")
        person.until("2 of 2: Your answer:")
        person.press("it grows\r")
        person.until("done: the question was answered")
        person.press("q")
        assert person.ends() == 0
    answer = kept.prompt_now(prompt).answer
    assert answer is not None
    assert (answer.choice, json.loads(answer.words)) == (None, [["green"], ["it grows"]])


def test_a_long_text_scrolls_to_its_end_and_a_smaller_window_still_shows_it(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    lines = "\n".join(f"line {number} of many" for number in range(400))
    kept.prompt(replace(APPROVAL, tool="write", arguments={"filePath": "src/a.py", "content": lines}))
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("1 prompt waits", "│ line 0 of many", "lines below")
        person.press("G")
        person.until("x  deny it for this subagent")
        person.press("g")
        person.until("│ line 0 of many")
        person.resize(15, 50)
        person.until("1 prompt waits", "wants to use write", "lines below")
        person.press("G")
        person.until("x  deny it for this subagent")
        person.press("q")
        assert person.ends() == 0


def test_a_hostile_text_steers_nothing_and_passes_for_nothing_of_ours(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    hostile = "\x1b[2J\x1b]0;owned\x07\u202egpj.exe\nAnswers\n  a  allow it once\r\x9b31m" + "x" * 100_000
    kept.prompt(replace(APPROVAL, arguments={"filePath": hostile, "\x1b[3J": "\u200b"}, wants=(f"edit {hostile}",)))
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("1 prompt waits", r"\\u001b\[2J", r"\\u202e")
        person.press("G")
        person.until("x  deny it for this subagent")
        person.press("q")
        assert person.ends() == 0
        for sent in ("\x1b[2J\x1b]0", "\x1b]0;owned", "\x1b[3J", "\u202e", "\x9b", "\u200b"):
            assert sent not in person.raw
        assert person.screen.title == ""


def test_help_comes_and_goes_and_nothing_is_answered_meanwhile(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        person.begins()
        person.until("1 prompt waits")
        person.press("?")
        person.until("clear what is over")
        person.press("a?")
        person.until("wants to use edit")
        person.press("q")
        assert person.ends() == 0
    assert kept.prompt_now(prompt).state is PromptState.OPEN


@pytest.mark.parametrize(("how", "code"), [("\x03", 0), (signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_terminal_is_restored_however_it_ends(
    kept: Kept, environment: Where, tmp_path: Path, how: str | signal.Signals, code: int
) -> None:
    kept.tree()
    kept.prompt()
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        before = person.modes()
        assert before & termios.ECHO
        person.begins()
        person.until("1 prompt waits")
        assert not person.modes() & termios.ECHO
        if isinstance(how, str):
            person.press(how)
        else:
            person.process.send_signal(how)
        assert person.ends() == code
        assert person.modes() == before


def test_the_terminal_is_restored_when_the_store_breaks(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    with Onlooker(("approvals", "watch"), environment, tmp_path) as person:
        before = person.modes()
        person.begins()
        kept.use(lambda store: store.prompts())
        (kept.folder / "remit.db").write_bytes(b"this is no database any more, and not for a long time\n" * 400)
        for rest in kept.folder.glob("remit.db-*"):
            rest.unlink()
        assert person.ends() != 0
        assert person.modes() == before


def test_a_wrong_code_opens_nothing(kept: Kept, environment: Where, tmp_path: Path) -> None:
    kept.tree()
    kept.prompt()
    with Person(("approvals", "watch"), {**environment, "TERM": "xterm"}, tmp_path) as person:
        person.sees("Type")
        person.types("aaaa")
        code, said = person.leaves()
    assert code == 2
    assert "the code was not typed back" in said
    assert "src/a.py" not in said


def test_a_terminal_that_cannot_be_drawn_upon_is_told_the_other_way(environment: Where, tmp_path: Path) -> None:
    with Person(("approvals", "watch"), {**environment, "TERM": "dumb"}, tmp_path) as person:
        code, said = person.leaves()
    assert (code, "remit approvals approve ID" in said) == (2, True)
