import stat
from pathlib import Path

from mcp_server.tools.outputs import MAX_BYTES, MAX_LINES, MAX_SAVED, Spool, shown
from tests.tools.lending import Lent


async def test_what_fits_is_shown_whole_and_saved_nowhere(lent: Lent) -> None:
    text = "x\n" * MAX_LINES
    assert shown(text, lent.context, "t") == text
    assert not lent.context.outputs.exists()


async def test_what_does_not_fit_is_saved_whole_for_the_owner_alone(lent: Lent) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 10_001))
    preview = shown(text, lent.context, "t")
    [path] = lent.context.outputs.iterdir()
    assert path.read_text() == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(lent.context.outputs.stat().st_mode) == 0o700
    assert str(path) in preview
    assert "10,000 lines" in preview
    assert f"{len(text):,} bytes" in preview


async def test_the_preview_has_the_head_and_the_tail(lent: Lent) -> None:
    preview = shown("".join(f"line {n}\n" for n in range(1, 10_001)), lent.context, "t")
    assert preview.startswith("line 1\nline 2\n")
    assert preview.endswith("line 9999\nline 10000\n")
    assert "line 5000\n" not in preview
    assert len(preview.encode()) < MAX_BYTES + 500


async def test_one_endless_line_is_previewed_too(lent: Lent) -> None:
    preview = shown("a" * 30_000 + "b" * 300_000 + "c" * 30_000, lent.context, "t")
    assert preview.startswith("a" * 1000)
    assert preview.endswith("c" * 1000)
    assert len(preview) < MAX_BYTES + 500


async def test_output_in_many_small_pieces_is_the_same(lent: Lent) -> None:
    spool = Spool(lent.context.outputs, "t")
    whole = b"".join(b"%d\n" % n for n in range(20_000))
    for start in range(0, len(whole), 7):
        spool.add(whole[start : start + 7])
    spool.close()
    assert spool.path is not None
    assert spool.path.read_bytes() == whole
    assert spool.text().startswith("0\n1\n")
    assert spool.text().endswith("19999\n")


async def test_a_runaway_output_does_not_fill_the_disk(lent: Lent) -> None:
    spool = Spool(lent.context.outputs, "t")
    for _ in range(MAX_SAVED // (1024 * 1024) + 5):
        spool.add(b"x" * (1024 * 1024))
    spool.close()
    assert spool.path is not None
    assert spool.path.stat().st_size == MAX_SAVED
    assert f"its first {MAX_SAVED:,} bytes" in spool.text()


def test_a_folder_that_cannot_be_made_is_said_and_the_preview_still_shown(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    spool = Spool(tmp_path / "file" / "outputs", "t")
    spool.add(b"line\n" * 5000)
    spool.close()
    assert "could not be saved" in spool.text()
    assert spool.text().startswith("line\n")
