import os
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_server.errors import ConfigError, WorkspaceRefused
from mcp_server.settings.places import find_places, managed_folder, private_folder
from mcp_server.settings.workspace import LINE, check_workspace
from tests.settings.ground import Ground


def test_the_environment_moves_the_persons_folders_and_not_the_managed_one():
    root = os.path.abspath(os.sep)
    moved = {f"REMIT_{name}_DIR": os.path.join(root, name) for name in ("CONFIG", "STATE", "CACHE", "MANAGED")}
    places = find_places(moved)
    assert [str(folder) for folder in (places.config, places.state, places.cache)] == [
        os.path.join(root, name) for name in ("CONFIG", "STATE", "CACHE")
    ]
    assert places.managed == managed_folder()
    assert places.managed_owner == 0


def test_without_variables_the_platform_says_where():
    places = find_places({})
    assert [folder.name for folder in (places.config, places.state, places.cache)] == ["remit"] * 3
    assert all(folder.is_absolute() for folder in (places.home, places.config, places.state, places.cache, places.managed))


def test_relative_folders_are_refused_all_at_once():
    with pytest.raises(ConfigError) as caught:
        find_places({"REMIT_CONFIG_DIR": "here", "REMIT_STATE_DIR": "../there"})
    assert [str(fault) for fault in caught.value.faults] == [
        "REMIT_CONFIG_DIR: `here` is not an absolute path; write the whole path",
        "REMIT_STATE_DIR: `../there` is not an absolute path; write the whole path",
    ]


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_a_private_folder_is_made_closed(tmp_path: Path):
    assert private_folder(tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


# ---- workspaces ---------------------------------------------------------------------------------


def refusal(folder: Path, ground: Ground) -> str:
    with pytest.raises(WorkspaceRefused) as caught:
        check_workspace(folder, ground.places)
    return str(caught.value)


def test_a_projects_folder_is_taken_by_its_real_path(ground: Ground):
    assert check_workspace(ground.workspace / ".remit" / "..", ground.places) == ground.workspace


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_counts_as_what_it_leads_to(ground: Ground):
    link = ground.workspace / "link"
    link.symlink_to(ground.places.home)
    assert "is the home folder" in refusal(link, ground)


def test_a_refusal_says_why_and_what_to_put_into_the_clients_configuration(ground: Ground):
    home = ground.places.home
    assert refusal(home, ground) == (
        f"{home} cannot be a workspace: it is the home folder or holds it. Name a project's folder: "
        "put `--workspace /path/to/project` behind the command (in a client's configuration, behind `serve`), or start it in such a folder."
    )


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/", "it is the root of the file system"),
        ("home", "it is the home folder or holds it"),
        ("home/..", "it is the home folder or holds it"),
        ("state", "it is Remit's own state folder"),
        ("state/outputs", "it is Remit's own state folder"),
        ("deep", "it is Remit's own state folder"),
        ("config", "it is Remit's own configuration folder"),
        ("config/agents", "it is Remit's own configuration folder"),
        ("etc", "it is Remit's own managed settings folder"),
        ("absent", "it does not exist or cannot be reached"),
        ("file", "it is not a folder"),
        ("nul\0", "its name holds a NUL"),
    ],
)
def test_what_is_no_workspace_is_refused(ground: Ground, place: str, why: str):
    root = ground.places.home.parent
    for made in ("state/outputs", "config/agents", "deep/state"):
        (root / made).mkdir(parents=True, exist_ok=True)
    (root / "file").touch()
    there = ground
    if place == "deep":
        there = replace(ground, places=replace(ground.places, state=root / "deep" / "state"))
    text = refusal(root / place, there)
    assert why in text
    assert LINE in text


def test_folders_of_remit_that_do_not_exist_yet_are_refused_around_all_the_same(ground: Ground):
    assert not ground.places.state.exists()
    (ground.places.home.parent / "state").mkdir()
    assert "state folder" in refusal(ground.places.state, ground)
