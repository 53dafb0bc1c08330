import pytest

from mcp_server.sessions.visible import visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("grep '\\.py$' a", "grep '\\.py$' a"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u3164b", "a\\u3164b"),
        ("a\nb\x1b[2J", "a\\nb\\u001b[2J"),
        ("\\n\n", "\\\\n\\n"),
        ("größer 大", "größer 大"),
    ],
)
def test_nothing_hides_and_nobody_can_write_what_looks_like_an_escape(text: str, seen: str) -> None:
    assert visible(text) == seen
