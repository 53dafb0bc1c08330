import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.errors import ToolFailure
from mcp_server.tools.patch.hunks import patched
from mcp_server.tools.patch.reading import UpdateFile, read_patch


def _patched(content: bytes, *lines: str, hints: bool = True) -> bytes:
    [update] = read_patch("\n".join(("*** Begin Patch", "*** Update File: f", *lines, "*** End Patch")))
    assert isinstance(update, UpdateFile)
    return patched(content, update.hunks, "f", hints=hints)


def _refusal(content: bytes, *lines: str, hints: bool = True) -> str:
    with pytest.raises(ToolFailure) as refused:
        _patched(content, *lines, hints=hints)
    return str(refused.value)


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        (b"a\nb\nc\n", ("@@", " a", "-b", "+B", " c"), b"a\nB\nc\n"),
        (b"a\nb\nc", ("@@", "-c", "+C"), b"a\nb\nC"),
        (b"a\nb", ("@@", " b", "+c"), b"a\nb\nc"),
        (b"a\r\nb\r\n", ("@@", "-b", "+x", "+y"), b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb\nc\r\n", ("@@", " a", " b", "-c", "+d"), b"a\r\nb\nd\r\n"),
        (b"\xef\xbb\xbfa\nb\n", ("@@", "-a", "+c"), b"\xef\xbb\xbfc\nb\n"),
        (b"caf\xe9\na\n", ("@@", "-a", "+b"), b"caf\xe9\nb\n"),
        (b"a\n", ("@@", "+b"), b"a\nb\n"),
        (b"", ("@@", "+b"), b"b\n"),
        (b"a\n", ("@@", "-a"), b""),
        (b"def f():\n    x\ndef g():\n    x\n", ("@@ def g():", "-    x", "+    y"), b"def f():\n    x\ndef g():\n    y\n"),
        (
            b"class A:\n  f\n  x\nclass B:\n  f\n  x\n",
            ("@@ class B:", "@@   f", "-  x", "+  y"),
            b"class A:\n  f\n  x\nclass B:\n  f\n  y\n",
        ),
        (b"a\nb\n", ("@@ a", "+new"), b"a\nnew\nb\n"),
        (b"x\na\nx\n", ("@@", "-x", "+y", "*** End of File"), b"x\na\ny\n"),
        (b"a\nb\nc\nd\n", ("@@", "-a", "+1", "@@", "-d", "+4"), b"1\nb\nc\n4\n"),
        (b"a\n\nb\n", ("@@", " a", "", "-b", "+c"), b"a\n\nc\n"),
    ],
)
def test_hunks_go_where_they_belong_and_all_else_stays(before: bytes, lines: tuple[str, ...], after: bytes) -> None:
    assert _patched(before, *lines) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"keep  \nold \n", b"keep  \nnew\n"), (b"\tkeep\n\told\n", b"\tkeep\nnew\n"), (b"\xe2\x80\x9ckeep\xe2\x80\x9d\nold\n", None)],
)
def test_lines_that_stay_are_the_files_own_where_only_white_space_or_quotes_differ(before: bytes, after: bytes | None) -> None:
    stays = ' "keep"' if after is None else " keep"
    assert _patched(before, "@@", stays, "-old", "+new") == (after or before.replace(b"old", b"new"))


def test_a_strict_match_counts_before_a_loose_one() -> None:
    assert _patched(b"  a\na\n", "@@", "-a", "+b") == b"  a\nb\n"


@pytest.mark.parametrize(
    ("before", "lines", "words"),
    [
        (b"a\nx\na\n", ("@@", "-a"), "fits more than one place (lines 1, 3, …)"),
        (b"a\n", ("@@", "-b"), "are not in the file; nothing was changed: read the file again"),
        (b"a\nb\n", ("@@", " b", "-c"), "(its line `b` is line 2)"),
        (b"a\n", ("@@ def f():", "-a"), "no line reads `def f():`"),
        (b"a\nb\n", ("@@", "-b", "@@", "-a"), "they stand before that; give hunks in the order of the file"),
        (b"a\nb\n", ("@@", "-a", "*** End of File"), "are not in the file"),
    ],
)
def test_a_hunk_without_one_place_is_refused_in_words(before: bytes, lines: tuple[str, ...], words: str) -> None:
    assert words in _refusal(before, *lines)


def test_a_file_that_may_not_be_read_is_not_told_by_a_refusal() -> None:
    assert "line" not in _refusal(b"a\nb\n", "@@", " b", "-c", hints=False).replace("its lines", "")


@pytest.mark.parametrize("lines", [200_000])
def test_a_file_of_equal_lines_does_not_take_time_by_their_square(lines: int) -> None:
    hunk = ("@@", *([" a"] * 5000), "-b")
    assert "are not in the file" in _refusal(b"a\n" * lines, *hunk)


@given(
    st.lists(st.sampled_from([b"a", b"b", b"c d", b"", b"\xff"]), max_size=12),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.data(),
)
def test_replacing_one_line_by_another_changes_that_line_alone(lines: list[bytes], end: bytes, final: bool, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines)))
    whole = [*lines[:at], b"the only one", *lines[at:], b"last"]
    before = end.join(whole) + (end if final else b"")
    after = _patched(before, "@@", "-the only one", "+another")
    assert after == before.replace(b"the only one", b"another")
