"""Ways round the sandbox, and ways in which it got in the way, through the whole of Remit."""

import os
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_server.settings.values import Flags
from tests.behaviour.stories import NEAR
from tests.behaviour.test_sandbox import ALLOWED, ran
from tests.behaviour.world import World, connect, make_world
from tests.protocol.connect import Person, decides

EDITS = Flags(mode="acceptEdits")


def git(world: World, *words: str) -> None:
    who = {f"GIT_{role}_{part}": "a" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(world.places.home), **who}
    subprocess.run(["git", *words], cwd=world.workspace, check=True, timeout=180, env=environment)


@pytest.fixture
def below_tmp() -> Generator[Path]:
    """A folder where the sandbox has a folder of its own."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="remit-below-") as folder:
        yield Path(folder).resolve()


async def test_who_may_write_the_repository_cannot_say_that_its_settings_lie_elsewhere(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"move.sh": "cp .git/config evil; echo ../evil > .git/commondir; git add . && git commit -qm one\n"})
    git(world, "init", "-q", ".")
    git(world, "config", "user.email", "a@b")
    git(world, "config", "user.name", "a")
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person, flags=EDITS) as connected:
        told = await ran(connected, command="sh move.sh", may_write=[".git"])
    assert "(exit code 0)" in told, "and git goes on working"
    named = world.workspace / ".git/commondir"
    assert not named.exists() or named.read_text() == ".\n", "what stands there stays for a second"
    git(world, "log", "--oneline")


async def test_a_folder_with_a_secret_keeps_its_name_while_lines_run_that_must_not_see_it(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"move.sh": "mv sub other\n", "sub/.env": "KEY=1\n"}, settings=ALLOWED)
    async with connect(world, NEAR, flags=EDITS) as connected:
        told = await ran(connected, command="sh move.sh")
    assert "busy" in told
    assert (world.workspace / "sub/.env").exists()


async def test_what_a_workspace_below_tmp_lies_in_cannot_be_exchanged(below_tmp: Path) -> None:
    world = make_world(below_tmp, files={"move.sh": f"mv {below_tmp} /tmp/other; mkdir {below_tmp} && echo moved\n"}, settings=ALLOWED)
    async with connect(world, NEAR, flags=EDITS) as connected:
        told = await ran(connected, command="sh move.sh")
    assert "busy" in told
    assert "moved" not in told


async def test_what_stands_for_files_that_are_not_there_keeps_nobody_from_looking_through_the_workspace(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"look.sh": "find . -name a.py\n", "src/a.py": "1\n"}, settings=ALLOWED)
    async with connect(world, NEAR, flags=EDITS) as connected:
        assert await ran(connected, command="sh look.sh") == "./src/a.py\n\n(exit code 0)"
        assert await ran(connected, command="find . -name a.py") == "./src/a.py\n\n(exit code 0)", "while they linger too"


async def test_a_program_of_the_workspace_is_not_taken_for_one_that_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {"permission": {"bash": "allow", "webfetch": {"https://docs.example.org/*": "allow"}}}
    world = make_world(tmp_path, files={"bin/curl": "#!/bin/sh\necho mine\n"}, settings=rules)
    (world.workspace / "bin/curl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{world.workspace}/bin:{os.environ['PATH']}")
    async with connect(world, NEAR, flags=EDITS) as connected:
        assert "mine" in await ran(connected, command="sh -c curl"), "what has no network may run it"
        assert "mine" not in await ran(connected, command="curl --max-time 1 https://docs.example.org/x")


async def test_a_line_that_only_looks_finds_the_workspace_as_it_is(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"a.py": "1\n"}, settings=ALLOWED)
    async with connect(world, NEAR, flags=EDITS) as connected:
        assert await ran(connected, command="ls -A") == "a.py\n\n(exit code 0)"
        assert "(exit code 0)" in await ran(connected, command="mkdir -p out/deep && echo 1 > out/deep/file")
    assert (world.workspace / "out/deep/file").exists()


async def test_without_rules_that_close_anything_a_workspace_below_tmp_can_be_seen(below_tmp: Path) -> None:
    open_guard = {"guard": {"read": "allow", "edit": "allow"}}
    world = make_world(below_tmp, files={"a.py": "1\n"}, settings=ALLOWED | open_guard)
    async with connect(world, NEAR, flags=Flags(mode="bypassPermissions")) as connected:
        assert "a.py" in await ran(connected, command="ls")


async def test_what_git_misses_of_a_repository_elsewhere_is_asked_for_as_a_whole(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=ALLOWED)
    main = tmp_path / "main/.git"
    (main / "worktrees/one").mkdir(parents=True)
    (world.workspace / ".git").write_text(f"gitdir: {main}/worktrees/one\n")
    async with connect(world, NEAR) as connected:
        told = await ran(connected, command="git status")
    assert f"The sandbox hides {main}/worktrees/one" in told
    assert f'"may_read": ["{main}"]' in told


async def test_what_git_may_not_write_of_the_repository_is_asked_for_as_a_whole(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"src/a.py": "1\n"}, settings=ALLOWED)
    git(world, "init", "-q", ".")
    git(world, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
    async with connect(world, NEAR, flags=EDITS) as connected:
        told = await ran(connected, command="git checkout -b other")
    assert f'"may_write": ["{world.workspace}/.git"]' in told


async def test_a_mode_that_never_asks_is_not_said_to_ask(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"build.sh": "echo x > made\n"}, settings=ALLOWED)
    async with connect(world, NEAR, flags=Flags(mode="dontAsk")) as connected:
        assert "mode dontAsk denies what would ask" in await ran(connected, command="sh build.sh")
