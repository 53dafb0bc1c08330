"""What is kept is shown as tables for people and as lines of JSON for programs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mcp_server.cli.main import remit
from mcp_server.principal import LOCAL
from tests.cli.kept import APPROVAL, AT, CHILD, ROOT, Kept
from tests.store.samples import an_event


def run(environment: Mapping[str, str], *arguments: str) -> Result:
    return CliRunner(env=dict(environment)).invoke(remit, arguments)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("sessions",), "no sessions yet\n"),
        (("approvals",), "nobody waits for an answer\n"),
        (("rulings",), "no ruling stands\n"),
        (("audit",), "nothing to show\n"),
        (("logs",), ""),
    ],
)
def test_an_empty_store_is_told_in_words(environment: Mapping[str, str], command: tuple[str, ...], said: str) -> None:
    ended = run(environment, *command)
    assert (ended.exit_code, ended.output) == (0, said)


def test_sessions_stand_below_their_parents(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    lines = run(environment, "sessions", "--all").output.splitlines()
    assert [line.split()[:2] for line in lines] == [["SESSION", "STATE"], ["build", "open"], ["└", "explore"]]
    assert "completed" in lines[2]


def test_a_session_is_shown_with_its_refused_calls_and_without_terminal_tricks(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    ended = run(environment, "sessions", "show", CHILD[:12])
    assert ended.exit_code == 0
    assert "build › explore" in ended.output
    assert 'calls read {"filePath": ".env"}' in ended.output
    assert "refused: build › explore: read .env: denied by the person" in ended.output
    assert "\x1b" not in ended.output
    assert "\x07" not in ended.output


@pytest.mark.parametrize("command", [("sessions", "show", "ses_nothere"), ("cancel", "ses_nothere"), ("logs", "ses_nothere")])
def test_a_session_that_is_not_there_is_one_clear_error_with_the_way_out(environment: Mapping[str, str], command: tuple[str, ...]) -> None:
    ended = run(environment, *command)
    assert ended.exit_code == 2
    assert ended.output.startswith("Error: no session begins with ses_nothere; `remit sessions")
    assert ended.output.endswith("lists them\n")


def test_the_audit_is_filtered_and_given_as_json(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    ended = run(environment, "audit", "--tree", ROOT, "--action", "deny", "--json")
    (event,) = (json.loads(line) for line in ended.output.splitlines())
    assert {key: event[key] for key in ("at", "kind", "path", "tool", "action", "step", "rules")} == {
        "at": AT,
        "kind": "decision",
        "path": ["build", "explore"],
        "tool": "read",
        "action": "deny",
        "step": "deny",
        "rules": ["built-in guard: read .env* ask"],
    }
    assert run(environment, "audit", "--tool", "edit").output == "nothing to show\n"
    assert run(environment, "audit", "--since", "1h").output == "nothing to show\n"


def test_the_audit_table_names_rule_and_step(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    _, line = run(environment, "audit").output.splitlines()
    assert "build › explore  read  decision deny (deny)  built-in guard: read .env* ask" in line


def test_open_prompts_are_listed_oldest_first(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    prompt = kept.prompt()
    listed = run(environment, "approvals", "list").output
    assert f"{prompt.id[:12]}" in listed
    assert "build › explore" in listed
    shown = run(environment, "approvals", "show", prompt.id).output
    assert "agent build: edit * ask" in shown
    assert "allow it for this subagent: `edit src/* allow`" in shown


def test_a_damaged_store_is_one_clear_error(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.folder.mkdir(mode=0o700)
    (kept.folder / "remit.db").write_bytes(b"this is no database" * 1000)
    ended = run(environment, "audit")
    assert ended.exit_code == 2
    assert ended.output.startswith("Error: ")
    assert "remit.db" in ended.output
    assert "Traceback" not in ended.output


def test_an_unknown_command_and_a_wrong_option_are_usage_errors(environment: Mapping[str, str]) -> None:
    assert run(environment, "bogus").exit_code == 2
    assert run(environment, "audit", "--since", "soon").exit_code == 2


def test_what_has_ended_and_is_old_is_removed_and_what_is_young_stays(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    (tmp_path / "home" / "w").mkdir(parents=True)
    said = [
        run(environment, "sessions", "prune", "--days", days, "--workspace", str(tmp_path / "home" / "w")).output for days in ("36500", "1")
    ]
    assert said == [
        "trees removed: 0, sessions: 0; the audit keeps what they did\n",
        "trees removed: 1, sessions: 2; the audit keeps what they did\n",
    ]
    assert "build › explore" in run(environment, "audit").output


def test_old_events_of_the_audit_go_where_that_is_asked_for_and_what_is_left_is_proven(
    kept: Kept, environment: Mapping[str, str], tmp_path: Path
) -> None:
    kept.tree()
    (tmp_path / "home" / "w").mkdir(parents=True)
    workspace = str(tmp_path / "home" / "w")
    told = run(environment, "sessions", "prune", "--audit-days", "36500", "--workspace", workspace)
    assert "events removed" not in told.output
    told = run(environment, "sessions", "prune", "--audit-days", "1", "--workspace", workspace)
    assert told.output.endswith("events removed from the audit: 1; their checkpoints stay\n")
    assert run(environment, "audit").output == "nothing to show\n"
    assert run(environment, "audit", "verify").output.endswith("verified\n")


@pytest.mark.parametrize("command", ["approvals", "audit"])
def test_lines_of_json_have_nothing_that_a_terminal_obeys_or_hides(kept: Kept, environment: Mapping[str, str], command: str) -> None:
    hostile = "\x9b2J\u202e\u2028\x7f"
    kept.tree()
    kept.prompt(replace(APPROVAL, arguments={"filePath": hostile}, wants=(f"edit {hostile}",)))
    kept.use(lambda store: store.audit((an_event(None, hostile, principal=LOCAL.key),)))
    ended = run(environment, command, "--json")
    said = [json.loads(line) for line in ended.output.split("\n") if line]
    assert any(one.get("outcome") == hostile or one.get("wants") == f"edit {hostile}" for one in said)
    assert all(character.isprintable() for character in ended.output.replace("\n", ""))
