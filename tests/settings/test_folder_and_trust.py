import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_server.errors import ConfigError
from mcp_server.settings import folder
from mcp_server.settings.folder import RemitFolder, read_folder
from mcp_server.settings.trust import Trust, give_trust, trust_of, withdraw_trust
from tests.settings.ground import Ground, write


def read(ground: Ground) -> RemitFolder:
    return read_folder(ground.workspace)


def stands(ground: Ground) -> Trust:
    return trust_of(ground.workspace, read(ground), ground.places.state)


def refused(ground: Ground) -> str:
    with pytest.raises(ConfigError) as caught:
        read(ground)
    return str(caught.value)


def test_an_absent_folder_is_as_an_empty_one(ground: Ground):
    empty = read(ground)
    (ground.workspace / ".remit").rmdir()
    assert read(ground) == empty
    assert dict(empty.files) == {}


def test_what_may_be_configuration_is_kept_and_everything_is_hashed(ground: Ground):
    remit = ground.workspace / ".remit"
    digests = [read(ground).digest]
    for name in ("settings.yaml", "settings.local.yaml", "agents/a.md", "agents/b.txt", "agents/deep/c.md", "else/d.md", "notes"):
        write(remit / name, name)
        digests.append(read(ground).digest)
    assert len(set(digests)) == len(digests)
    assert dict(read(ground).files) == {
        "settings.yaml": b"settings.yaml",
        "settings.local.yaml": b"settings.local.yaml",
        "agents/a.md": b"agents/a.md",
    }


def test_names_and_contents_do_not_run_into_each_other(ground: Ground):
    remit = ground.workspace / ".remit"
    write(remit / "ab", "c")
    before = read(ground).digest
    (remit / "ab").unlink()
    write(remit / "a", "bc")
    assert read(ground).digest != before


def test_plans_are_left_out_so_that_an_agent_may_write_them(ground: Ground):
    before = read(ground).digest
    write(ground.workspace / ".remit" / "plans" / "one.md", "x")
    assert read(ground).digest == before
    write(ground.workspace / ".remit" / "other" / "plans" / "one.md", "x")
    assert read(ground).digest != before


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_links_are_not_followed_and_their_targets_are_hashed(ground: Ground):
    outside = write(ground.places.home / "outside", "one")
    link = ground.workspace / ".remit" / "notes"
    link.symlink_to(outside)
    first = read(ground)
    write(outside, "two")
    assert read(ground) == first
    link.unlink()
    link.symlink_to("elsewhere")
    assert read(ground).digest != first.digest


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_settings_file_that_is_a_link_is_a_fault_and_not_lost(ground: Ground):
    link = ground.workspace / ".remit" / "settings.yaml"
    link.symlink_to(write(ground.places.home / "outside.yaml", "permission: {bash: deny}"))
    assert [str(fault) for fault in ground.faults()] == [
        f"{link}: is a link, which is not followed; put the file itself there, or remove it"
    ]


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_plans_that_are_a_link_are_hashed_as_one(ground: Ground):
    before = read(ground).digest
    (ground.workspace / ".remit" / "plans").symlink_to(ground.places.home)
    assert read(ground).digest != before


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_folder_that_is_a_link_is_refused(ground: Ground):
    remit = ground.workspace / ".remit"
    remit.rmdir()
    remit.symlink_to(ground.places.home)
    assert refused(ground) == f"{remit}: is not a folder; put a real folder there, or remove it; links are not followed"


@pytest.mark.skipif(os.name != "posix", reason="pipes in the file system")
def test_a_pipe_is_hashed_and_not_read(ground: Ground):
    before = read(ground).digest
    os.mkfifo(ground.workspace / ".remit" / "pipe")
    assert read(ground).digest != before


def test_a_folder_with_too_much_in_it_is_refused(ground: Ground):
    for number in range(folder.MAX_FILES + 1):
        (ground.workspace / ".remit" / str(number)).touch()
    assert "holds more than 2,000 entries or 32 MiB" in refused(ground)


# ---- trust --------------------------------------------------------------------------------------


def test_trust_is_given_changed_given_again_and_withdrawn(ground: Ground):
    write(ground.project_file, "a")
    assert stands(ground) is Trust.NEVER
    ground.trust()
    assert stands(ground) is Trust.TRUSTED
    write(ground.project_file, "b")
    assert stands(ground) is Trust.CHANGED
    ground.trust()
    assert stands(ground) is Trust.TRUSTED
    assert withdraw_trust(ground.workspace, ground.places.state)
    assert stands(ground) is Trust.NEVER
    assert not withdraw_trust(ground.workspace, ground.places.state)


def test_trusting_an_empty_workspace_does_not_trust_what_comes_later(ground: Ground):
    ground.trust()
    write(ground.project_file, "permission: {bash: allow}")
    assert stands(ground) is Trust.CHANGED


def test_trust_is_of_one_path(ground: Ground):
    ground.trust()
    other = ground.workspace.with_name("other")
    (other / ".remit").mkdir(parents=True)
    assert trust_of(other, read_folder(other), ground.places.state) is Trust.NEVER


def test_trust_is_given_to_what_was_read_and_not_to_what_lies_there_by_then(ground: Ground):
    seen = read(ground)
    write(ground.project_file, "permission: {bash: allow}")
    give_trust(ground.workspace, seen, ground.places.state)
    assert stands(ground) is Trust.CHANGED


def record(ground: Ground) -> Path:
    (found,) = (ground.places.state / "trust").iterdir()
    return found


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_records_of_trust_are_the_persons_alone(ground: Ground):
    ground.trust()
    modes = [path.stat().st_mode & 0o777 for path in (ground.places.state, ground.places.state / "trust", record(ground))]
    assert modes == [0o700, 0o700, 0o600]


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_a_state_folder_left_open_is_closed(ground: Ground):
    ground.places.state.mkdir(mode=0o755)
    ground.trust()
    assert ground.places.state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", ["", "[]", "7", "{}", '{"workspace": 1}', "\x00", '"x"'])
def test_a_damaged_record_is_a_fault_with_a_way_out(ground: Ground, content: str):
    ground.trust()
    record(ground).write_text(content)
    with pytest.raises(ConfigError) as caught:
        stands(ground)
    assert str(caught.value) == (
        f"{record(ground)}: cannot be read as a record of trust; remove it, then `remit trust` the workspace again"
    )


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_a_record_that_others_may_write_is_not_believed(ground: Ground):
    ground.trust()
    record(ground).chmod(0o620)
    with pytest.raises(ConfigError, match="belongs to somebody else, or others may use it"):
        stands(ground)


@pytest.mark.parametrize("change", [{"workspace": "/elsewhere"}, {"digest": None}, {"digest": 7}])
def test_a_record_of_another_path_or_without_a_digest_trusts_nothing(ground: Ground, change: dict[str, object]):
    ground.trust()
    said = json.loads(record(ground).read_text())
    record(ground).write_text(json.dumps({**said, **change}))
    assert stands(ground) is Trust.NEVER


def test_a_forged_digest_is_a_change(ground: Ground):
    ground.trust()
    forged = replace(read(ground), digest="é" * 64)
    assert trust_of(ground.workspace, forged, ground.places.state) is Trust.CHANGED
