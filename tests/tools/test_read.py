import base64
import hashlib
import os
import socket
import stat
from pathlib import Path

import anyio
import pytest

from mcp_server.errors import ToolFailure
from mcp_server.tools.paths import locate
from mcp_server.tools.read import ReadTool
from mcp_server.tools.stamps import recall
from mcp_server.tools.window import WHOLE
from tests.bounds import LONG
from tests.tools.lending import Lent, images_of, text_of

READ = ReadTool()
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


async def test_lines_come_back_numbered(lent: Lent) -> None:
    lent.write("a.txt", "one\ntwo\n")
    assert await lent.text(READ, filePath="a.txt") == "1: one\n2: two\n\n(end of file, 2 lines)"


async def test_a_last_line_without_its_end_counts_as_a_line(lent: Lent) -> None:
    lent.write("a.txt", "one\ntwo")
    assert await lent.text(READ, filePath="a.txt") == "1: one\n2: two\n\n(end of file, 2 lines)"


async def test_an_empty_file_is_said_to_be_empty(lent: Lent) -> None:
    lent.write("a.txt")
    assert await lent.text(READ, filePath="a.txt") == "(a.txt is empty)"


async def test_a_window_says_how_to_go_on(lent: Lent) -> None:
    lent.write("a.txt", "".join(f"line {n}\n" for n in range(1, 11)))
    text = await lent.text(READ, filePath="a.txt", offset=3, limit=2)
    assert text == "3: line 3\n4: line 4\n\n(lines 3-4 of 10; go on with offset=5)"


async def test_pages_join_to_the_whole_file_without_gap_or_overlap(lent: Lent) -> None:
    lines = [f"{n} " + "x" * (n % 97) for n in range(1, 5001)]
    lent.write("a.txt", "\n".join(lines))
    seen: list[str] = []
    offset = 1
    while True:
        text = await lent.text(READ, filePath="a.txt", offset=offset)
        body, _, end = text.rpartition("\n\n(")
        seen += [line.partition(": ")[2] for line in body.split("\n")]
        if end.startswith("end of file"):
            break
        offset = int(end.partition("offset=")[2].rstrip(")"))
    assert seen == lines


async def test_at_most_two_thousand_lines_and_fifty_kibibytes_are_shown(lent: Lent) -> None:
    lent.write("short.txt", "a\n" * 3000)
    assert "(lines 1-2000 of 3000; go on with offset=2001)" in await lent.text(READ, filePath="short.txt")
    lent.write("wide.txt", ("b" * 1000 + "\n") * 1000)
    wide = await lent.text(READ, filePath="wide.txt")
    assert 40 * 1024 < len(wide) < 52 * 1024
    assert "go on with offset=52" in wide


async def test_a_long_line_is_cut_and_said_to_be(lent: Lent) -> None:
    lent.write("a.txt", "é" * 30_000 + "\nnext\n")
    text = await lent.text(READ, filePath="a.txt")
    assert text.startswith("1: " + "é" * 2000 + "… (line cut, 60,000 bytes long)\n2: next\n")
    assert "not UTF-8" not in text


async def test_an_offset_behind_the_end_is_refused_with_the_length(lent: Lent) -> None:
    lent.write("a.txt", "one\n")
    with pytest.raises(ToolFailure, match="has 1 lines; offset 5"):
        await lent.call(READ, filePath="a.txt", offset=5)


async def test_crlf_and_byte_order_mark_are_not_shown_but_said(lent: Lent) -> None:
    lent.write("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")
    text = await lent.text(READ, filePath="a.txt")
    assert text.startswith("1: one\n2: two\n")
    assert "CRLF" in text
    assert "byte order mark" in text


async def test_bytes_that_are_not_utf8_are_replaced_and_said_to_be(lent: Lent) -> None:
    lent.write("a.txt", b"caf\xe9\n")
    assert await lent.text(READ, filePath="a.txt") == (
        "1: caf\ufffd\n\n(end of file, 1 lines)\n(bytes that are not UTF-8 are shown as \ufffd)"
    )


async def test_a_binary_file_is_refused_with_size_and_kind(lent: Lent) -> None:
    lent.write("x.bin", b"abc\0def")
    with pytest.raises(ToolFailure, match=r"x\.bin is binary data, 7 bytes"):
        await lent.call(READ, filePath="x.bin")
    lent.write("x.gz", b"\x1f\x8b\x08\0")
    with pytest.raises(ToolFailure, match="gzip data"):
        await lent.call(READ, filePath="x.gz")
    lent.write("x.txt", "a".encode("utf-16"))
    with pytest.raises(ToolFailure, match="UTF-16"):
        await lent.call(READ, filePath="x.txt")


async def test_text_that_begins_like_a_program_is_text(lent: Lent) -> None:
    lent.write("x.txt", "MZ is the beginning of é")
    assert "MZ is" in await lent.text(READ, filePath="x.txt")


async def test_an_image_comes_back_as_an_image(lent: Lent) -> None:
    lent.write("dot.png", PNG)
    result = await lent.call(READ, filePath="dot.png")
    assert [(image.media_type, base64.b64decode(image.data)) for image in images_of(result)] == [("image/png", PNG)]
    assert text_of(result) == f"dot.png: image/png, {len(PNG)} bytes"


@pytest.mark.parametrize(
    ("start", "media_type"),
    [(b"\xff\xd8\xff\xe0", "image/jpeg"), (b"GIF89a", "image/gif"), (b"RIFF\0\0\0\0WEBP", "image/webp")],
)
async def test_an_image_is_known_by_its_bytes_and_not_by_its_name(lent: Lent, start: bytes, media_type: str) -> None:
    lent.write("x.txt", start + b"rest")
    assert [image.media_type for image in images_of(await lent.call(READ, filePath="x.txt"))] == [media_type]


async def test_an_image_too_large_to_show_is_refused(lent: Lent) -> None:
    path = lent.write("big.png", PNG)
    os.truncate(path, 6 * 1024 * 1024)
    with pytest.raises(ToolFailure, match=r"image/png\) of 6,291,456 bytes"):
        await lent.call(READ, filePath="big.png")


async def test_a_huge_sparse_file_is_refused_at_once(lent: Lent) -> None:
    path = lent.write("huge.img")
    os.truncate(path, 1 << 40)
    with anyio.fail_after(LONG), pytest.raises(ToolFailure, match=r"binary data, 1,099,511,627,776 bytes"):
        await lent.call(READ, filePath="huge.img")


async def test_the_start_of_a_huge_text_is_read_without_the_rest(lent: Lent) -> None:
    path = lent.write("huge.log", "line\n" * 4000)
    os.truncate(path, 1 << 40)
    with anyio.fail_after(LONG):
        text = await lent.text(READ, filePath="huge.log", limit=2)
    assert text == "1: line\n2: line\n\n(lines 1-2; go on with offset=3)"


async def test_a_place_far_down_a_large_text_is_found(lent: Lent) -> None:
    lent.write("large.txt", "0123456789abcde\n" * (WHOLE // 16 + 1000))
    last = WHOLE // 16 + 1000
    with anyio.fail_after(LONG):
        text = await lent.text(READ, filePath="large.txt", offset=last)
    assert text == f"{last}: 0123456789abcde\n\n(end of file, {last} lines)"


async def test_a_folder_is_refused_with_the_tool_for_it(lent: Lent) -> None:
    (lent.workspace / "src").mkdir()
    with pytest.raises(ToolFailure, match="a folder; use list"):
        await lent.call(READ, filePath="src")
    with pytest.raises(ToolFailure, match="a folder; use list"):
        await lent.call(READ, filePath=".")


async def test_a_named_pipe_is_refused_without_waiting_for_a_writer(lent: Lent) -> None:
    os.mkfifo(lent.workspace / "pipe")
    with anyio.fail_after(LONG), pytest.raises(ToolFailure, match="a named pipe"):
        await lent.call(READ, filePath="pipe")


async def test_devices_and_sockets_are_refused(lent: Lent, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="a character device"):
        await lent.call(READ, filePath="/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(lent.workspace / "s"))
        assert stat.S_ISSOCK(os.stat(lent.workspace / "s").st_mode)
        with pytest.raises(ToolFailure, match="a socket"):
            await lent.call(READ, filePath="s")


async def test_a_missing_file_names_what_is_like_it(lent: Lent) -> None:
    lent.write("src/config.py")
    lent.write("src/other.md")
    with pytest.raises(ToolFailure, match=r"src/confg\.py does not exist; did you mean src/config\.py\?"):
        await lent.call(READ, filePath="src/confg.py")


async def test_a_missing_file_does_not_name_what_may_not_be_read(lent: Lent) -> None:
    lent.write("secret-key.txt")
    lent.unreadable(lambda path: path.relative == "secret-key.txt")
    with pytest.raises(ToolFailure) as refused:
        await lent.call(READ, filePath="secret-keys.txt")
    assert str(refused.value) == "secret-keys.txt does not exist; glob finds files by name"


async def test_a_file_in_no_folder_is_missing(lent: Lent) -> None:
    with pytest.raises(ToolFailure, match="no/such/file does not exist"):
        await lent.call(READ, filePath="no/such/file")


async def test_a_file_taken_for_a_folder_is_refused_in_words(lent: Lent) -> None:
    lent.write("a.txt", "x")
    with pytest.raises(ToolFailure, match="a part of"):
        await lent.call(READ, filePath="a.txt/b")


async def test_links_in_a_circle_are_refused_in_words(lent: Lent) -> None:
    (lent.workspace / "a").symlink_to("b")
    (lent.workspace / "b").symlink_to("a")
    with pytest.raises(ToolFailure, match=r"a link|a part of"):
        await lent.call(READ, filePath="a")


async def test_a_link_swapped_after_it_was_judged_is_not_followed(lent: Lent, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    lent.write("inside.txt", "harmless")
    link = lent.workspace / "link"
    link.symlink_to("inside.txt")
    arguments, context = lent.judged(READ, filePath="link")
    link.unlink()
    link.symlink_to(outside)
    with pytest.raises(ToolFailure, match="changed after it was allowed"):
        await READ.run(arguments, context)


async def test_a_call_that_nobody_judged_does_not_run(lent: Lent) -> None:
    lent.write("a.txt", "x")
    arguments, _ = lent.judged(READ, filePath="a.txt")
    with pytest.raises(ToolFailure, match="nothing was done"):
        await READ.run(arguments, lent.context)


async def test_a_read_leaves_a_stamp_with_a_digest(lent: Lent) -> None:
    lent.write("a.txt", "one\ntwo\n")
    await lent.call(READ, filePath="a.txt", limit=1)
    seen = await recall(lent.context, locate("a.txt", lent.workspace))
    assert seen is not None
    assert (seen.size, seen.digest) == (8, hashlib.sha256(b"one\ntwo\n").hexdigest())


async def test_many_reads_at_once_all_leave_their_stamps(lent: Lent) -> None:
    names = [f"{n}.txt" for n in range(20)]
    for name in names:
        lent.write(name, name)
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(lambda name=name: lent.call(READ, filePath=name))
    stamps = [await recall(lent.context, locate(name, lent.workspace)) for name in names]
    assert all(stamps)
