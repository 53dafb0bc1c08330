import os
from pathlib import Path

import anyio
import pytest

from mcp_server.errors import ToolFailure
from mcp_server.tools.base import Tool
from mcp_server.tools.glob import GlobTool
from mcp_server.tools.grep import MAX_MATCHES, GrepTool
from mcp_server.tools.list import MAX_ENTRIES, ListTool, fitting, tree_of
from mcp_server.tools.paths import locate
from mcp_server.tools.ripgrep import search
from mcp_server.tools.searching import MAX_COUNTED, judged
from tests.bounds import LONG
from tests.tools.lending import Lent

GLOB, GREP, LIST = GlobTool(), GrepTool(), ListTool()


def _asked(lent: Lent, tool: Tool, **arguments: object) -> list[tuple[str, list[str]]]:
    """Each permission that a call asks for, with its values."""
    _, context = lent.judged(tool, **arguments)
    return [(request.permission, [value.text for value in request.values]) for request in context.judged]


async def test_glob_names_files_in_the_order_of_their_paths(lent: Lent) -> None:
    for name in ("b.py", "a/z.py", "a/b/c.py", "a.txt"):
        lent.write(name)
    assert await lent.text(GLOB, pattern="**/*.py") == "a/b/c.py\na/z.py\nb.py"


async def test_a_pattern_without_a_slash_matches_in_every_folder(lent: Lent) -> None:
    lent.write("a/b.md")
    assert await lent.text(GLOB, pattern="*.md") == "a/b.md"


async def test_a_path_narrows_the_search(lent: Lent) -> None:
    lent.write("a/x.py")
    lent.write("b/x.py")
    assert await lent.text(GLOB, pattern="*.py", path="b") == "b/x.py"


async def test_ignored_files_are_left_out_even_where_the_pattern_names_them(lent: Lent) -> None:
    lent.write(".gitignore", "*.log\nbuild/\n")
    lent.write("a.log")
    lent.write("build/x.txt")
    lent.write("x.txt")
    assert await lent.text(GLOB, pattern="*.log") == "no file matches *.log in ."
    assert await lent.text(GLOB, pattern="**/x.txt") == "x.txt"


async def test_hidden_files_are_found_but_not_those_of_git(lent: Lent) -> None:
    lent.write(".github/ci.yaml")
    lent.write(".git/config")
    assert await lent.text(GLOB, pattern="*") == ".github/ci.yaml"


async def test_files_that_may_not_be_read_are_left_out_and_counted(lent: Lent) -> None:
    for name in ("a.txt", "secret/b.txt", "secret/c.txt"):
        lent.write(name, "word\n")
    lent.unreadable(lambda path: (path.relative or "").startswith("secret/"))
    note = "(2 files left out that the rules do not let you read)"
    assert await lent.text(GLOB, pattern="*.txt") == f"a.txt\n{note}"
    assert await lent.text(GREP, pattern="word") == f"1 match in 1 file searched\n\na.txt:\n  Line 1: word\n{note}"


async def test_what_grep_says_of_a_hidden_file_does_not_depend_on_what_is_in_it(lent: Lent) -> None:
    lent.write("a.txt", "nothing\n")
    lent.write(".env", "TOKEN=abc\n")
    lent.unreadable(lambda path: path.relative == ".env")
    there = await lent.text(GREP, pattern="TOKEN=abc")
    lent.write(".env", "OTHER=xyz\n")
    assert await lent.text(GREP, pattern="TOKEN=abc") == there
    assert "1 file left out" in there


async def test_of_very_many_files_only_the_first_are_counted_but_none_that_may_not_be_read_is_shown(lent: Lent) -> None:
    names = [f"{n:06}.txt" for n in range(MAX_COUNTED + 50)]
    lent.unreadable(lambda path: path.resolved.endswith(("000001.txt", "10049.txt")))
    found = await judged(names, locate(".", lent.workspace), lent.context)
    assert found.counted == (MAX_COUNTED - 1, 1, "at least ")
    assert found.note == "\n(at least 1 file left out that the rules do not let you read)"
    shown = [name for name in names if found.readable(name) is not None]
    assert len(shown) == len(names) - 2
    assert found.readable("not-found.txt") is None


async def test_links_are_not_followed(lent: Lent, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text("word")
    (lent.workspace / "folder").symlink_to(outside)
    (lent.workspace / "file.txt").symlink_to(outside / "x.txt")
    lent.write("real.txt", "word\n")
    assert await lent.text(GLOB, pattern="*.txt") == "real.txt"
    assert await lent.text(GREP, pattern="word") == "1 match in 1 file searched\n\nreal.txt:\n  Line 1: word"
    assert await lent.text(LIST) == f"{lent.workspace}/\n  real.txt"


async def test_a_folder_swapped_for_a_link_is_not_searched(lent: Lent, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text("word")
    (lent.workspace / "folder").mkdir()
    arguments, context = lent.judged(GREP, pattern="word", path="folder")
    (lent.workspace / "folder").rmdir()
    (lent.workspace / "folder").symlink_to(outside)
    with pytest.raises(ToolFailure, match="changed after it was allowed"):
        await GREP.run(arguments, context)
    with pytest.raises(OSError, match="Not a directory"):
        await search(["--files"], str(lent.workspace / "folder"), {}, lambda record: True, separator=b"\n")


async def test_the_value_asked_for_is_the_folder_searched(lent: Lent) -> None:
    (lent.workspace / "src").mkdir()
    assert _asked(lent, LIST, path="src") == [("list", ["src"])]
    assert _asked(lent, GLOB, path="src", pattern="x") == [("glob", ["src"])]
    assert _asked(lent, GREP, path="src", pattern="x") == [("grep", ["src"])]


async def test_a_folder_outside_asks_for_external_directory_as_well(lent: Lent) -> None:
    assert _asked(lent, LIST, path="/etc") == [("list", ["/etc"]), ("external_directory", ["/etc"])]


async def test_grep_of_a_single_file_needs_read_as_well(lent: Lent) -> None:
    lent.write("src/a.txt", "one\ntwo\n")
    assert _asked(lent, GREP, path="src/a.txt", pattern="x") == [("grep", ["src"]), ("read", ["src/a.txt"])]
    assert await lent.text(GREP, pattern="two", path="src/a.txt") == "1 match in src/a.txt\n\nsrc/a.txt:\n  Line 2: two"


async def test_grep_shows_lines_by_file_and_number(lent: Lent) -> None:
    lent.write("b.py", "x = 1\ny = 2\nx = 3\n")
    lent.write("a.py", "x = 0\n")
    lent.write("a.txt", "x = 9\n")
    assert await lent.text(GREP, pattern=r"^x", include="*.py") == (
        "3 matches in 2 files searched\n\na.py:\n  Line 1: x = 0\n\nb.py:\n  Line 1: x = 1\n  Line 3: x = 3"
    )


async def test_a_pattern_may_begin_with_a_dash(lent: Lent) -> None:
    lent.write("a.txt", "--help\n")
    assert "Line 1: --help" in await lent.text(GREP, pattern="--help")


async def test_a_broken_pattern_is_explained(lent: Lent) -> None:
    lent.write("a.txt", "x\n")
    with pytest.raises(ToolFailure, match="unclosed group"):
        await lent.call(GREP, pattern="fo(")
    with pytest.raises(ToolFailure, match="could not be done"):
        await lent.call(GLOB, pattern="a[")


@pytest.mark.parametrize("path", [".", "a.txt"])
async def test_a_pattern_with_a_nul_character_is_refused_in_words(lent: Lent, path: str) -> None:
    lent.write("a.txt")
    with pytest.raises(ToolFailure, match="NUL"):
        await lent.call(GREP, pattern="a\0b", path=path)


@pytest.mark.parametrize("pattern", ["!x", "/etc/*", "../*", "a/../b", "~/x", "a\0b", "a\nb"])
async def test_patterns_that_lead_elsewhere_are_refused(lent: Lent, pattern: str) -> None:
    with pytest.raises(ToolFailure, match="pattern"):
        await lent.call(GLOB, pattern=pattern)


async def test_a_binary_file_that_matches_is_counted_and_not_shown(lent: Lent) -> None:
    lent.write("small.bin", b"word\nabc\0def\n")
    lent.write("large.bin", b"word\n" + b"x" * 200 + b"\n" * 1_000_000 + b"\0")
    text = await lent.text(GREP, pattern="word")
    assert text == "no match in 2 files searched\n(1 binary file matches, not shown)"


async def test_invalid_utf8_in_names_and_lines_is_replaced(lent: Lent) -> None:
    lent.write("a.txt", b"caf\xe9 word\n")
    lent.write(os.fsdecode(b"n\xff.txt"), "word\n")
    text = await lent.text(GREP, pattern="word")
    assert "Line 1: caf\ufffd word" in text
    assert "n\ufffd.txt:" in text


async def test_a_name_with_a_line_end_cannot_pass_for_two(lent: Lent) -> None:
    lent.write("a\nb.txt", "word\n")
    assert await lent.text(GLOB, pattern="*.txt") == "a\ufffdb.txt"


async def test_matches_are_bounded_and_said_to_be(lent: Lent) -> None:
    lent.write("a.txt", "word\n" * 2000)
    text = await lent.text(GREP, pattern="word")
    assert text.count("Line ") == MAX_MATCHES
    assert "only the first 500 are shown" in text


async def test_a_very_long_matching_line_is_cut(lent: Lent) -> None:
    lent.write("a.txt", "word" + "x" * 5000 + "\n")
    assert len(await lent.text(GREP, pattern="word")) < 700
    lent.write("a.txt", "word" + "x" * 3_000_000 + "\nword\n")
    text = await lent.text(GREP, pattern="word")
    assert "Line 2: word" in text


async def test_a_search_of_a_missing_folder_says_so(lent: Lent) -> None:
    with pytest.raises(ToolFailure, match="no-such does not exist"):
        await lent.call(GREP, pattern="x", path="no-such")
    lent.write("f.txt")
    with pytest.raises(ToolFailure, match="is not a folder"):
        await lent.call(GLOB, pattern="x", path="f.txt")


async def test_a_cancelled_search_leaves_no_process(lent: Lent) -> None:
    lent.write("a.txt", "x\n")
    reading, writing = os.pipe()
    before = _children()  # of other tests in this process
    try:
        with anyio.move_on_after(0.2) as scope:
            await search(["--json", "--regexp=x"], str(lent.workspace), {}, lambda record: True, separator=b"\n", stdin=reading, target="-")
        assert scope.cancelled_caught
        assert _children() - before == set()
    finally:
        os.close(reading)
        os.close(writing)


def _children() -> set[str]:
    path = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return set(path.read_text().split()) if path.exists() else set()


async def test_list_shows_a_tree_with_folders_first(lent: Lent) -> None:
    for name in ("b.txt", "src/a.py", "src/deep/c.py", "node_modules/x.js", "a.log"):
        lent.write(name)
    assert await lent.text(LIST, ignore=["*.log"]) == f"{lent.workspace}/\n  src/\n    deep/\n      c.py\n    a.py\n  b.txt"


async def test_list_names_files_that_may_not_be_read(lent: Lent) -> None:
    lent.write(".env")
    lent.unreadable(lambda path: True)
    assert await lent.text(LIST) == f"{lent.workspace}/\n  .env"


async def test_an_empty_folder_is_said_to_be_empty(lent: Lent) -> None:
    assert await lent.text(LIST) == "no files in ."


def test_a_large_tree_is_shown_as_deep_as_it_fits() -> None:
    names = [f"f{a}/g{b}/h{c}.txt" for a in range(20) for b in range(10) for c in range(10)]
    lines = fitting(tree_of(names))
    assert len(lines) == 20 + 200
    assert lines[:2] == ["  f0/", "    g0/ (10 files)"]


def test_a_flat_folder_with_too_many_files_is_cut_and_said_to_be() -> None:
    lines = fitting(tree_of(f"{n:05}" for n in range(2000)))
    assert len(lines) == MAX_ENTRIES + 1
    assert lines[-1] == "  … and 1,500 more; use glob"


async def test_many_files_are_searched_in_bounded_time(lent: Lent) -> None:
    for folder in range(50):
        for name in range(40):
            lent.write(f"d{folder}/{name}.txt", "word\n" if name == 0 else "other\n")
    with anyio.fail_after(LONG):
        text = await lent.text(GREP, pattern="word")
    assert text.startswith("50 matches in 2,000 files searched")
