"""Tables line up, and show what a terminal would obey instead of sending it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from mcp_server.cli.table import plain, safe, table
from mcp_server.sessions.visible import json_line
from tests.campaign import search


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table(("A", "B"), [("long", "x"), ("", "yy")]) == "A     B\nlong  x\n      yy"


def test_wide_characters_take_two_places() -> None:
    assert table(("A", "B"), [("字", "x"), ("ab", "y")]) == "A   B\n字  x\nab  y"


@given(st.text())
@search(300)
def test_no_text_reaches_the_terminal_as_a_command(text: str) -> None:
    assert plain(text).isprintable()
    assert all(line.isprintable() for line in safe(text).split("\n"))


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text())))
@search(300)
def test_a_line_of_json_is_as_harmless_and_says_what_it_was_given(value: dict[str, str | list[str]]) -> None:
    line = json_line(value)
    assert line.isprintable()
    assert json.loads(line) == value
