import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_server.policy.values import Action, CallId, ToolCall
from mcp_server.policy.verdicts import SessionId, Step
from mcp_server.principal import LOCAL
from mcp_server.records import AuditEvent, ModelTurn, RunId, RunRecord, RunState, SessionRecord, TaskGiven, Usage
from mcp_server.redaction import Redaction
from mcp_server.sessions.digests import call_digest
from mcp_server.store.protocol import Store
from tests.cli.kept import AT, Kept
from tests.cli.test_showing import run

ROOT, CHILD = SessionId("ses_root"), SessionId("ses_child")
CALLS = {
    "read": ToolCall(id=CallId("call_read"), tool="read", arguments={"filePath": "a.txt"}),
    "edit": ToolCall(id=CallId("call_edit"), tool="edit", arguments={"filePath": "a.txt", "oldString": "x", "newString": "y"}),
    "task": ToolCall(id=CallId("call_task"), tool="task", arguments={"description": "d", "prompt": "p", "subagent_type": "explore"}),
    "odd": ToolCall(id=CallId("call_odd"), tool="read", arguments={"path": "a.txt"}),
}


def decided(call: ToolCall, action: Action, step: Step, session: SessionId = CHILD) -> AuditEvent:
    return AuditEvent(
        at=AT,
        kind="decision",
        principal=LOCAL.key,
        session_id=session,
        session_path=("build", "general"),
        tool=call.tool,
        digest="d",
        action=action,
        step=step,
        ref=call.id,
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    (tmp_path / "home").mkdir()
    return folder


def past(kept: Kept, workspace: Path) -> None:
    """A child that read and edited a file (a person allowed it), sent another, and made a call that no tool takes."""

    async def add(store: Store) -> None:
        root = SessionRecord(
            id=ROOT,
            principal=LOCAL.key,
            workspace=str(workspace),
            agent="build",
            root_id=ROOT,
            parent_id=None,
            depth=0,
            root_agent="build",
            created_at=AT,
        )
        child = replace(root, id=CHILD, agent="general", parent_id=ROOT, depth=1)
        ran = RunRecord(
            id=RunId("run"),
            session_id=CHILD,
            root_id=ROOT,
            principal=LOCAL.key,
            workspace=str(workspace),
            state=RunState.QUEUED,
            created_at=AT,
            updated_at=AT,
        )
        turn = ModelTurn(text="", calls=tuple(CALLS.values()), model="scripted", usage=Usage(turns=1))
        await store.add_session(root)
        await store.add_child(child, ran, (TaskGiven(text="work"), turn), ())
        await store.audit(
            (
                decided(CALLS["read"], Action.ALLOW, Step.MODE),
                decided(CALLS["edit"], Action.ASK, Step.MODE),
                decided(CALLS["edit"], Action.ALLOW, Step.RULING),
                decided(CALLS["odd"], Action.DENY, Step.MALFORMED),
                decided(ToolCall(id=CallId("call_client"), tool="read", arguments={}), Action.ALLOW, Step.MODE, ROOT),
            )
        )

    kept.use(add)


def test_calls_of_the_past_get_what_the_rules_say_today(
    kept: Kept, environment: Mapping[str, str], workspace: Path, tmp_path: Path
) -> None:
    past(kept, workspace)
    same = run(environment, "audit", "replay")
    assert "2 calls replayed, 0 would get another answer" in same.output
    assert "1 not replayed: it was the client's own: of its arguments only the digest is kept" in same.output
    assert "1 not replayed: its tool needs no permission, is not here, or does not take its arguments" in same.output
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.yaml").write_text("permission:\n  edit:\n    'a.txt': deny\n")
    (line,) = (json.loads(line) for line in run(environment, "audit", "replay", "--json").output.splitlines())
    assert (line["call"], line["then"], line["now"], line["step"]) == ("call_edit", "ask", "deny", "deny")
    everything = run(environment, "audit", "replay", "--all", "--json").output.splitlines()
    assert [json.loads(line)["call"] for line in everything] == ["call_read", "call_edit"]
    assert (workspace / "a.txt").read_text() == "x"


def kept_in_the_audit(kept: Kept, arguments: Mapping[str, object]) -> None:
    """A call of the client's own, as the audit has it where settings keep arguments."""
    digest = call_digest(LOCAL.key, ROOT, "read", arguments)
    told = Redaction(secrets=())(arguments)
    event = decided(ToolCall(id=CallId("call_client_2"), tool="read", arguments={}), Action.ALLOW, Step.MODE, ROOT)
    kept.use(lambda store: store.audit((replace(event, digest=digest, arguments=told),)))


def test_a_clients_own_call_is_replayed_where_the_audit_holds_its_arguments_in_full(
    kept: Kept, environment: Mapping[str, str], workspace: Path
) -> None:
    past(kept, workspace)
    kept_in_the_audit(kept, {"filePath": "a.txt", "limit": 3})
    lines = [json.loads(line) for line in run(environment, "audit", "replay", "--all", "--json").output.splitlines()]
    assert [(line["call"], line["now"]) for line in lines][-1] == ("call_client_2", "allow")


@pytest.mark.parametrize("path", ["https://me:hunter22@example.org", "a" * 500])
def test_a_call_of_which_a_value_was_redacted_or_cut_is_not_replayed_and_that_is_said(
    kept: Kept, environment: Mapping[str, str], workspace: Path, path: str
) -> None:
    past(kept, workspace)
    kept_in_the_audit(kept, {"filePath": path})
    said = run(environment, "audit", "replay").output
    assert "1 not replayed: no transcript holds it, and in the audit a value of its arguments was redacted or cut" in said
    assert "2 calls replayed" in said


def test_a_look_at_later_calls_only_leaves_the_others_out(kept: Kept, environment: Mapping[str, str], workspace: Path) -> None:
    past(kept, workspace)
    assert run(environment, "audit", "replay", "--since", "1s").output == "0 calls replayed, 0 would get another answer\n"


def test_what_cannot_be_replayed_is_counted_with_its_reason(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    assert run(environment, "audit", "replay").output.splitlines()[0] == "0 calls replayed, 0 would get another answer"
