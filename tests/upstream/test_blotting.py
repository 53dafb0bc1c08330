"""What a server was given is taken out of what it says: what of it counts as a secret, and in which messages."""

from pathlib import Path
from typing import Any, cast

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from mcp_server.protocol.upstream.blotting import MOST_SENT, Blots
from mcp_server.protocol.upstream.expanding import to_hide

ENVIRONMENT = {
    "API_KEY": "sk-of-chance",
    "REGION": "ap-southeast-2",
    "LONG": "nobody-knows-what-it-is",
    "DATABASE": "postgres://ann:pass-word@db/x",
    "PLACE_KEY": "/home/ann/key",
    "PEM": "-----BEGIN\nsecret-line\n-----END",
    "SHORT_KEY": "on",
}


@pytest.mark.parametrize(
    ("values", "hidden"),
    [
        ({"A": "${API_KEY}"}, {"sk-of-chance"}),
        ({"A": "${REGION}", "MODE": "production", "LEVEL": "a-long-word-for-nothing"}, set[str]()),
        ({"REGION_TOKEN": "${REGION}"}, {"ap-southeast-2"}),
        ({"A": "x ${LONG}"}, {"nobody-knows-what-it-is"}),
        ({"A": "${DATABASE}"}, {"postgres://ann:pass-word@db/x", "pass-word"}),
        ({"A": "${PLACE_KEY}", "B": "${SHORT_KEY}", "C": "${workspaceFolder}/${NONE:-otherwise}"}, set[str]()),
        ({"A": "${PEM}"}, {ENVIRONMENT["PEM"], "-----BEGIN", "secret-line", "-----END"}),
        ({"Authorization": "Bearer written-out"}, {"written-out"}),
        ({"A": "${file:KEY}"}, {"in a file"}),
    ],
)
def test_what_of_a_servers_variables_and_headers_it_should_show_nobody(values: dict[str, str], hidden: set[str], tmp_path: Path) -> None:
    (file := tmp_path / "key").write_text("in a file\n")
    file.chmod(0o600)
    given = {name: text.replace(":KEY}", f":{file}}}") for name, text in values.items()}
    assert set(to_hide(given, ENVIRONMENT)) == hidden


def test_it_is_taken_out_of_every_kind_of_message_but_what_goes_back_to_its_server() -> None:
    blots = Blots()
    blots.give(["hunter", "hunter-two"])
    messages: list[Any] = [
        JSONRPCRequest(jsonrpc="2.0", id=1, method="elicitation/create", params={"message": "hunter-two?"}),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"data": {"hunter": ["hunter-two", 2, None]}}),
        JSONRPCResponse(jsonrpc="2.0", id=1, result={"content": [{"text": "a hunter b"}], "requestState": "hunter"}),
        JSONRPCError(jsonrpc="2.0", id=1, error=ErrorData(code=-1, message="hunter", data=["hunter-two"])),
    ]
    said = [cast(SessionMessage, blots.heard(SessionMessage(each))).message for each in messages]
    assert [each.model_dump(exclude={"jsonrpc", "id", "method"}, exclude_none=True) for each in said] == [
        {"params": {"message": "[secret]?"}},
        {"params": {"data": {"[secret]": ["[secret]", 2, None]}}},
        {"result": {"content": [{"text": "a [secret] b"}], "requestState": "hunter"}},
        {"error": {"code": -1, "message": "[secret]", "data": ["[secret]"]}},
    ]
    clean = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "nothing"}))
    assert blots.heard(clean) is clean


def test_tokens_that_take_one_anothers_place_are_known_for_a_while() -> None:
    blots = Blots()
    blots.give(["of-the-settings"])
    for place in range(MOST_SENT + 1):
        blots.send(f"token-{place}")
    assert blots.text("of-the-settings token-0 token-1 token-8") == "[secret] token-0 [secret] [secret]"
