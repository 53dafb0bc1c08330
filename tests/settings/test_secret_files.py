"""A secret that settings name by a file: one line, in a file that nobody else may read or change."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_server.errors import ConfigError
from mcp_server.settings.secret_files import LARGEST, secret_in

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")


def written(file: Path, content: bytes = b" drawn-by-chance\r\n", mode: int = 0o600) -> None:
    file.write_bytes(content)
    file.chmod(mode)


def test_it_is_the_one_line_without_the_space_around_it(tmp_path: Path) -> None:
    written(file := tmp_path / "key")
    (link := tmp_path / "link").symlink_to(file)
    assert (secret_in(file), secret_in(str(link))) == ("drawn-by-chance", "drawn-by-chance")


WRONG: list[tuple[Callable[[Path], object], str]] = [
    (lambda file: None, "cannot be read: it is not there"),
    (lambda file: file.mkdir(), "is not a regular file"),
    (lambda file: os.mkfifo(file, 0o600), "is not a regular file"),
    (lambda file: written(file, mode=0o640), "others may read it"),
    (lambda file: written(file, mode=0o602), "others may read it"),
    (lambda file: written(file, b"\n"), "does not hold one line of text"),
    (lambda file: written(file, b"one\ntwo"), "does not hold one line of text"),
    (lambda file: written(file, b"\xff\xfe"), "does not hold one line of text"),
    (lambda file: written(file, b"x" * (LARGEST + 1)), "does not hold one line of text"),
]


@posix
@pytest.mark.parametrize(
    ("made", "problem"), WRONG, ids=["none", "folder", "pipe", "group", "writable", "empty", "two", "no text", "large"]
)
def test_what_is_not_so_is_a_fault_that_shows_nothing_of_it(made: Callable[[Path], object], problem: str, tmp_path: Path) -> None:
    made(file := tmp_path / "key")
    with pytest.raises(ConfigError) as caught:
        secret_in(file)
    (fault,) = caught.value.faults
    assert (fault.file, fault.problem) == (str(file), problem)
    assert fault.remedy


@posix
@pytest.mark.parametrize(
    ("owner", "mode", "problem"),
    [(1234, 0o600, "belongs to user 1234, who can change it"), (0, 0o640, None), (0, 0o644, "others may read it")],
)
def test_a_file_of_roots_may_be_read_by_its_group_and_one_of_another_users_is_refused(
    owner: int, mode: int, problem: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(file := tmp_path / "key")
    was = file.stat()
    told = os.stat_result((was.st_mode & ~0o777 | mode, *was[1:4], owner, *was[5:]))

    def says(descriptor: int) -> os.stat_result:
        return told

    monkeypatch.setattr(os, "fstat", says)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    if problem is None:
        assert secret_in(file) == "drawn-by-chance"
        return
    with pytest.raises(ConfigError, match=problem):
        secret_in(file)
