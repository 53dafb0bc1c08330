"""An audit event in the words of the Open Cybersecurity Schema Framework: class 6003, API Activity, of version 1.3.0.

What the schema has no word for stands under `unmapped`, as `remit audit --json` has it.
"""

from collections.abc import Mapping
from typing import Any

from mcp_server.policy.values import Action
from mcp_server.records import AuditEvent, Ending
from mcp_server.sessions.wording import path_of
from mcp_server.store.protocol import StoredAudit

SCHEMA = "1.3.0"
CATEGORY, CLASS = 6, 6003

CREATE, READ, UPDATE, OTHER = 1, 2, 3, 99
ACTIVITIES = {CREATE: "Create", READ: "Read", UPDATE: "Update"}
ACTIVITY: Mapping[str, int] = {
    **dict.fromkeys(
        ("read", "list", "glob", "grep", "webfetch", "websearch", "todoread", "task_status", "session_info", "bash_output"), READ
    ),
    **dict.fromkeys(("edit", "write", "apply_patch", "todowrite"), UPDATE),
    "task": CREATE,
}
"""What a tool does, where it is one of the schema's four. `bash` and tools of other servers may do anything: other, by their name."""

UNKNOWN, SUCCESS, FAILURE = (0, "Unknown"), (1, "Success"), (2, "Failure")


def as_ocsf(stored: StoredAudit, unmapped: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The event as that schema has it.

    Args:
        stored: The event.
        unmapped: The same with every field of our own.
        version: Of Remit.
    """
    event = stored.event
    activity = ACTIVITY.get(event.tool, OTHER) if event.kind in ("decision", "outcome") else OTHER
    name = ACTIVITIES.get(activity) or event.tool or event.kind
    status, status_word = _status(event)
    return {
        "activity_id": activity,
        "activity_name": name,
        "actor": {"user": {"uid": event.principal}, "session": {"uid": event.session_id}, "app_name": path_of(event.session_path)},
        "api": {"operation": event.tool or event.kind, "service": {"name": "remit"}, "request": {"uid": event.ref or str(stored.seq)}},
        "category_name": "Application Activity",
        "category_uid": CATEGORY,
        "class_name": "API Activity",
        "class_uid": CLASS,
        "message": f"{event.kind}: {event.outcome}" if event.outcome else event.kind,
        "metadata": {
            "event_code": event.kind,
            "log_name": "audit",
            "product": {"name": "Remit", "vendor_name": "Remit", "version": version},
            "profiles": ["security_control"],
            "sequence": stored.seq,
            "version": SCHEMA,
            **({"correlation_uid": event.ref} if event.ref else {}),
        },
        "severity": "Informational",
        "severity_id": 1,
        "src_endpoint": {"svc_name": "remit"},
        "status": status_word,
        "status_id": status,
        "time": int(event.at * 1000),
        "type_name": f"API Activity: {name if activity != OTHER else 'Other'}",
        "type_uid": CLASS * 100 + activity,
        "unmapped": {"remit": dict(unmapped)},
        **_control(event),
        **({"resources": [{"uid": event.digest, "type": "digest of the arguments"}]} if event.digest else {}),
    }


def _status(event: AuditEvent) -> tuple[int, str]:
    """Whether what was asked was done, as far as this event knows."""
    if event.kind == "outcome":
        return SUCCESS if event.outcome.partition(",")[0] == Ending.DONE.value else FAILURE
    return FAILURE if event.kind == "decision" and event.action is Action.DENY else UNKNOWN


def _control(event: AuditEvent) -> dict[str, Any]:
    """What the rules said. An `ask` is neither allowed nor denied yet."""
    if event.action is None or event.kind != "decision":
        return {}
    decided: dict[Action, dict[str, Any]] = {
        Action.ALLOW: {"action_id": 1, "action": "Allowed", "disposition_id": 1, "disposition": "Allowed"},
        Action.DENY: {"action_id": 2, "action": "Denied", "disposition_id": 2, "disposition": "Blocked"},
    }
    rules = [{"decision": event.action.word, "policy": {"name": rule}} for rule in event.rules]
    return {**decided.get(event.action, {"action_id": 0, "action": "Unknown"}), **({"authorizations": rules} if rules else {})}
