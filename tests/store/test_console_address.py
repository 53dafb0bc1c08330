"""Where a console is open is found as long as it lives, and not a moment longer."""

import json
import os
import socket
from pathlib import Path

import pytest

from mcp_server.errors import StoreError
from mcp_server.store.console_address import FOLDER, console_address, console_open
from tests.store.processes import finish, worker

HERE = "http://127.0.0.1:40213"
OTHER = "http://127.0.0.1:40214"


def files(folder: Path) -> list[Path]:
    return sorted((folder / FOLDER).iterdir())


def left(folder: Path, **said: object) -> Path:
    """What a console that was killed left behind."""
    (folder / FOLDER).mkdir(exist_ok=True)
    file = folder / FOLDER / f"con_{len(os.listdir(folder / FOLDER))}.json"
    file.write_text(json.dumps({"address": HERE, "machine": socket.gethostname()} | said))
    return file


def test_there_is_none_before_the_first_and_after_the_last(folder: Path) -> None:
    assert console_address(folder) is None
    with console_open(folder, HERE):
        assert console_address(folder) == HERE
    assert console_address(folder) is None
    assert files(folder) == []


def test_of_several_the_one_opened_last_is_found_and_after_it_the_others(folder: Path) -> None:
    with console_open(folder, HERE):
        os.utime(files(folder)[0], (1.0, 1.0))
        with console_open(folder, OTHER):
            assert console_address(folder) == OTHER
        assert console_address(folder) == HERE


def test_a_clock_that_is_set_back_hides_no_console(folder: Path) -> None:
    with console_open(folder, HERE):
        os.utime(files(folder)[0], (32503680000.0, 32503680000.0))
        assert console_address(folder) == HERE


def test_another_process_finds_it_until_it_is_killed(folder: Path) -> None:
    with worker("console", folder, HERE) as process:
        assert console_address(folder) == HERE
        with worker("look_for_console", folder) as looking:
            assert finish(looking) == [HERE]
        process.kill()
        process.wait()
        assert console_address(folder) is None
    assert files(folder) == []


def test_two_who_look_at_once_do_not_take_each_other_for_a_console(folder: Path) -> None:
    file = left(folder)
    fcntl = pytest.importorskip("fcntl")
    with file.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert console_address(folder) is None


def test_a_file_that_nobody_holds_counts_for_nothing_and_is_removed(folder: Path) -> None:
    left(folder)
    left(folder, address=OTHER)
    assert console_address(folder) is None
    assert files(folder) == []


@pytest.mark.parametrize(
    "said",
    [
        {"machine": "another-machine"},
        {"address": "http://127.0.0.1:1/door/open?token=x"},
        {"address": "http://evil.test:80"},
        {"address": 1},
    ],
    ids=str,
)
def test_what_is_held_but_is_no_console_on_this_machine_counts_for_nothing(folder: Path, said: dict[str, object]) -> None:
    file = left(folder, **said)
    fcntl = pytest.importorskip("fcntl")
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert console_address(folder) is None
        file.write_text("[")
        assert console_address(folder) is None
    assert console_address(folder) is None


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with console_open(elsewhere, HERE):
        (folder / FOLDER).mkdir()
        (folder / FOLDER / "con_a.json").symlink_to(files(elsewhere)[0])
        assert console_address(folder) is None


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/door/", "http://127.0.0.1:1/?token=x", "http://localhost:1", "https://127.0.0.1:1"]
)
def test_an_address_that_holds_more_than_where_it_is_is_not_written_down(folder: Path, address: str) -> None:
    with pytest.raises(ValueError, match="not the bare address"), console_open(folder, address):
        raise NotImplementedError
    assert not (folder / FOLDER).exists()


def test_only_its_user_may_read_it(folder: Path) -> None:
    with console_open(folder, HERE):
        modes = [path.stat().st_mode & 0o777 for path in (folder / FOLDER, *files(folder))]
    assert modes == [0o700, 0o600]


def test_a_folder_that_cannot_be_written_is_said(folder: Path) -> None:
    (folder / FOLDER).write_text("")
    assert console_address(folder) is None
    with pytest.raises(StoreError, match="consoles"), console_open(folder, HERE):
        raise NotImplementedError
