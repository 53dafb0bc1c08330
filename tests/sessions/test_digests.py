"""What a waiting call, and with it an answer that is good once, is bound to."""

from collections.abc import Mapping
from typing import Any

import pytest

from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.digests import call_digest

ARGUMENTS: Mapping[str, Any] = {"filePath": "a.txt", "newString": "x"}


def digest(*, principal: str = "local", session: str = "ses_1", tool: str = "edit", arguments: Mapping[str, Any] = ARGUMENTS) -> str:
    return call_digest(principal, SessionId(session), tool, arguments)


@pytest.mark.parametrize(
    "other",
    [
        digest(principal="somebody else"),
        digest(session="ses_2"),
        digest(tool="write"),
        digest(arguments={**ARGUMENTS, "newString": "y"}),
        digest(arguments={**ARGUMENTS, "replaceAll": True}),
        digest(arguments={"filePath": "a.txt"}),
    ],
    ids=["principal", "session", "tool", "value", "one more", "one less"],
)
def test_a_digest_binds_the_principal_the_session_the_tool_and_every_argument(other: str) -> None:
    assert other != digest()


def test_the_order_in_which_arguments_were_written_is_no_other_call() -> None:
    assert digest(arguments={name: ARGUMENTS[name] for name in ("newString", "filePath")}) == digest()
