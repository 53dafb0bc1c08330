"""What the sandboxes give to a command that may write, what they promise, and what they leave behind."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from mcp_server.sandbox import filters, kernel
from mcp_server.sandbox.backend import NotStarted
from mcp_server.sandbox.bubblewrap import Bubblewrap
from mcp_server.sandbox.choice import candidates, choose
from mcp_server.sandbox.placeholders import Placeholders
from mcp_server.sandbox.probe import probe
from mcp_server.sandbox.profile import Place, Profile
from mcp_server.sandbox.promises import Promise, Told, sentences
from mcp_server.sandbox.running import running
from tests.bounds import LONG
from tests.sandbox.actor import LIMITS
from tests.sandbox.stage import BACKENDS, IDENTITIES, Line, Who, act, staged

WRITES = {
    "a new file": "echo x > new.txt",
    "a file": "echo changed > target.txt",
    "a mode": "chmod 700 target.txt",
    "a folder": "mkdir -p a/b && mv a c",
    "an editor's way": "sed -i s/original/changed/ target.txt",
    "a rename": "mv dir/deep folder",
}

PROTECTED = {
    "the repository": "echo x > .git/config",
    "a hook": "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    "the repository by rename": "mv .git git",
    "the repository by removal": "rm -rf .git",
    "a repository that is not there": "mkdir .hg; echo x > .hg/hgrc",
    "a start-up file that is not there": "echo x > .envrc",
    "an editor's folder": "mkdir -p .vscode && echo x > .vscode/tasks.json",
    "what is not there, by rename": "mkdir v && mv -T v .vscode",
    "what is not there, by a link": "ln -s /tmp .github",
    "what is not there, removed first": "rmdir .github; mkdir .github && touch .github/x",
    "an agent's settings": "echo x > .mcp.json",
    "a deep repository": "echo x > deep/er/.git/config",
    "a deep repository by rename": "mv deep other; mkdir -p deep/er/.git && echo x > deep/er/.git/config",
    "a hidden file": "rm -f .env; mv dir/.env.local x; cat .env",
}

RUNS = {
    "temporary files": 'f=$(mktemp) && echo x > $f && cat $f && [ "$TMPDIR" ]',
    "pipes": "echo a | cat | sort > /dev/null",
    "a substitution": "cat <(echo x) > /dev/null",
    "devices": "head -c 8 /dev/urandom > /dev/null && echo > /dev/null",
    "git": "git status --short && git log -1 > /dev/null",
    "git does not see what is put up": "! git status --short -uall | grep -E '[.](hg|vscode|github|envrc|mcp)'",
    "python": "python3 -c 'import tempfile; tempfile.TemporaryFile().close()'",
    "processes": "for i in 1 2 3; do sleep 0 & done; wait",
    "a script": "./script.sh",
    "node": "node -e 'console.log(1)'",
    "compiling": "echo 'int main(){return 0;}' > $TMPDIR/a.c && gcc -o $TMPDIR/a $TMPDIR/a.c && $TMPDIR/a",
    "the name of the user": "id -un || id -u",
}


def _lines(texts: dict[str, str]) -> list[Line]:
    return [Line(name=name, run=run) for name, run in texts.items()]


@pytest.mark.parametrize("who", IDENTITIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_ordinary_work_goes_on_in_a_sandbox(backend: str, who: Who) -> None:
    with staged(who) as stage:
        ran = act(stage, backend, "writing", _lines({**RUNS, **WRITES}))
    assert {name: one.output for name, one in ran.items() if one.code != 0} == {}
    assert {name for name in WRITES if not ran[name].changed} == set()


@pytest.mark.parametrize("who", IDENTITIES)
def test_reading_and_building_go_on_where_nothing_may_be_written(who: Who) -> None:
    with staged(who) as stage:
        ran = {backend: act(stage, backend, "reading", _lines(RUNS)) for backend in BACKENDS}
    failed = {(backend, name) for backend in BACKENDS for name, one in ran[backend].items() if one.code != 0}
    # The filter that keeps modes of the workspace's files cannot tell them from those of temporary files.
    assert failed == {("landlock", "compiling")}


@pytest.mark.parametrize("who", IDENTITIES)
def test_bubblewrap_keeps_protected_paths_in_a_workspace_that_may_be_written(who: Who) -> None:
    with staged(who) as stage:
        deep = stage.folder / "model/deep/er/.git"
        deep.mkdir(parents=True)
        (deep / "config").write_text("[core]\n")
        owner = stage.folder.stat()
        for path in (deep / "config", deep, deep.parent, deep.parent.parent):
            os.chown(path, owner.st_uid, owner.st_gid)
        ran = act(stage, "bubblewrap", "writing", _lines(PROTECTED))
        left = [
            path for name in (".hg", ".envrc", ".vscode", ".github", ".mcp.json") for path in stage.folder.glob(f"runs/*/workspace/{name}")
        ]
    kept = {".git", ".hg", ".envrc", ".vscode", ".github", ".mcp.json", "deep", ".env"}
    touched = {name: hit for name, one in ran.items() if (hit := [path for path in one.changed if path.split("/")[0] in kept])}
    assert touched == {}
    assert "SECRET" not in ran["a hidden file"].output
    assert {one.cannot_hold for one in ran.values()} == {()}
    assert left == []


@pytest.mark.parametrize("who", IDENTITIES)
def test_landlock_says_what_it_cannot_hold_in_a_workspace_that_may_be_written(who: Who) -> None:
    with staged(who) as stage:
        ran = act(stage, "landlock", "writing", _lines({"nothing": "true"}))
    said = "\n".join(ran["nothing"].cannot_hold)
    assert "modes, owners and times" in said
    assert "/.git lies in a writable folder and could be written" in said
    assert "/.env lies in a writable folder and could be read" in said


@pytest.mark.parametrize("who", IDENTITIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_limits_hold(backend: str, who: Who) -> None:
    lines = {"a long file": "head -c 300M /dev/zero > $TMPDIR/long", "memory": "python3 -c 'x = bytearray(5 << 30)'"}
    with staged(who) as stage:
        ran = act(stage, backend, "reading", _lines(lines), together=1)
        longest = max((path.stat().st_size for path in stage.folder.glob("runs/*/temporary/long")), default=0)
    assert 0 < longest <= LIMITS.file_bytes
    assert ran["a long file"].code != 0
    assert "MemoryError" in ran["memory"].output


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_ordinary_user_starts_no_more_processes_than_it_may(backend: str) -> None:
    crowd = "for i in $(seq 2000); do sleep 30 & done 2>&1 | grep -m1 -o 'Resource temporarily unavailable'"
    with staged("user", alone=True) as stage:
        ran = act(stage, backend, "reading", [Line(name="crowd", run=crowd, seconds=60)])
    assert "Resource temporarily unavailable" in ran["crowd"].output
    assert ran["crowd"].escaped == 0


# ---- promises -------------------------------------------------------------------------------------


def _backends(folder: Path) -> dict[str, object]:
    found, absent = candidates(Placeholders(folder / "placeholders"))
    assert absent == ()
    return {backend.name: backend for backend in found}


@pytest.mark.parametrize("name", BACKENDS)
def test_each_promise_is_tried_and_what_does_not_hold_is_said(name: str, tmp_path: Path) -> None:
    found, _ = candidates(Placeholders(tmp_path / "placeholders"))
    (backend,) = (each for each in found if each.name == name)
    promises = probe(backend, tmp_path)
    crowd = {Promise.CROWD} if os.geteuid() == 0 else set[Promise]()
    in_writable = {Promise.METADATA, Promise.PROTECTED, Promise.ABSENT, Promise.HIDDEN} if name == "landlock" else set[Promise]()
    assert promises.usable
    assert set(promises.reading) == crowd
    assert set(promises.writing) == crowd | in_writable
    assert len(sentences(promises)) == 1 + len(set(promises.writing) | set(promises.reading))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("trial-")] == []


def test_the_first_that_works_is_chosen_and_explained(tmp_path: Path) -> None:
    chosen = choose("auto", tmp_path)
    assert chosen.backend is not None
    assert chosen.backend.name == "bubblewrap"
    assert chosen.words()[0] == "commands run in bubblewrap"


def test_a_back_end_that_was_asked_for_is_the_only_one_that_is_tried(tmp_path: Path) -> None:
    chosen = choose("landlock", tmp_path)
    assert [each.backend for each in chosen.tried] == ["landlock"]


def test_no_sandbox_is_used_only_where_settings_say_so_and_it_holds_nothing(tmp_path: Path) -> None:
    chosen = choose("none", tmp_path)
    assert chosen.backend is not None
    assert chosen.cannot_hold(_profile(tmp_path)) == ("no sandbox is used: a command can read, change and reach whatever this user can",)


def test_a_program_that_cannot_set_up_a_sandbox_is_found_unusable_with_its_reason(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    promises = probe(Bubblewrap(program=str(broken), placeholders=Placeholders(tmp_path / "placeholders")), tmp_path)
    assert (promises.usable, promises.unusable) == (False, "setting up uid map: Permission denied")
    assert sentences(promises) == (Told("bubblewrap cannot be used here: setting up uid map: Permission denied", holds=False),)


def test_a_link_put_in_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    (workspace / "src").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    profile = _profile(tmp_path, writable=(f"{workspace}/src",))
    (workspace / "src").rmdir()
    (workspace / "src").symlink_to(tmp_path / "secret")

    async def start() -> None:
        backend = _backends(tmp_path)["bubblewrap"]
        async with running(backend, profile, ["/bin/true"], cwd=str(workspace)) as one:  # pyright: ignore[reportArgumentType] - a back end
            with anyio.fail_after(LONG):
                await one.wait()

    anyio.run(start)
    # A link cannot be mounted: the folder is simply not writable.
    assert list((tmp_path / "secret").iterdir()) == []


def test_a_sandbox_that_cannot_be_set_up_runs_nothing(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    (workspace / "src").mkdir(parents=True)
    profile = _profile(tmp_path, writable=(str(workspace),), temporary=str(tmp_path / "gone"))

    async def start() -> None:
        backend = _backends(tmp_path)["bubblewrap"]
        async with running(backend, profile, ["/bin/sh", "-c", "echo x > ran"], cwd=str(workspace)):  # pyright: ignore[reportArgumentType] - a back end
            pass

    with pytest.raises(NotStarted):
        anyio.run(start)
    assert not (workspace / "ran").exists()


def _profile(folder: Path, writable: tuple[str, ...] = (), temporary: str | None = None) -> Profile:
    (folder / "tmp").mkdir(exist_ok=True)
    (folder / "work").mkdir(exist_ok=True)
    return Profile(
        workspace=str(folder / "work"),
        visible=tuple(
            Place(path=path) for path in ("/usr", "/bin", "/lib", "/lib64", "/etc", str(folder / "work")) if os.path.lexists(path)
        ),
        writable=tuple(Place(path=path) for path in writable),
        temporary=temporary or str(folder / "tmp"),
        environment={"PATH": "/usr/bin:/bin"},
    )


# ---- the filter -----------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", sorted(filters.machines()))
@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("metadata", [False, True])
def test_a_filter_ends_every_path_in_an_answer(machine: str, network: bool, metadata: bool) -> None:
    program = filters.program(machine, network=network, metadata=metadata)
    answers = {0x06}
    for place, (code, if_true, if_false, _) in enumerate(program):
        if code in answers:
            continue
        steps = (if_true, if_false) if code & 0x07 == 0x05 else (0,)
        assert all(place + 1 + step < len(program) for step in steps)
    assert program[-1][0] in answers
    assert len(program) < 4096


def test_this_machine_is_one_that_filters_are_made_for() -> None:
    assert kernel.machine() in filters.machines()
    assert sys.platform == "linux"
