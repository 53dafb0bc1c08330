import os
import stat
from pathlib import Path

import anyio
import pytest

from mcp_server.errors import ToolFailure
from mcp_server.tools.edit import EditTool
from mcp_server.tools.read import ReadTool
from mcp_server.tools.replacement import LARGEST
from mcp_server.tools.write import WriteTool
from tests.bounds import LONG
from tests.tools.lending import Lent

READ, EDIT, WRITE = ReadTool(), EditTool(), WriteTool()


async def _edited(lent: Lent, before: bytes, old: str, new: str, **more: object) -> bytes:
    """What a file holds after it was read and edited."""
    path = lent.write("f.txt", before)
    await lent.call(READ, filePath="f.txt")
    await lent.call(EDIT, filePath="f.txt", oldString=old, newString=new, **more)
    return path.read_bytes()


async def _refusal(lent: Lent, before: bytes, old: str, new: str = "new") -> str:
    """Why an edit is refused; the file must stay as it is."""
    path = lent.write("f.txt", before)
    await lent.call(READ, filePath="f.txt")
    with pytest.raises(ToolFailure) as refused:
        await lent.call(EDIT, filePath="f.txt", oldString=old, newString=new)
    assert path.read_bytes() == before
    return str(refused.value)


def _leftovers(lent: Lent) -> list[str]:
    return [name for name in os.listdir(lent.workspace) if name.startswith(".remit-")]


async def test_the_one_match_is_replaced_and_shown_as_a_diff(lent: Lent) -> None:
    path = lent.write("f.py", "".join(f"line {n}\n" for n in range(1, 21)))
    await lent.call(READ, filePath="f.py")
    text = await lent.text(EDIT, filePath="f.py", oldString="line 10\n", newString="line ten\n")
    assert text == (
        "edited f.py, 1 place\n\n--- f.py\n+++ f.py\n@@ -7,7 +7,7 @@\n"
        " line 7\n line 8\n line 9\n-line 10\n+line ten\n line 11\n line 12\n line 13"
    )
    assert path.read_text().splitlines()[9] == "line ten"


async def test_several_matches_change_nothing_and_are_named_by_line(lent: Lent) -> None:
    assert "matches 2 times (lines 1, 3)" in await _refusal(lent, b"same\nother\nsame\n", "same")


async def test_replace_all_changes_every_match(lent: Lent) -> None:
    assert await _edited(lent, b"a b a\na\n", "a", "c", replaceAll=True) == b"c b c\nc\n"


async def test_a_match_that_overlaps_itself_counts_once(lent: Lent) -> None:
    assert await _edited(lent, b"aaa\n", "aa", "b") == b"ba\n"


async def test_text_that_differs_in_white_space_is_shown_as_it_is(lent: Lent) -> None:
    refusal = await _refusal(lent, b"def f():\n\treturn  1\n", "def f():\n    return 1")
    assert "line 1 differs only in white space. It reads:\ndef f():\n\treturn  1" in refusal


async def test_line_numbers_copied_from_read_are_pointed_out(lent: Lent) -> None:
    assert "leave out the line numbers" in await _refusal(lent, b"one\ntwo\n", "1: one\n2: two")


async def test_text_that_is_not_there_says_what_to_do(lent: Lent) -> None:
    assert "read the file again" in await _refusal(lent, b"one\n", "absent")


async def test_equal_strings_are_refused(lent: Lent) -> None:
    lent.write("f.txt", "x")
    with pytest.raises(ToolFailure, match="the same"):
        await lent.call(EDIT, filePath="f.txt", oldString="x", newString="x")


async def test_crlf_line_ends_are_kept_and_put_into_what_is_new(lent: Lent) -> None:
    assert await _edited(lent, b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz") == b"x\r\ny\r\nz\r\nc\r\n"


async def test_lines_that_are_not_touched_keep_their_mixed_ends(lent: Lent) -> None:
    assert await _edited(lent, b"a\r\nb\nc\nd\r\ne\n", "b\nc\nd\ne", "B") == b"a\r\nB\n"


async def test_a_lone_carriage_return_is_kept(lent: Lent) -> None:
    assert await _edited(lent, b"a\rb\nc\n", "c", "d") == b"a\rb\nd\n"


async def test_a_missing_final_newline_stays_missing(lent: Lent) -> None:
    assert await _edited(lent, b"a\nb", "b", "c") == b"a\nc"


async def test_a_byte_order_mark_is_kept(lent: Lent) -> None:
    assert await _edited(lent, b"\xef\xbb\xbfa\nb\n", "a", "c") == b"\xef\xbb\xbfc\nb\n"


async def test_bytes_that_are_not_utf8_are_kept(lent: Lent) -> None:
    assert await _edited(lent, b"caf\xe9 a\n", " a", " b") == b"caf\xe9 b\n"


async def test_text_that_is_no_text_is_refused(lent: Lent) -> None:
    lent.write("f.txt", "a")
    with pytest.raises(ValueError, match="newString"):
        await lent.call(EDIT, filePath="f.txt", oldString="a", newString="\ud800")


async def test_a_file_that_was_not_read_is_not_edited(lent: Lent) -> None:
    path = lent.write("f.txt", "one")
    with pytest.raises(ToolFailure, match="has not read it; read it first"):
        await lent.call(EDIT, filePath="f.txt", oldString="one", newString="two")
    assert path.read_text() == "one"


async def test_what_another_session_read_does_not_count(lent: Lent, sibling: Lent) -> None:
    lent.write("f.txt", "one")
    await sibling.call(READ, filePath="f.txt")
    with pytest.raises(ToolFailure, match="read it first"):
        await lent.call(EDIT, filePath="f.txt", oldString="one", newString="two")


async def test_a_file_changed_since_it_was_read_is_not_edited(lent: Lent) -> None:
    path = lent.write("f.txt", "one")
    await lent.call(READ, filePath="f.txt")
    path.write_text("one more")
    with pytest.raises(ToolFailure, match="changed since"):
        await lent.call(EDIT, filePath="f.txt", oldString="one", newString="two")
    assert path.read_text() == "one more"


async def test_a_change_that_keeps_size_and_time_is_still_seen(lent: Lent) -> None:
    path = lent.write("f.txt", "one")
    before = path.stat()
    await lent.call(READ, filePath="f.txt")
    path.write_text("two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ToolFailure, match="changed since"):
        await lent.call(EDIT, filePath="f.txt", oldString="two", newString="three")


async def test_a_file_that_was_only_touched_may_be_edited(lent: Lent) -> None:
    path = lent.write("f.txt", "one")
    await lent.call(READ, filePath="f.txt")
    os.utime(path, ns=(1, 1))
    await lent.call(EDIT, filePath="f.txt", oldString="one", newString="two")
    assert path.read_text() == "two"


async def test_two_edits_of_one_session_at_once_both_hold(lent: Lent) -> None:
    path = lent.write("f.txt", "".join(f"line {n};\n" for n in range(20)))
    await lent.call(READ, filePath="f.txt")
    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(lambda n=n: lent.call(EDIT, filePath="f.txt", oldString=f"line {n};", newString=f"LINE {n};"))
    assert path.read_text() == "".join(f"LINE {n};\n" for n in range(20))


async def test_of_two_sessions_that_edit_at_once_one_is_refused(lent: Lent, sibling: Lent) -> None:
    path = lent.write("f.txt", "one two\n")
    refused: list[str] = []

    async def edit(who: Lent, old: str) -> None:
        try:
            await who.call(EDIT, filePath="f.txt", oldString=old, newString=old.upper())
        except ToolFailure as error:
            refused.append(str(error))

    for who in (lent, sibling):
        await who.call(READ, filePath="f.txt")
    async with anyio.create_task_group() as group:
        group.start_soon(edit, lent, "one")
        group.start_soon(edit, sibling, "two")
    assert len(refused) == 1
    assert "changed since" in refused[0]
    assert path.read_text() in ("ONE two\n", "one TWO\n")


async def test_mode_and_owner_are_kept(lent: Lent) -> None:
    path = lent.write("run.sh", "echo one\n")
    path.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    before = path.stat()
    await lent.call(READ, filePath="run.sh")
    await lent.call(EDIT, filePath="run.sh", oldString="one", newString="two")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


async def test_a_new_file_gets_the_usual_mode(lent: Lent) -> None:
    usual = lent.write("usual")
    await lent.call(WRITE, filePath="new", content="x")
    assert stat.S_IMODE((lent.workspace / "new").stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


async def test_an_edit_through_a_link_changes_the_file_and_keeps_the_link(lent: Lent) -> None:
    path = lent.write("real.txt", "one")
    link = lent.workspace / "link.txt"
    link.symlink_to("real.txt")
    await lent.call(READ, filePath="link.txt")
    await lent.call(EDIT, filePath="link.txt", oldString="one", newString="two")
    assert link.is_symlink()
    assert path.read_text() == "two"


async def test_other_names_of_the_file_are_noted_and_keep_the_old_content(lent: Lent) -> None:
    path = lent.write("a.txt", "one")
    os.link(path, lent.workspace / "b.txt")
    await lent.call(READ, filePath="a.txt")
    assert "2 names, hard links" in await lent.text(EDIT, filePath="a.txt", oldString="one", newString="two")
    assert (lent.workspace / "b.txt").read_text() == "one"


async def test_a_link_swapped_after_it_was_judged_is_not_written_through(lent: Lent, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("one")
    lent.write("inside.txt", "one")
    link = lent.workspace / "link"
    link.symlink_to("inside.txt")
    await lent.call(READ, filePath="link")
    arguments, context = lent.judged(EDIT, filePath="link", oldString="one", newString="two")
    link.unlink()
    link.symlink_to(outside)
    with pytest.raises(ToolFailure, match="changed after it was allowed"):
        await EDIT.run(arguments, context)
    assert outside.read_text() == "one"


async def test_a_missing_file_is_not_edited(lent: Lent) -> None:
    with pytest.raises(ToolFailure, match="does not exist"):
        await lent.call(EDIT, filePath="no.txt", oldString="a", newString="b")
    assert os.listdir(lent.workspace) == []


async def test_an_empty_old_string_creates_a_file_with_its_folders(lent: Lent) -> None:
    text = await lent.text(EDIT, filePath="a/b/new.txt", oldString="", newString="one\n")
    assert text.startswith("created a/b/new.txt")
    assert (lent.workspace / "a/b/new.txt").read_text() == "one\n"


async def test_an_empty_old_string_does_not_overwrite(lent: Lent) -> None:
    path = lent.write("f.txt", "one")
    await lent.call(READ, filePath="f.txt")
    with pytest.raises(ToolFailure, match="use write"):
        await lent.call(EDIT, filePath="f.txt", oldString="", newString="two")
    assert path.read_text() == "one"


async def test_a_file_too_large_to_edit_is_refused(lent: Lent) -> None:
    path = lent.write("large.txt", "one\n")
    await lent.call(READ, filePath="large.txt")
    os.truncate(path, LARGEST + 1)
    with pytest.raises(ToolFailure, match="files up to"):
        await lent.call(EDIT, filePath="large.txt", oldString="one", newString="two")


async def test_a_named_pipe_is_not_written_to(lent: Lent) -> None:
    os.mkfifo(lent.workspace / "pipe")
    with anyio.fail_after(LONG), pytest.raises(ToolFailure, match="a named pipe"):
        await lent.call(WRITE, filePath="pipe", content="x")


async def test_nothing_is_left_behind_by_what_was_refused(lent: Lent) -> None:
    await _refusal(lent, b"one\n", "absent")
    await _edited(lent, b"one\n", "one", "two")
    assert _leftovers(lent) == []


async def test_a_diff_is_not_shown_of_a_file_that_may_not_be_read(lent: Lent) -> None:
    lent.write("f.txt", "secret\none\n")
    await lent.call(READ, filePath="f.txt")
    lent.unreadable(lambda path: True)
    assert await lent.text(EDIT, filePath="f.txt", oldString="one", newString="two") == "edited f.txt, 1 place"
    with pytest.raises(ToolFailure) as refused:
        await lent.call(EDIT, filePath="f.txt", oldString="  secret", newString="x")
    assert str(refused.value) == "oldString is not in the file"


async def test_write_creates_a_file_and_the_folders_on_the_way(lent: Lent) -> None:
    assert await lent.text(WRITE, filePath="a/b/c.txt", content="one\ntwo") == "created a/b/c.txt: 2 lines, 7 bytes"
    assert (lent.workspace / "a/b/c.txt").read_text() == "one\ntwo"


async def test_write_replaces_what_was_read_and_keeps_its_mode(lent: Lent) -> None:
    path = lent.write("f.sh", "one\n")
    path.chmod(0o755)
    await lent.call(READ, filePath="f.sh")
    text = await lent.text(WRITE, filePath="f.sh", content="two\r\n")
    assert text.startswith("replaced f.sh: 1 lines, 5 bytes")
    assert path.read_bytes() == b"two\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


async def test_write_does_not_overwrite_what_was_not_read(lent: Lent) -> None:
    path = lent.write("f.txt", "one")
    with pytest.raises(ToolFailure, match="read it first"):
        await lent.call(WRITE, filePath="f.txt", content="two")
    assert path.read_text() == "one"


async def test_what_was_written_may_be_edited_without_reading_it_again(lent: Lent) -> None:
    await lent.call(WRITE, filePath="f.txt", content="one")
    await lent.call(EDIT, filePath="f.txt", oldString="one", newString="two")
    await lent.call(EDIT, filePath="f.txt", oldString="two", newString="three")
    assert (lent.workspace / "f.txt").read_text() == "three"


async def test_no_folder_is_made_outside_the_workspace(lent: Lent, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="outside the workspace none is made"):
        await lent.call(WRITE, filePath=str(tmp_path / "new/f.txt"), content="x")
    assert not (tmp_path / "new").exists()


async def test_no_folder_is_made_through_a_link_swapped_in(lent: Lent, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (lent.workspace / "a").mkdir()
    arguments, context = lent.judged(WRITE, filePath="a/b/f.txt", content="x")
    (lent.workspace / "a").rmdir()
    (lent.workspace / "a").symlink_to(elsewhere)
    with pytest.raises(ToolFailure, match="changed after it was allowed"):
        await WRITE.run(arguments, context)
    assert list(elsewhere.iterdir()) == []


async def test_a_read_only_file_is_not_replaced(lent: Lent) -> None:
    path = lent.write("f.txt", "one")
    await lent.call(READ, filePath="f.txt")
    path.chmod(0o444)
    if os.geteuid() == 0:
        await lent.call(EDIT, filePath="f.txt", oldString="one", newString="two")
        assert path.read_text() == "two"
        return
    with pytest.raises(ToolFailure, match="read-only"):
        await lent.call(EDIT, filePath="f.txt", oldString="one", newString="two")
    assert path.read_text() == "one"
