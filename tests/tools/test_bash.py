import fcntl
import os
import struct
import termios
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from pydantic import ValidationError

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import CommandValue
from mcp_server.tools.background import Background
from mcp_server.tools.base import ToolContext
from mcp_server.tools.bash import LONGEST_MS, BashTool
from mcp_server.tools.bash_asking import Runs, reading_of, requests_of
from tests.bounds import LONG
from tests.tools.lending import Lent, text_of

BASH = BashTool(Background())

TIMES = (300, 3_000, 30_000)
"""Milliseconds that a command is given which must have begun by then: the first are enough where the machine has time, and what a busy
one spoils is tried again with the next.
"""

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note = open(sys.argv[1], "w")
        note.write("here")
        note.flush()
        os.write(writing, b"!")
        time.sleep(600)
    os._exit(0)
os.read(reading, 1)
"""
"""A daemon as they come: forks twice, leaves the session, ignores the polite signal. Holds a named pipe open as long as it lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A named pipe in the workspace that a process opens; it never has to wait for its reader."""

    handle: int

    def written(self) -> bool:
        """Has somebody written? What was written stays when its writer is gone."""
        return struct.unpack("i", fcntl.ioctl(self.handle, termios.FIONREAD, struct.pack("i", 0)))[0] > 0

    async def held(self) -> None:
        """Somebody has written."""
        with anyio.fail_after(LONG):
            await anyio.wait_readable(self.handle)
            assert os.read(self.handle, 100) == b"here"

    async def let_go(self) -> None:
        """Whoever wrote is gone: the kernel says so as soon as nobody holds the other end."""
        with anyio.fail_after(LONG):
            await anyio.wait_readable(self.handle)
            assert os.read(self.handle, 100) == b""


@pytest.fixture
def note(lent: Lent) -> Generator[Note]:
    os.mkfifo(lent.workspace / "note")
    handle = os.open(lent.workspace / "note", os.O_RDONLY | os.O_NONBLOCK)
    yield Note(handle=handle)
    os.close(handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A workspace that need not exist."""

    workspace: Path
    environment: Mapping[str, str] = field(default_factory=lambda: {"HOME": "/home/person"})
    closings: None = None


def _asked(lent: Lent, command: str, **more: object) -> list[tuple[str, list[str]]]:
    _, context = lent.judged(BASH, command=command, **more)
    return [(request.permission, [getattr(value, "text", "") for value in request.values]) for request in context.judged]


async def test_output_and_exit_code_come_back(lent: Lent) -> None:
    result = await lent.call(BASH, command="echo out; echo err >&2; exit 3")
    assert text_of(result) == "out\nerr\n\n(exit code 3)"
    assert result.failed
    assert result.structured == {
        "exit_code": 3, "timed_out": False, "output": "out\nerr", "output_file": None, "ended_processes": 0, "waiting": False,
        "bash_id": None,
        "refused": None,
    }  # fmt: skip


async def test_a_command_that_says_nothing_says_so(lent: Lent) -> None:
    result = await lent.call(BASH, command="true")
    assert text_of(result) == "(no output)\n\n(exit code 0)"
    assert not result.failed


async def test_it_runs_in_the_workspace_or_a_folder_inside(lent: Lent) -> None:
    (lent.workspace / "sub").mkdir()
    assert (await lent.text(BASH, command="pwd -P")).startswith(f"{lent.workspace}\n")
    assert (await lent.text(BASH, command="pwd -P", workdir="sub")).startswith(f"{lent.workspace}/sub\n")


@pytest.mark.parametrize("workdir", ["..", "/tmp", "link"])  # noqa: S108 - named, not written to
async def test_no_other_workspace_can_be_chosen(lent: Lent, tmp_path: Path, workdir: str) -> None:
    (lent.workspace / "link").symlink_to(tmp_path)
    with pytest.raises(ToolFailure, match="lies outside the workspace"):
        await lent.call(BASH, command="pwd", workdir=workdir)


async def test_the_environment_is_what_was_lent_and_nothing_else(lent: Lent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THE_SERVER", "x")
    text = await lent.text(BASH, command="env")
    names = {line.partition("=")[0] for line in text.split("\n\n")[0].splitlines()}
    assert names == {"PATH", "HOME", "LANG", "REMIT_CALL", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_"} - ({"OLDPWD"} - names)


async def test_variables_that_steer_bash_are_not_passed_on(lent: Lent) -> None:
    script = lent.write("evil.sh", "echo evil\n")
    lent.context = _with(lent.context, BASH_ENV=str(script), **{"BASH_FUNC_pwd%%": "() { echo evil; }"})
    assert "evil" not in await lent.text(BASH, command="pwd")


def _with(context: ToolContext, **variables: str) -> ToolContext:
    return replace(context, environment={**context.environment, **variables})


async def test_there_is_no_input_to_wait_for(lent: Lent) -> None:
    with anyio.fail_after(LONG):
        assert await lent.text(BASH, command="cat") == "(no output)\n\n(exit code 0)"


async def test_a_command_ended_by_a_signal_says_which(lent: Lent) -> None:
    assert "(exit code 137: ended by signal 9)" in await lent.text(BASH, command="kill -9 $$")


async def test_long_output_is_saved_whole_and_previewed(lent: Lent) -> None:
    result = await lent.call(BASH, command="seq 1 100000")
    assert result.structured is not None
    [saved] = lent.saved()
    assert result.structured["output_file"] == str(saved)
    assert saved.read_text() == "".join(f"{n}\n" for n in range(1, 100_001))
    text = text_of(result)
    assert text.startswith("1\n2\n")
    assert "99999\n100000\n" in text
    assert str(saved) in text


async def test_invalid_utf8_in_output_is_replaced(lent: Lent) -> None:
    assert await lent.text(BASH, command="printf 'a\\xffb'") == "a\ufffdb\n\n(exit code 0)"


async def test_a_command_that_takes_too_long_is_ended(lent: Lent) -> None:
    said = ""
    for milliseconds in TIMES:
        with anyio.fail_after(LONG):
            result = await lent.call(BASH, command="echo begun; sleep 600", timeout=milliseconds)
        said, _, ending = text_of(result).partition("\n\n")
        assert ending == f"(timed out after {milliseconds:,} ms; all its processes were ended)"
        assert result.failed
        assert result.structured is not None
        assert (result.structured["exit_code"], result.structured["timed_out"]) == (None, True)
        if said == "begun":
            break
    assert said == "begun"


async def test_a_time_out_ends_the_whole_tree(lent: Lent, note: Note) -> None:
    lent.write("stubborn.py", STUBBORN)
    for milliseconds in TIMES:
        with anyio.fail_after(LONG):
            await lent.call(BASH, command="trap '' TERM; python3 stubborn.py note; sleep 600", timeout=milliseconds)
        if note.written():
            break
    await note.held()
    await note.let_go()


async def test_a_cancelled_call_ends_the_whole_tree(lent: Lent, note: Note) -> None:
    lent.write("stubborn.py", STUBBORN)
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: lent.call(BASH, command="trap '' TERM; python3 stubborn.py note; sleep 600"))
            await note.held()
            group.cancel_scope.cancel()
    await note.let_go()


async def test_a_daemon_does_not_outlive_its_call(lent: Lent, note: Note) -> None:
    lent.write("stubborn.py", STUBBORN)
    with anyio.fail_after(LONG):
        assert await lent.text(BASH, command="python3 stubborn.py note > /dev/null 2>&1; echo done") == "done\n\n(exit code 0)"
    await note.held()
    await note.let_go()


async def test_a_process_in_the_background_that_holds_the_output_does_not_hold_the_call(lent: Lent) -> None:
    with anyio.fail_after(LONG):
        assert await lent.text(BASH, command="sleep 600 & echo done") == "done\n\n(exit code 0)"


async def test_other_processes_are_left_alone(lent: Lent, sibling: Lent) -> None:
    done: list[str] = []
    async with anyio.create_task_group() as group:

        async def slow() -> None:
            done.append(await sibling.text(BASH, command="sleep 1; echo whole"))

        group.start_soon(slow)
        await lent.call(BASH, command="sleep 600", timeout=200)
    assert done == ["whole\n\n(exit code 0)"]


async def test_one_plain_command_is_asked_for_as_written(lent: Lent) -> None:
    assert _asked(lent, "git log -1") == [("bash", ["git log -1"])]


def _places(lent: Lent, command: str, **more: object) -> list[str]:
    return [text for permission, texts in _asked(lent, command, **more) if permission == "external_directory" for text in texts]


async def test_places_outside_are_asked_for_as_well(lent: Lent) -> None:
    home = lent.context.environment["HOME"]
    for command, places in (
        ("cat /etc/passwd", ["/etc/passwd"]),
        ("cat ../x", [f"{lent.workspace.parent}/x"]),
        ("grep --file=/etc/hosts a", ["/etc/hosts"]),
        ("gcc -I/usr/include x.c", ["/usr/include"]),
        ("cat $HOME/.ssh/id", [f"{home}/.ssh/id"]),
        ("cat ~/.ssh/id", [f"{home}/.ssh/id"]),
        ("ls 'a b' \"/etc/a b\"", ["/etc/a b"]),
        ("ls > /etc/motd", ["/etc/motd"]),
        ("bash -c 'cat /etc/shadow'", ["/etc/shadow"]),
        ("cd /srv && make", ["/srv"]),
        ("git -C /srv status", ["/srv"]),
        ("echo `cat /etc/hosts`", ["/etc/hosts"]),
    ):
        assert _places(lent, command) == places, command


@pytest.mark.parametrize("own", [True, False])
def test_the_sessions_own_temporary_folder_is_no_place_outside(own: bool) -> None:
    where = Elsewhere(workspace=Path("/srv/project"))
    runs = Runs(held=lambda: True, own_temporary=lambda: own)
    for line in ("sort a > /tmp/sorted", "cd /tmp && cat sorted", "wc -l /tmp/sorted"):
        asked = requests_of(reading_of(line, "/srv/project", where), where, runs)
        assert ("external_directory" in [request.permission for request in asked]) is not own, line


async def test_a_link_that_leads_outside_is_a_place_outside(lent: Lent) -> None:
    (lent.workspace / "link").symlink_to("/etc")
    assert _places(lent, "cat link/passwd") == ["/etc/passwd"]


async def test_words_are_seen_from_the_folder_the_command_runs_in(lent: Lent) -> None:
    (lent.workspace / "sub").mkdir()
    assert _places(lent, "cat ../x", workdir="sub") == []
    assert _places(lent, "cat ../../x", workdir="sub") == [f"{lent.workspace.parent}/x"]
    assert _places(lent, "cd sub && cat ../x") == []
    assert _places(lent, "cd sub && cat ../../x") == [f"{lent.workspace.parent}/x"]


async def test_addresses_devices_and_the_program_are_no_places(lent: Lent) -> None:
    for command in ("curl https://example.org/etc/passwd", "cp a /dev/null", "/bin/ls src"):
        assert _places(lent, command) == []


async def test_files_read_and_written_and_addresses_are_asked_for_under_their_own_permissions(lent: Lent) -> None:
    lent.write("sub/c", "")
    for command, asked in (
        ("cat a > b", [("edit", ["b"]), ("read", ["a"])]),
        ("cp a sub", [("edit", ["sub/a"]), ("read", ["a"])]),
        ("cp a b", [("edit", ["b"]), ("read", ["a"])]),
        ("mv sub/c b", [("edit", ["sub/c", "b"]), ("read", ["sub/c"])]),
        ("rm -r sub", [("edit", ["sub", "sub/c"])]),
        ("cd sub && touch x", [("edit", ["sub/x"])]),
        ("curl -o page HTTPS://Example.org:443/a/../b", [("edit", ["page"]), ("webfetch", ["https://example.org/b"])]),
    ):
        assert _asked(lent, command)[1:] == asked, command
    assert _asked(lent, "> b") == [("edit", ["b"])]


async def test_what_a_link_of_the_workspace_leads_to_is_what_is_asked_for(lent: Lent) -> None:
    lent.write(".git/config", "")
    (lent.workspace / "link").symlink_to(".git")
    assert ("edit", [".git/config"]) in _asked(lent, "echo x > link/config")


async def test_links_in_a_folder_that_is_read_whole_count_as_what_they_lead_to(lent: Lent) -> None:
    (lent.workspace / "src").mkdir()
    (lent.workspace / "src" / "link").symlink_to("/etc/hosts")
    (lent.workspace / "src" / "folder").symlink_to("../other")
    lent.write("other/.env", "")
    assert _places(lent, "grep -rn x src") == ["/etc/hosts"]
    assert "other/.env" in dict(_asked(lent, "grep -rn x src"))["read"]


async def test_git_looks_freely_only_where_the_repository_names_no_program(lent: Lent) -> None:
    for config, harmless in (("[core]\n\tbare = false\n", True), ('[diff "x"]\n\ttextconv = evil\n', False), ("[include]\npath=x", False)):
        lent.write(".git/config", config)
        _, context = lent.judged(BASH, command="git diff")
        [value] = context.judged[0].values
        assert isinstance(value, CommandValue)
        assert value.read_only is harmless


async def test_git_runs_no_watcher_that_the_repository_names(lent: Lent) -> None:
    script = lent.write("evil.sh", "#!/bin/sh\ntouch made\n")
    script.chmod(0o755)
    with anyio.fail_after(LONG):
        await lent.call(BASH, command="git init -q && git config core.fsmonitor ./evil.sh && git status && git diff")
    assert not (lent.workspace / "made").exists()


@pytest.mark.parametrize(
    ("command", "words"), [("ls\0; rm a", "NUL"), ("ls\r\nrm a", "carriage return"), ("   ", "empty"), ("é" * 5000, "10,000 bytes")]
)
async def test_lines_that_no_shell_should_get_are_refused_in_words(lent: Lent, command: str, words: str) -> None:
    with pytest.raises(ToolFailure, match=words):
        await lent.call(BASH, command=command)


async def test_a_call_that_was_not_judged_does_not_run(lent: Lent) -> None:
    arguments, _ = lent.judged(BASH, command="touch made")
    _, other = lent.judged(BASH, command="true")
    with pytest.raises(ToolFailure, match="nothing was done"):
        await BASH.run(arguments, other)
    assert not (lent.workspace / "made").exists()


@pytest.mark.parametrize("timeout", [0, -1, LONGEST_MS + 1])
def test_time_outs_have_bounds(timeout: int) -> None:
    with pytest.raises(ValidationError):
        BASH.spec.arguments.model_validate({"command": "ls", "timeout": timeout})
