"""The shape of a line of OCSF: the required attributes, enumerations and constraints of the class API Activity and of what it holds."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mcp_server.policy.values import Action
from mcp_server.sessions.exporting import as_object
from mcp_server.sessions.ocsf import as_ocsf
from mcp_server.store.protocol import StoredAudit
from tests.cli.kept import ROOT, Kept
from tests.cli.test_showing import run
from tests.store.samples import an_event

REQUIRED = {
    "": {"activity_id", "actor", "api", "category_uid", "class_uid", "metadata", "severity_id", "src_endpoint", "time", "type_uid"},
    "metadata": {"product", "version"},
    "metadata.product": {"vendor_name", "name"},
    "api": {"operation"},
    "api.service": set[str](),
    "api.request": {"uid"},
}
ONE_OF = {"actor": {"process", "user", "session", "app_name"}, "src_endpoint": {"ip", "uid", "name", "hostname", "svc_name"}}
ENUMERATED = {
    "activity_id": {0, 1, 2, 3, 4, 99},
    "status_id": {0, 1, 2, 99},
    "severity_id": {0, 1, 2, 3, 4, 5, 6, 99},
    "action_id": {0, 1, 2},
    "disposition_id": {1, 2},
}


def check(line: dict[str, Any]) -> None:
    for path, names in REQUIRED.items():
        assert names <= at(line, path).keys(), path
    for path, names in ONE_OF.items():
        assert names & at(line, path).keys(), path
    for name, values in ENUMERATED.items():
        assert line.get(name, min(values)) in values, name
    assert (line["class_uid"], line["category_uid"], line["type_uid"]) == (6003, 6, 600300 + line["activity_id"])
    assert isinstance(line["time"], int)


def at(line: dict[str, Any], path: str) -> dict[str, Any]:
    for name in path.split(".") if path else ():
        line = line[name]
    return line


def line_of(**fields: Any) -> dict[str, Any]:
    stored = StoredAudit(seq=7, event=an_event(None, fields.pop("outcome", ""), **fields))
    return as_ocsf(stored, as_object(stored), "1.0")


@pytest.mark.parametrize("kind", ["decision", "outcome", "prompt", "ruling", "run", "session", "trust"])
@pytest.mark.parametrize("action", [None, Action.ALLOW, Action.ASK, Action.DENY])
def test_every_kind_of_event_has_the_shape_of_the_schema(kind: str, action: Action | None) -> None:
    check(line_of(kind=kind, action=action))


def test_what_was_denied_is_blocked_with_its_rules_and_what_only_asks_is_neither() -> None:
    denied = line_of(action=Action.DENY, rules=("agent build: bash * deny",), tool="bash")
    assert (denied["action"], denied["disposition"], denied["status"]) == ("Denied", "Blocked", "Failure")
    assert denied["authorizations"] == [{"decision": "deny", "policy": {"name": "agent build: bash * deny"}}]
    assert (denied["activity_id"], denied["activity_name"]) == (99, "bash")
    asked = line_of(action=Action.ASK)
    assert (asked["action_id"], "disposition_id" in asked, asked["status"]) == (0, False, "Unknown")


def test_a_call_that_was_done_is_a_success_and_one_that_was_not_a_failure() -> None:
    assert line_of(kind="outcome", outcome="done, in a sandbox", tool="read")["status"] == "Success"
    assert line_of(kind="outcome", outcome="failed", tool="read")["status"] == "Failure"


def test_an_export_has_every_event_that_is_wanted_a_line_each(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    lines = [json.loads(line) for line in run(environment, "audit", "export").output.splitlines()]
    assert lines == [json.loads(line) for line in run(environment, "audit", "--json").output.splitlines()]
    mapped = [json.loads(line) for line in run(environment, "audit", "export", "--format", "ocsf", "--tree", ROOT).output.splitlines()]
    assert [line["unmapped"]["remit"] for line in mapped] == lines
    for line in mapped:
        check(line)
    assert run(environment, "audit", "export", "--action", "ask").output == ""


def test_the_audit_tells_all_about_one_call(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    (event,) = (json.loads(line) for line in run(environment, "audit", "--json").output.splitlines())
    found = run(environment, "audit", "--ref", event["ref"] or "nothing", "--json").output
    assert bool(found) is bool(event["ref"])
