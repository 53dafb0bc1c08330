import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from mcp_server.errors import ToolFailure
from mcp_server.tools.opening import Place, place_of
from mcp_server.tools.patch.landing import Change, carry_out, remove_folders
from mcp_server.tools.replacement import current


class Failing:
    """A step that fails where it is told to."""

    def __init__(self, *at: str) -> None:
        self._at = at

    def stage(self) -> None:
        self._fail("stage")

    def do(self) -> None:
        self._fail("do")

    def undo(self) -> None:
        self._fail("undo")

    def clean(self) -> None:
        self._fail("clean")

    def _fail(self, at: str) -> None:
        if at in self._at:
            raise OSError(f"no {at}")


@contextmanager
def _places(folder: Path, *names: str) -> Generator[tuple[Place, ...]]:
    with ExitStack() as stack:
        yield tuple(stack.enter_context(place_of(str(folder / name))) for name in names)


def _changes(changed: Place, gone: Place, new: Place) -> list[Change]:
    return [
        Change(place=changed, before=current(changed), content=b"other"),
        Change(place=gone, before=current(gone), content=None),
        Change(place=new, before=None, content=b"new"),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = (tmp_path / "folder").resolve()
    folder.mkdir()
    (folder / "changed").write_bytes(b"was")
    (folder / "gone").write_bytes(b"was too")
    (folder / "changed").chmod(0o640)
    return folder


def _content(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_ino, path.stat().st_mode) for path in folder.iterdir()}


def test_all_steps_are_carried_out_and_nothing_of_ours_is_left(folder: Path) -> None:
    with _places(folder, "changed", "gone", "new") as places:
        carry_out(_changes(*places))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"changed": b"other", "new": b"new"}


@pytest.mark.parametrize("at", ["stage", "do"])
@pytest.mark.parametrize("index", range(4))
def test_a_failure_at_any_step_puts_back_the_very_files_that_were(folder: Path, at: str, index: int) -> None:
    before = _content(folder)
    with _places(folder, "changed", "gone", "new") as places:
        steps = _changes(*places)
        with pytest.raises(OSError, match=f"no {at}"):
            carry_out([*steps[:index], Failing(at), *steps[index:]])
    assert _content(folder) == before


def test_what_somebody_else_changed_meanwhile_stops_the_whole(folder: Path) -> None:
    with _places(folder, "changed", "gone", "new") as places:
        steps = _changes(*places)
        (folder / "gone").write_bytes(b"changed by somebody")
        before = _content(folder)
        with pytest.raises(ToolFailure, match="changed by somebody else just now"):
            carry_out(steps)
    assert _content(folder) == before


def test_a_file_that_appeared_where_a_new_one_was_to_be_stays(folder: Path) -> None:
    with _places(folder, "changed", "gone", "new") as places:
        steps = _changes(*places)
        (folder / "new").write_bytes(b"somebody's")
        before = _content(folder)
        with pytest.raises(ToolFailure, match="changed by somebody else just now"):
            carry_out(steps)
    assert _content(folder) == before


def test_what_cannot_be_put_back_is_kept_and_said(folder: Path) -> None:
    with _places(folder, "changed", "gone", "new") as places, pytest.raises(ToolFailure, match="not all of it could be undone"):
        carry_out([*_changes(*places), Failing("undo"), Failing("do")])
    assert (folder / "changed").read_bytes() == b"was"


def test_a_step_that_cannot_clean_up_undoes_nothing(folder: Path) -> None:
    with _places(folder, "changed", "gone", "new") as places:
        carry_out([Failing("clean"), *_changes(*places)])
    assert (folder / "changed").read_bytes() == b"other"


def test_folders_made_for_nothing_are_taken_away_and_others_are_not(tmp_path: Path) -> None:
    made = (tmp_path / "kept" / "a" / "b").resolve()
    os.makedirs(made)
    remove_folders(str(made), 2)
    assert list((tmp_path / "kept").iterdir()) == []
    (tmp_path / "kept" / "full").write_text("x")
    remove_folders(str(tmp_path / "kept"), 1)
    assert (tmp_path / "kept").exists()
