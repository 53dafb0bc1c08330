"""What goes on now: the tree that keeps itself up to date, a transcript with its verdicts, the log as it grows, and an end to it."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mcp_server.principal import LOCAL
from mcp_server.records import Answer, Choice, RunState
from mcp_server.sessions.answers import close_with
from mcp_server.store.protocol import Store
from tests.cli.kept import ASKED, BELOW, CHILD, ROOT, WRITER, Kept
from tests.cli.person import BOUND, Person
from tests.cli.test_showing import run
from tests.cradle.commands import module

INTERRUPT = "\x03"
ON_AN_ANSI_TERMINAL = {"TERM": "xterm", "LINES": "24"}


def leaves(person: Person) -> tuple[int, str]:
    """Press Ctrl-C."""
    os.write(person.master, INTERRUPT.encode())
    return person.leaves()


def test_what_has_finished_is_folded_away_unless_all_is_asked_for(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    kept.end_root()
    assert run(environment, "sessions").output == "nothing is going on; 2 finished sessions not shown; --all shows them\n"
    kept.working()
    shown = [line.split()[:2] for line in run(environment, "sessions").output.splitlines()[1:]]
    assert shown == [["build", "ended"], ["└", "writer"], ["└", "explore"], ["└", "1"]]
    everything = run(environment, "sessions", "--all").output
    assert everything.count("└ explore") == 2
    assert "finished" not in everything


def test_a_row_says_how_it_stands_what_it_has_used_and_what_it_waits_for(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    kept.working()
    prompt = kept.prompt(session=WRITER)
    head, build, writer, below, *_ = run(environment, "sessions").output.splitlines()
    assert head.split() == ["SESSION", "STATE", "ELAPSED", "TOKENS", "ID", "ABOUT"]
    assert " 1500 " in build, "a root's row sums up its tree"
    assert "waiting" in writer
    assert " 750 " in writer
    assert f"asks you: edit src/a.py (remit approvals approve {prompt.id[:12]})" in writer
    assert "queued" in below


def test_the_plain_list_is_the_same_each_time_but_for_the_time(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    kept.working()
    first, second = (run(environment, "sessions", "--json").output for _ in range(2))
    assert first == second
    assert [json.loads(line)["agent"] for line in first.splitlines()] == ["build", "writer", "explore"]


def test_on_a_terminal_the_tree_follows_what_happens_until_it_is_left(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    kept.working()
    with Person(("sessions",), {**environment, **ON_AN_ANSI_TERMINAL}, tmp_path) as person:
        person.sees(r"\x1b\[\?1049h")
        person.sees(r"writer +waiting")
        person.sees("Ctrl-C leaves")
        kept.prompt(session=WRITER)
        person.sees(r"asks you: edit src/a\.py")
        code, rest = leaves(person)
    assert code == 0
    assert rest.endswith("\x1b[?25h\x1b[?1049l"), "the terminal is as it was"


def test_a_terminal_that_cannot_redraw_is_given_the_tree_once_or_anew_with_each_change(
    kept: Kept, environment: Mapping[str, str], tmp_path: Path
) -> None:
    kept.tree()
    kept.working()
    dumb = {**environment, "TERM": "dumb"}
    with Person(("sessions",), dumb, tmp_path) as person:
        code, text = person.leaves()
    assert (code, "writer" in text, "\x1b" in text) == (0, True, False)
    with Person(("sessions", "--watch"), dumb, tmp_path) as person:
        person.sees("writer")
        kept.prompt(session=WRITER)
        person.sees("asks you")
        code, rest = leaves(person)
    assert (code, "\x1b" in rest) == (0, False)


def test_on_a_terminal_it_can_be_printed_once(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    with Person(("sessions", "--once", "--all"), {**environment, **ON_AN_ANSI_TERMINAL}, tmp_path) as person:
        code, text = person.leaves()
    assert (code, "explore" in text, "\x1b" in text) == (0, True, False)


def test_verdicts_and_answers_stand_below_the_call_they_are_about(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    kept.working()
    prompt = kept.prompt(session=WRITER)
    waits = run(environment, "sessions", "show", WRITER).output
    assert f"waits for an answer: remit approvals approve {prompt.id}" in waits

    async def answered(store: Store) -> bool:
        return await close_with(
            store, prompt, Answer(choice=Choice.ALLOW_SESSION, words="go on", by=LOCAL.key, channel="form", at=prompt.created_at + 1)
        )

    assert kept.use(answered)
    lines = run(environment, "sessions", "show", WRITER).output.splitlines()
    place = next(number for number, line in enumerate(lines) if "calls edit" in line)
    assert "\\u001b" in lines[place], "what a model wrote cannot steer the terminal"
    decided, asked, said = (line.strip() for line in lines[place + 1 : place + 4])
    assert decided == "ask (ask) by agent build: edit * ask"
    assert asked == "asked: edit src/a.py, because agent build: edit * ask"
    assert said.startswith("local said at ")
    assert said.endswith("through form: allow it for this subagent: `edit src/* allow`: go on")


def test_a_transcript_is_given_to_programs_with_every_verdict(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    kept.working()
    prompt = kept.prompt(session=WRITER)
    session, task, turn, *steps = (json.loads(line) for line in run(environment, "sessions", "show", WRITER, "--json").output.splitlines())
    assert (session["id"], session["state"], session["asks"][0]["prompt"]) == (WRITER, "waiting", prompt.id)
    assert (task["kind"], task["text"]) == ("task", "write")
    (call,) = turn["calls"]
    assert call["arguments"] == {"filePath": "src/a.py\x1b[2J"}
    assert [(one["action"], one["rules"]) for one in call["decisions"]] == [("ask", ["agent build: edit * ask"])]
    assert [(one["id"], one["state"], one["choice"]) for one in call["prompts"]] == [(prompt.id, "open", None)]
    assert [(step["kind"], step["state"]) for step in steps] == [("change", "waiting")]


def test_a_clients_own_calls_are_told_from_the_audit(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()

    own = replace(ASKED, session_id=ROOT, session_path=("build",), ref="call_9")
    kept.use(lambda store: store.audit((own,)))
    shown = run(environment, "sessions", "show", ROOT).output
    assert "edit: not ended\n      ask (ask) by agent build: edit * ask" in shown


def test_cancel_asks_every_run_of_the_tree_to_end_and_says_how_many(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    kept.working()
    ended = run(environment, "cancel", WRITER[:10])
    assert (ended.exit_code, ended.output.splitlines()) == (
        0,
        [
            "build › writer ses_cccccccc: 2 runs asked to end, 0 ended so far",
            "no server has ended the rest yet; they end as soon as one runs for /project",
        ],
    )

    async def asked(store: Store) -> list[str | None]:
        runs = [await store.latest_run(session) for session in (WRITER, BELOW)]
        return [run.cancel_requested for run in runs if run is not None]

    assert kept.use(asked) == ["the person, with `remit cancel`"] * 2
    assert "waiting, to end" in run(environment, "sessions").output
    assert run(environment, "logs", WRITER).output.count("asked to end by the person") == 2


def test_cancel_of_what_has_ended_changes_nothing(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    ended = run(environment, "cancel", CHILD)
    assert (ended.exit_code, "nothing to end" in ended.output) == (0, True)
    found = kept.use(lambda store: store.latest_run(CHILD))
    assert found is not None
    assert (found.state, found.cancel_requested) == (RunState.COMPLETED, None)


def test_the_log_is_told_for_all_or_for_one_tree(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    kept.working()
    everything = run(environment, "logs").output.splitlines()
    assert len(everything) == 2
    assert "build › explore: decision read deny (deny) by built-in guard: read .env* ask" in everything[0]
    assert run(environment, "logs", CHILD).output.splitlines() == everything[:1]
    assert run(environment, "logs", ROOT).output.splitlines() == everything
    assert run(environment, "logs", "--action", "ask").output.splitlines() == everything[1:]
    assert run(environment, "logs", "--limit", "1").output.splitlines() == everything[1:]
    assert json.loads(run(environment, "logs", WRITER, "--json").output)["ref"] == ASKED.ref


def test_the_log_is_followed_as_it_grows(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    command = module("mcp_server", "logs", "--follow", ROOT)
    with subprocess.Popen(command, env={**os.environ, **environment}, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        try:
            assert "decision read deny" in _line(process)
            kept.working()
            assert "decision edit ask" in _line(process)
        finally:
            process.terminate()


def _line(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    text, deadline = b"", time.monotonic() + BOUND
    while not text.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing came; there is {text!r}"
        text += os.read(process.stdout.fileno(), 1)
    return text.decode()
