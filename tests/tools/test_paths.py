import os
import stat
from pathlib import Path

import pytest

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import PathValue
from mcp_server.tools.opening import folder_of, look, opened, place_of
from mcp_server.tools.paths import folder_ignores_case, locate, path_requests


def test_a_relative_path_is_taken_from_the_workspace(tmp_path: Path) -> None:
    assert locate("a/b.py", tmp_path) == PathValue(
        resolved=f"{tmp_path}/a/b.py", relative="a/b.py", unresolved=f"{tmp_path}/a/b.py", ignore_case=False
    )


def test_dots_are_resolved_before_a_path_is_judged(tmp_path: Path) -> None:
    value = locate("a/../../outside", tmp_path / "w")
    assert (value.resolved, value.relative) == (f"{tmp_path}/outside", None)


def test_the_workspace_itself_is_inside(tmp_path: Path) -> None:
    assert locate(".", tmp_path).relative == "."


def test_a_folder_whose_name_only_begins_like_the_workspace_is_outside(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    assert locate("../w2/x", tmp_path / "w").relative is None


def test_a_link_is_followed_and_what_was_asked_for_is_kept_beside_it(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "link").symlink_to("/etc")
    value = locate("link/passwd", workspace)
    assert (value.resolved, value.relative, value.unresolved) == ("/etc/passwd", None, f"{workspace}/link/passwd")


def test_dots_behind_a_link_climb_from_where_it_leads(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    (tmp_path / "other/deep").mkdir(parents=True)
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path / "other/deep")
    value = locate("link/../x", workspace)
    assert (value.resolved, value.unresolved) == (f"{tmp_path}/other/x", f"{workspace}/x")


def test_a_path_outside_raises_external_directory_beside_the_permission(tmp_path: Path) -> None:
    value = locate("/etc/passwd", tmp_path)
    assert [(request.permission, request.values) for request in path_requests("read", value)] == [
        ("read", (value,)),
        ("external_directory", (value,)),
    ]


def test_a_path_inside_raises_its_permission_alone(tmp_path: Path) -> None:
    assert [request.permission for request in path_requests("edit", locate("a", tmp_path))] == ["edit"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("~/secrets", "not expanded"),
        ("~root/x", "not expanded"),
        ("x" * 256, "too long"),
        ("a/" * 3000, "too long"),
        ("\ud800", "Unicode"),
    ],
)
def test_what_can_be_no_path_is_refused_in_words(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match=words):
        locate(text, tmp_path)


def test_a_link_to_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    os.symlink(b"\xff", os.fsencode(tmp_path / "link"))
    with pytest.raises(ToolFailure, match="not UTF-8"):
        locate("link", tmp_path)


def test_case_counts_as_the_file_system_has_it(tmp_path: Path) -> None:
    def everywhere(folder: str) -> bool:
        return True

    assert locate("a", tmp_path, everywhere).ignore_case
    (tmp_path / "Name").touch()
    assert folder_ignores_case(str(tmp_path)) == (tmp_path / "nAME").exists()


def test_two_names_that_differ_in_case_show_that_case_counts(tmp_path: Path) -> None:
    if folder_ignores_case(str(tmp_path.parent)):
        pytest.skip("this file system ignores case")
    (tmp_path / "a").touch()
    (tmp_path / "A").touch()
    assert not folder_ignores_case(str(tmp_path))


def test_one_file_under_both_cases_counts_as_a_folder_that_ignores_case(tmp_path: Path) -> None:
    """A hard link stands in for a file system that folds case: the look-up finds one file under both names."""
    if folder_ignores_case(str(tmp_path.parent)):
        pytest.skip("this file system ignores case")
    (tmp_path / "a").touch()
    os.link(tmp_path / "a", tmp_path / "A")
    assert folder_ignores_case(str(tmp_path))


def test_opening_goes_through_no_link_even_one_that_came_after_resolving(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_text("mine")
    resolved = str(folder / "file")
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(OSError, match=r"Not a directory|symbolic"), place_of(resolved):
        pass
    with pytest.raises(OSError, match=r"Not a directory|symbolic"), folder_of(str(folder)):
        pass


def test_a_link_in_the_last_place_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with place_of(str(tmp_path / "link")) as place:
        found = look(place)
        assert found is not None
        assert stat.S_ISLNK(found.st_mode)
        with pytest.raises(ToolFailure, match="a link"), opened(place):
            pass
