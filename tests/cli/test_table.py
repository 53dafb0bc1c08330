"""Tables line up, and show what a terminal would obey instead of sending it."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_server.cli.table import plain, safe, table
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
