"""Names for calls: the digest that a ruling is bound to, and ids that a repeated delivery finds again."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from mcp_server.policy.values import ToolCall
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import RunId
from mcp_server.store.ids import derive


def call_digest(principal: str, session_id: SessionId, tool: str, arguments: Mapping[str, Any]) -> str:
    """SHA-256 over principal, session, tool and arguments, in one canonical form."""
    return _digest([principal, session_id, tool, arguments])


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """SHA-256 over the arguments alone, to tell equal calls of one transcript."""
    return _digest(arguments)


SPAWNS = "task"
"""The tool whose calls start children."""


def child_ids(session_id: SessionId, call: ToolCall) -> tuple[SessionId, RunId]:
    """The ids of the child and the run that this very call starts.

    Derived, so that a call which is delivered twice finds the child it has started and never starts a second one.
    Unguessable, because the caller's session id is.
    """
    return SessionId(derive("ses", _canonical([session_id, call.id]))), RunId(derive("run", _canonical([session_id, call.id])))


def _digest(value: object) -> str:
    return hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str).encode()
