"""Who reads what of an error, a result, and a call that goes on."""

import pytest
from structlog.testing import capture_logs

from mcp_server.errors import (
    ConfigError,
    Fault,
    LeaseLost,
    ModelNotConfigured,
    NoSuchHandle,
    RemitError,
    StoreDamaged,
    StoreFull,
    ToolFailure,
)
from mcp_server.policy.values import CallId
from mcp_server.protocol.wire import INTERNAL, ended, failure, waiting
from mcp_server.records import CallEnded, Ending, TextPart
from mcp_server.sessions.front import Open
from tests.protocol.connect import text_of
from tests.protocol.scripts import tools

SPECS = {tool.spec.name: tool.spec for tool in tools()}

STORE = "Remit could not store what it must, so it did not act; the operator finds the reason in the server's log"
CONFIG = "Remit's configuration does not allow this as it stands; `remit doctor` in a terminal says what is wrong"


@pytest.mark.parametrize(
    ("error", "text", "logged"),
    [
        (ToolFailure("no such file: a"), "no such file: a", False),
        (NoSuchHandle("task"), str(NoSuchHandle("task")), False),
        (ModelNotConfigured("set a model"), "set a model", True),
        (StoreFull("/home/x/.remit: disk full"), STORE, True),
        (StoreDamaged("/home/x/.remit: malformed"), STORE, True),
        (LeaseLost("run_1 is held by pid 7"), "another Remit process has taken this over; ask it again with task_status", True),
        (ConfigError((Fault(file="/etc/x", line=1, problem="p", remedy="r"),)), CONFIG, True),
        (RemitError("for nobody"), INTERNAL, True),
        (ZeroDivisionError("secret"), INTERNAL, True),
        (TimeoutError(), INTERNAL, True),
        (ExceptionGroup("group", [ToolFailure("no such file: a")]), "no such file: a", False),
        (ExceptionGroup("group", [ToolFailure("one"), ToolFailure("two")]), INTERNAL, True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_each_error_has_its_reader(error: Exception, text: str, logged: bool) -> None:
    with capture_logs() as logs:
        result = failure(error, "read")
    assert (text_of(result.content), result.is_error) == (text, True)
    assert bool(logs) is logged


def call(ending: Ending, structured: dict[str, object] | None = None, tool: str = "read") -> CallEnded:
    return CallEnded(call_id=CallId("c"), tool=tool, ending=ending, parts=(TextPart(text="t"),), structured=structured)


@pytest.mark.parametrize("ending", list(Ending))
def test_only_done_is_a_success(ending: Ending) -> None:
    assert ended(SPECS["read"], call(ending)).is_error is (ending is not Ending.DONE)


def test_a_success_without_its_promised_structure_is_no_success() -> None:
    result = ended(SPECS["task"], call(Ending.DONE, None, "task"))
    assert (text_of(result.content), result.is_error) == ("t", True)


def test_a_refusal_needs_no_structure() -> None:
    result = ended(SPECS["task"], call(Ending.DENIED_BY_RULE, None, "task"))
    assert (result.is_error, result.structured_content) == (True, None)


def test_a_call_that_goes_on_is_no_error() -> None:
    state: dict[str, object] = {"id": "c", "state": "waiting", "refused": []}
    result = waiting(SPECS["task"], Open(call_id=CallId("c"), prompts=(), text="goes on", structured=state))
    assert (text_of(result.content), result.is_error, result.structured_content) == ("goes on", False, state)
    plain = waiting(SPECS["bash"], Open(call_id=CallId("c"), prompts=(), text="goes on", structured=None))
    assert (plain.is_error, plain.structured_content) == (False, None)
