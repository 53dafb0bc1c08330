import os
import stat
from pathlib import Path

import pytest

from mcp_server.errors import StoreDamaged, StoreError
from mcp_server.store.files import COMPANIONS, identity, prepare
from mcp_server.store.sqlite import open_store
from tests.store.samples import a_session

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no owner or mode bits")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
async def test_the_file_its_log_and_its_folder_are_for_their_owner_alone(folder: Path) -> None:
    path = folder / "new" / "remit.db"
    store = open_store(path)
    await store.add_session(a_session())
    assert mode(path.parent) == 0o700
    assert {entry.name: mode(entry) for entry in path.parent.iterdir()} == {
        "remit.db": 0o600,
        "remit.db-wal": 0o600,
        "remit.db-shm": 0o600,
    }
    await store.close()


@posix
def test_others_rights_are_taken_off_a_file_of_ones_own(folder: Path) -> None:
    path = folder / "remit.db"
    path.touch(mode=0o600)
    path.chmod(0o664)
    prepare(path)
    assert mode(path) == 0o600


@posix
@pytest.mark.parametrize("name", ["remit.db", *(f"remit.db{companion}" for companion in COMPANIONS)])
def test_a_link_is_refused_and_what_it_names_is_left_alone(folder: Path, name: str) -> None:
    target = folder / "elsewhere"
    target.write_text("precious")
    (folder / name).symlink_to(target)
    with pytest.raises(StoreError, match="is a link"):
        open_store(folder / "remit.db")
    assert target.read_text() == "precious"


@posix
def test_a_dangling_link_is_refused_and_nothing_is_made_behind_it(folder: Path) -> None:
    (folder / "remit.db").symlink_to(folder / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        open_store(folder / "remit.db")
    assert not (folder / "elsewhere").exists()


@posix
@pytest.mark.parametrize("name", ["remit.db", "remit.db-wal"])
def test_a_file_of_another_user_is_refused(folder: Path, name: str) -> None:
    if os.geteuid() == 0:
        (folder / name).touch()
        os.chown(folder / name, 65534, 65534)
        with pytest.raises(StoreError, match="belongs to another user"):
            open_store(folder / "remit.db")
    else:  # only root can give a file away, so here the process takes itself for somebody else
        (folder / name).touch()
        with pytest.raises(StoreError, match="belongs to another user"):
            prepare(folder / "remit.db", user=os.geteuid() + 1)


@posix
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    with pytest.raises(StoreError, match="belongs to another user"):
        prepare(folder / "remit.db", user=os.geteuid() + 1)
    assert list(folder.iterdir()) == []


@posix
@pytest.mark.parametrize("bits", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(folder: Path, bits: int) -> None:
    folder.chmod(bits)
    with pytest.raises(StoreError, match="chmod 700"):
        open_store(folder / "remit.db")
    assert list(folder.iterdir()) == []


@posix
def test_a_folder_or_a_pipe_is_no_store(folder: Path) -> None:
    (folder / "remit.db").mkdir()
    os.mkfifo(folder / "pipe")
    for name in ("remit.db", "pipe"):
        with pytest.raises(StoreError, match="not a plain file"):
            open_store(folder / name)


def test_a_file_in_the_place_of_the_folder_is_reported(folder: Path) -> None:
    (folder / "state").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        open_store(folder / "state" / "remit.db")


@pytest.mark.parametrize("name", ["a\x00b", "\ud800"])
def test_a_path_that_cannot_be_is_reported(folder: Path, name: str) -> None:
    with pytest.raises(StoreError, match="not a path"):
        open_store(folder / name)


@pytest.mark.parametrize("name", ["with space.db", "100% ?#&=.db", "ünï›.db", ":memory:", "file:x.db"])
async def test_any_name_is_a_name(folder: Path, name: str) -> None:
    store = open_store(folder / name)
    await store.add_session(a_session())
    await store.close()
    assert (folder / name).stat().st_size > 0


def test_an_emptied_file_whose_log_holds_changes_is_refused_with_its_log_kept(folder: Path) -> None:
    (folder / "remit.db").touch()
    (folder / "remit.db-wal").write_bytes(b"changes")
    with pytest.raises(StoreDamaged, match="holds changes"):
        open_store(folder / "remit.db")
    assert (folder / "remit.db-wal").read_bytes() == b"changes"


def test_a_file_is_known_by_what_it_is_and_not_by_its_name(folder: Path) -> None:
    one, two = folder / "one", folder / "two"
    one.touch()
    two.touch()
    known = identity(one)
    assert known is not None
    assert (identity(two) == known, identity(folder / "none")) == (False, None)
    os.replace(one, two)
    assert (identity(two), identity(one)) == (known, None)
