import os
import stat
from pathlib import Path

import pytest

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue
from mcp_server.tools.apply_patch import ApplyPatchArguments, ApplyPatchTool
from mcp_server.tools.edit import EditTool
from mcp_server.tools.read import ReadTool
from tests.tools.lending import Lent

PATCH, READ, EDIT = ApplyPatchTool(), ReadTool(), EditTool()


def _patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


async def _read(lent: Lent, **files: bytes | str) -> None:
    """Files that the session has read."""
    for name, content in files.items():
        lent.write(name, content)
        await lent.call(READ, filePath=name)


async def _refusal(lent: Lent, *lines: str) -> str:
    """Why a patch is refused; the workspace must stay as it is, with no file of ours left."""
    before = _tree(lent.workspace)
    with pytest.raises(ToolFailure) as refused:
        await lent.call(PATCH, patchText=_patch(*lines))
    assert _tree(lent.workspace) == before
    return str(refused.value)


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path.relative_to(folder)): (path.lstat().st_mode, _content(path)) for path in folder.rglob("*")}


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.readlink(path).encode()
    return b"" if path.is_dir() else path.read_bytes()


async def test_all_that_a_patch_says_is_done_and_told(lent: Lent) -> None:
    await _read(lent, a="one\ntwo\n", b="x\n", c="gone\n")
    text = await lent.text(
        PATCH,
        patchText=_patch(
            "*** Update File: a", "@@", " one", "-two", "+2",
            "*** Add File: deep/er/new", "+fresh",
            "*** Update File: b", "*** Move to: moved/b", "@@", "-x", "+y",
            "*** Delete File: c",
        ),
    )  # fmt: skip
    assert text.startswith("applied the patch, 4 files\nM a\nA deep/er/new\nR b -> moved/b\nD c\n")
    assert "-two\n+2" in text
    assert {name: content for name, (_, content) in _tree(lent.workspace).items() if content} == {
        "a": b"one\n2\n",
        "deep/er/new": b"fresh\n",
        "moved/b": b"y\n",
    }


async def test_a_patched_file_may_be_edited_at_once(lent: Lent) -> None:
    await _read(lent, a="one\n")
    await lent.call(PATCH, patchText=_patch("*** Update File: a", "*** Move to: b", "@@", "-one", "+two"))
    await lent.call(EDIT, filePath="b", oldString="two", newString="three")
    assert (lent.workspace / "b").read_text() == "three\n"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
async def test_modes_go_along(lent: Lent) -> None:
    await _read(lent, a="one\n", b="one\n")
    for name in ("a", "b"):
        (lent.workspace / name).chmod(0o750)
    await lent.call(PATCH, patchText=_patch("*** Update File: a", "@@", "-one", "+2", "*** Update File: b", "*** Move to: c"))
    assert [stat.S_IMODE((lent.workspace / name).stat().st_mode) for name in ("a", "c")] == [0o750, 0o750]


async def test_edit_is_asked_for_both_ends_of_a_move_and_read_for_what_moves(lent: Lent) -> None:
    lent.write("a", "x")
    arguments = ApplyPatchArguments(
        patchText=_patch("*** Update File: a", "*** Move to: ../out", "*** Add File: b", "+x", "*** Delete File: /elsewhere/c")
    )
    asked = [(request.permission, [value.text for value in request.values]) for request in PATCH.requests(arguments, lent.context)]
    out = str(lent.workspace.parent / "out")
    assert asked == [
        ("edit", ["a", out, "b", "/elsewhere/c"]),
        ("read", ["a"]),
        ("external_directory", [out, "/elsewhere/c"]),
    ]


async def test_one_wrong_hunk_leaves_every_file_as_it_was(lent: Lent) -> None:
    await _read(lent, a="one\n", b="two\n")
    refusal = await _refusal(
        lent, "*** Update File: a", "@@", "-one", "+1", "*** Add File: x/y", "+z", "*** Update File: b", "@@", "-three", "+3"
    )
    assert "hunk 1 of b" in refusal


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("*** Update File: unread", "@@", "-x", "+y"), "has not read it; read it first"),
        (("*** Delete File: unread",), "has not read it; read it first"),
        (("*** Update File: unread", "*** Move to: z"), "has not read it; read it first"),
        (("*** Update File: absent", "@@", "-x"), "absent does not exist"),
        (("*** Delete File: no/such/folder",), "does not exist"),
        (("*** Add File: unread", "+x"), "unread exists already"),
        (("*** Update File: known", "*** Move to: unread"), "unread exists already, and nothing is moved over it"),
        (("*** Update File: known", "@@", "-k", "*** Delete File: ./known"), "names known twice"),
        (("*** Update File: known", "*** Move to: new", "*** Add File: x/../new", "+x"), "names new twice"),
        (("*** Add File: folder", "+x"), "folder is a folder"),
        (("*** Add File: known/inside", "+x"), "known"),
        (("*** Add File: known/in/side", "+x"), "known"),
        (("*** Add File: new", "+x", "*** Add File: new/inside", "+x"), "new"),
        (("*** Add File: ../out/side", "+x"), "outside the workspace none is made"),
        (("*** Add File: ~/x", "+x"), "`~` is not expanded"),
    ],
)
async def test_what_may_not_be_is_refused_and_nothing_is_left(lent: Lent, lines: tuple[str, ...], words: str) -> None:
    lent.write("unread", "x\n")
    (lent.workspace / "folder").mkdir()
    await _read(lent, known="k\n")
    assert words in await _refusal(lent, *lines)
    assert not (lent.workspace.parent / "out").exists()


async def test_a_file_that_changed_since_it_was_read_stays(lent: Lent) -> None:
    await _read(lent, a="one\n")
    lent.write("a", "one\nmore\n")
    assert "changed since this session last read it" in await _refusal(lent, "*** Delete File: a")


async def test_a_binary_file_that_read_cannot_show_may_be_moved_and_deleted(lent: Lent) -> None:
    lent.write("a.bin", b"\0\1")
    lent.write("b.bin", b"\0\2")
    await lent.call(PATCH, patchText=_patch("*** Update File: a.bin", "*** Move to: c.bin", "*** Delete File: b.bin"))
    assert [path.name for path in lent.workspace.iterdir()] == ["c.bin"]
    assert (lent.workspace / "c.bin").read_bytes() == b"\0\1"


async def test_a_link_swapped_in_after_the_judgement_is_not_followed(lent: Lent, tmp_path: Path) -> None:
    (lent.workspace / "folder").mkdir()
    valid, context = lent.judged(PATCH, patchText=_patch("*** Add File: folder/new", "+x"))
    (tmp_path / "elsewhere").mkdir()
    (lent.workspace / "folder").rmdir()
    (lent.workspace / "folder").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolFailure, match="changed after it was allowed"):
        await PATCH.run(valid, context)
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_call_that_nobody_judged_does_nothing(lent: Lent) -> None:
    arguments = ApplyPatchArguments(patchText=_patch("*** Add File: new", "+x"))
    with pytest.raises(ToolFailure, match="nothing was done"):
        await PATCH.run(arguments, lent.context)
    assert _tree(lent.workspace) == {}


async def test_a_link_to_a_file_is_judged_and_changed_as_that_file(lent: Lent) -> None:
    await _read(lent, real="one\n")
    (lent.workspace / "link").symlink_to("real")
    await lent.call(PATCH, patchText=_patch("*** Update File: link", "@@", "-one", "+two"))
    assert (lent.workspace / "real").read_text() == "two\n"
    assert (lent.workspace / "link").is_symlink()


async def test_no_content_of_a_file_that_may_not_be_read_is_shown(lent: Lent) -> None:
    await _read(lent, hidden="key\nother\n")

    def denied(path: PathValue) -> bool:
        return path.text == "hidden"

    lent.unreadable(denied)
    assert "key" not in await lent.text(PATCH, patchText=_patch("*** Update File: hidden", "@@", " key", "-other"))


async def test_other_names_of_a_file_are_pointed_out(lent: Lent) -> None:
    await _read(lent, a="one\n")
    os.link(lent.workspace / "a", lent.workspace / "b")
    text = await lent.text(PATCH, patchText=_patch("*** Update File: a", "@@", "-one", "+two"))
    assert "the file had 2 names" in text
    assert (lent.workspace / "b").read_text() == "one\n"
