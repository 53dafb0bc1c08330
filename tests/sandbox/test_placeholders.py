import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_server.sandbox.placeholders import Placeholders
from tests.sandbox.stage import ROOT

HOLD = """
import os, sys
from pathlib import Path
from mcp_server.sandbox.placeholders import Placeholders
placed = Placeholders(Path(sys.argv[1]), linger=0).put(sys.argv[2:])
print("held", flush=True)
sys.stdin.read(1)
placed.take()
"""


@pytest.fixture
def placeholders(tmp_path: Path) -> Placeholders:
    return Placeholders(tmp_path / "state" / "placeholders", linger=0)


def _holder(tmp_path: Path, *paths: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", HOLD, str(tmp_path / "state" / "placeholders"), *map(str, paths)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def _ended(process: subprocess.Popen[bytes]) -> None:
    with process:
        process.communicate(b".", timeout=120)


def test_a_placeholder_is_there_for_the_life_of_one_command(placeholders: Placeholders, tmp_path: Path) -> None:
    path = tmp_path / ".git"
    placed = placeholders.put([str(path)])
    assert path.is_dir()
    placed.take()
    placed.take()
    assert not path.exists()


def test_of_two_commands_the_last_to_end_takes_it_away(placeholders: Placeholders, tmp_path: Path) -> None:
    path = tmp_path / ".git"
    first, second = placeholders.put([str(path)]), placeholders.put([str(path)])
    first.take()
    assert path.is_dir()
    second.take()
    assert not path.exists()


def test_commands_of_another_process_count_too(placeholders: Placeholders, tmp_path: Path) -> None:
    path = tmp_path / ".git"
    other = _holder(tmp_path, path)
    mine = placeholders.put([str(path)])
    mine.take()
    assert path.is_dir()
    _ended(other)
    assert not path.exists()


def test_what_a_crash_left_is_taken_away_by_the_next_start(placeholders: Placeholders, tmp_path: Path) -> None:
    path = tmp_path / ".git"
    other = _holder(tmp_path, path)
    assert placeholders.sweep() == ()
    with other:
        other.kill()
        other.wait(timeout=120)
    assert path.is_dir()
    assert placeholders.sweep() == (str(path),)
    assert not path.exists()


def test_what_was_there_before_is_never_taken_away(placeholders: Placeholders, tmp_path: Path) -> None:
    path = tmp_path / ".git"
    path.mkdir()
    placeholders.put([str(path)]).take()
    assert path.is_dir()


def test_what_somebody_filled_meanwhile_stays(placeholders: Placeholders, tmp_path: Path) -> None:
    path = tmp_path / ".git"
    placed = placeholders.put([str(path)])
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    placed.take()
    assert [entry.name for entry in path.iterdir()] == ["HEAD"]


def test_a_folder_that_may_not_be_written_leaves_nothing_half_done(placeholders: Placeholders, tmp_path: Path) -> None:
    path = tmp_path / ".git"
    with pytest.raises(OSError, match=r"[Nn]ot a directory|[Nn]o such file"):
        placeholders.put([str(path), str(tmp_path / "missing" / ".git")])
    assert not path.exists()
    assert placeholders.sweep() == ()


def test_a_ledger_that_was_cut_short_is_no_hindrance(placeholders: Placeholders, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "placeholders"
    folder.mkdir(parents=True)
    (folder / "cut.json").write_text('["/some')
    assert placeholders.sweep() == ()
    assert sorted(os.listdir(folder)) == ["lock"]


def test_commands_that_follow_each_other_share_what_lingers(tmp_path: Path) -> None:
    path, folder = tmp_path / ".git", tmp_path / "state" / "placeholders"
    lingering = Placeholders(folder, linger=0.01)
    lingering.put([str(path)]).take()
    before = lingering.put([str(path)])
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer):
            timer.join(30)
    assert path.is_dir()
    before.take()
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer):
            timer.join(30)
    assert not path.exists()
    assert sorted(os.listdir(folder)) == ["lock"]


def test_a_second_command_holds_what_the_first_has_put_up(placeholders: Placeholders, tmp_path: Path) -> None:
    path, real = tmp_path / ".git", tmp_path / ".hg"
    real.mkdir()
    first = placeholders.put([str(path), str(real)])
    second = placeholders.put([str(path), str(real)])
    assert (first.made, second.made) == ((str(path),), (str(path),))
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    third = placeholders.put([str(path)])
    assert third.made == ()
    for placed in (first, second, third):
        placed.take()


def test_a_process_that_was_stopped_while_it_held_the_lock_keeps_nobody_waiting(placeholders: Placeholders, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "placeholders"
    placeholders.put([str(tmp_path / "one")]).take()
    held = os.open(folder / "lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with pytest.raises(OSError, match="does not go on"):
            placeholders.put([str(tmp_path / "two")])
        assert placeholders.sweep() == ()
    finally:
        os.close(held)
    placeholders.put([str(tmp_path / "two")]).take()
    assert not (tmp_path / "two").exists()
