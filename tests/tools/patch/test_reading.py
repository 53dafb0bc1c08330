import pytest

from mcp_server.errors import ToolFailure
from mcp_server.tools.patch.reading import AddFile, DeleteFile, Hunk, Line, UpdateFile, read_patch


def _wrapped(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def _refusal(text: str) -> str:
    with pytest.raises(ToolFailure) as refused:
        read_patch(text)
    return str(refused.value)


def test_every_kind_of_section_is_read() -> None:
    text = _wrapped(
        "*** Add File: new.py", "+one", "+",
        "*** Update File: old.py", "*** Move to: moved.py", "@@ class A:", "@@ def f():", " stays", "-goes", "+comes", "*** End of File",
        "*** Delete File: gone.py",
    )  # fmt: skip
    lines = (Line(sign=" ", text="stays"), Line(sign="-", text="goes"), Line(sign="+", text="comes"))
    assert read_patch(text) == (
        AddFile(path="new.py", lines=("one", "")),
        UpdateFile(path="old.py", to="moved.py", hunks=(Hunk(anchors=("class A:", "def f():"), lines=lines, at_end=True),)),
        DeleteFile(path="gone.py"),
    )


def test_a_first_hunk_needs_no_mark_and_an_empty_line_is_one_of_the_file() -> None:
    [update] = read_patch(_wrapped("*** Update File: f", "-a", "", "-b"))
    assert update == UpdateFile(
        path="f",
        to=None,
        hunks=(Hunk(anchors=(), lines=(Line(sign="-", text="a"), Line(sign=" ", text=""), Line(sign="-", text="b")), at_end=False),),
    )


def test_empty_lines_before_a_header_only_set_sections_apart() -> None:
    first, second = read_patch(_wrapped("*** Update File: f", "@@", "-a", "", "*** Delete File: g", ""))
    assert first == UpdateFile(path="f", to=None, hunks=(Hunk(anchors=(), lines=(Line(sign="-", text="a"),), at_end=False),))
    assert second == DeleteFile(path="g")


@pytest.mark.parametrize("mark", ["@@ -1,3 +1,4 @@", "@@ -1 +1 @@", "@@"])
def test_numbers_of_a_unified_diff_name_no_line(mark: str) -> None:
    [update] = read_patch(_wrapped("*** Update File: f", mark, "-a"))
    assert isinstance(update, UpdateFile)
    assert update.hunks[0].anchors == ()


@pytest.mark.parametrize("wrap", ["<<'EOF'\n{}\nEOF", "<<EOF\n{}\nEOF\n", 'apply_patch <<"P"\n{}\nP', "\n\n{}\n\n"])
def test_what_a_shell_would_take_off_is_taken_off(wrap: str) -> None:
    assert read_patch(wrap.format(_wrapped("*** Delete File: a"))) == (DeleteFile(path="a"),)


def test_a_patch_with_windows_line_ends_is_the_same_patch() -> None:
    text = _wrapped("*** Add File: a", "+b")
    assert read_patch(text.replace("\n", "\r\n")) == read_patch(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begins with the line `*** Begin Patch`"),
        ("*** Begin Patch", "was it cut off?"),
        ("*** Begin Patch\n*** Add File: a\n+b", "was it cut off?"),
        (_wrapped(), "names no file"),
        (_wrapped("hello"), "line 2 of the patch, `hello`, begins no file"),
        (_wrapped("*** Add File:"), "line 2 of the patch, `*** Add File:`, names no path"),
        (_wrapped("*** Add File: a", "b"), "line 3 of the patch, `b`, each line of the new file a begins with +"),
        (_wrapped("*** Update File: a"), "says nothing of what to change in a"),
        (_wrapped("*** Update File: a", "@@"), "ends a hunk without a single line"),
        (_wrapped("*** Update File: a", "@@", "x"), "line 4 of the patch, `x`, begins with none of"),
        (_wrapped("*** Delete File: a", "-x"), "line 3 of the patch, `-x`, begins no file"),
        (_wrapped("*** Rename File: a"), "begins no file"),
        (_wrapped(*(f"*** Delete File: {n}" for n in range(51))), "at most 50"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_line_that_is_wrong(text: str, words: str) -> None:
    assert words in _refusal(text)
