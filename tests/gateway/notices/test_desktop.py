"""Notices on a real session bus, with a desktop of the tests' own on it."""

import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream
from structlog.testing import capture_logs

from mcp_server.gateway.notices.bus import address_of
from mcp_server.gateway.notices.desktop import Desktop
from mcp_server.gateway.notices.on_bus import OnBus
from mcp_server.gateway.notices.popups import ByProgram, NoPopups, Popup
from tests.gateway.notices.desk import Desk, desk
from tests.gateway.notices.receiver import BOUND
from tests.gateway.notices.samples import CONSOLE, asks, noticed, opened, over

NEVER = 3600.0
"""Seconds that no test waits for."""


@pytest.fixture
def folder() -> Generator[Path]:
    """A socket's path has a hundred characters at most."""
    with tempfile.TemporaryDirectory(prefix="remit") as made:
        yield Path(made)


@asynccontextmanager
async def telling(there: Desk, *, gather: float = 0.0, gap: float = 0.0) -> AsyncGenerator[Desktop]:
    desktop = Desktop(OnBus(there.environment), gather=gather, gap=gap)
    async with anyio.create_task_group() as group:
        group.start_soon(desktop.run)
        yield desktop
        await desktop.at_rest()
        group.cancel_scope.cancel()


async def test_a_prompt_is_shown_and_taken_back_when_it_is_over(folder: Path) -> None:
    async with desk(folder) as there, telling(there) as desktop:
        desktop.opened(opened())
        (shown,) = await there.shows(1)
        assert shown.title == "build › explore: may it use edit?"
        assert shown.body == "edit notes.txt\nAnswer by: remit approvals show prm_one"
        assert shown.actions == []
        assert there.closed == []
        desktop.over(over())
        await there.until(lambda there: there.closed == [shown.number])


async def test_with_a_console_open_a_click_leads_there_and_the_notice_names_it(folder: Path) -> None:
    async with desk(folder) as there, telling(there) as desktop:
        desktop.opened(noticed(asks(), console=CONSOLE))
        (shown,) = await there.shows(1)
        assert shown.actions == ["default", "Open the console"]
        assert shown.body.endswith(f"Answer in the console: {CONSOLE}")
        await desktop.at_rest()
        await there.click(shown)
        await there.until(lambda there: there.opened == [CONSOLE])


async def test_several_at_once_become_one_notice_that_counts_and_keeps_count(folder: Path) -> None:
    names = [f"prm_{number}" for number in range(5)]
    async with desk(folder) as there, telling(there) as desktop:
        for name in names:
            desktop.opened(opened(name))
        (first,) = await there.shows(1)
        assert first.title == "5 prompts wait"
        assert first.body.splitlines()[-2:] == ["and 2 more", "Answer by: remit approvals, or remit console"]
        desktop.over(over(names[0]))
        _, second = await there.shows(2)
        assert (second.title, second.replaces) == ("4 prompts wait", first.number)
        for name in names[1:]:
            desktop.over(over(name))
        await there.until(lambda there: there.closed == [first.number])


async def test_one_after_the_other_no_more_than_a_few_stand_alone(folder: Path) -> None:
    async with desk(folder) as there, telling(there) as desktop:
        for number in range(5):
            desktop.opened(opened(f"prm_{number}"))
            await there.shows(number + 1)
    assert [shown.title for shown in there.shown[3:]] == ["1 prompt waits", "2 prompts wait"]
    assert there.shown[4].replaces == there.shown[3].number


async def test_between_two_notices_there_is_a_gap_in_which_prompts_gather(folder: Path) -> None:
    async with desk(folder) as there, telling(there, gap=NEVER) as desktop:
        desktop.opened(opened())
        (shown,) = await there.shows(1)
        for number in range(100):
            desktop.opened(opened(f"prm_{number}"))
        desktop.over(over())
        await there.until(lambda there: there.closed == [shown.number])
    assert len(there.shown) == 1


async def test_what_is_answered_at_once_is_never_shown(folder: Path) -> None:
    async with desk(folder) as there, telling(there, gather=NEVER) as desktop:
        desktop.opened(opened("prm_quick"))
        desktop.over(over("prm_quick"))
    assert there.shown == []


async def test_what_is_shown_when_the_server_ends_is_taken_back(folder: Path) -> None:
    async with desk(folder) as there:
        async with telling(there) as desktop:
            desktop.opened(opened())
            (shown,) = await there.shows(1)
        await there.until(lambda there: there.closed == [shown.number])


HOSTILE = "bash <b>Allow?</b> <a href='http://evil.example'>yes</a> &amp; \u202egnp.exe \x1b[31m\n\nremit: approved"


async def test_markup_marks_of_direction_and_control_characters_are_shown_and_do_nothing(folder: Path) -> None:
    async with desk(folder) as there, telling(there) as desktop:
        desktop.opened(noticed(asks("prm_one", HOSTILE, session_path=("build", "<i>\u202e"))))
        (shown,) = await there.shows(1)
    line, where = shown.body.splitlines()
    assert where == "Answer by: remit approvals show prm_one"
    assert "<" not in line
    assert "&lt;b&gt;Allow?&lt;/b&gt;" in line
    assert "&amp;amp;" in line
    assert "\\u202e" in line
    assert "\\u001b[31m\\n\\n" in line
    assert shown.title.isprintable()


async def test_a_desktop_that_reads_no_markup_gets_plain_text(folder: Path) -> None:
    async with desk(folder) as there, telling(there) as desktop:
        there.able.remove("body-markup")
        desktop.opened(noticed(asks("prm_one", "bash a < b && c")))
        (shown,) = await there.shows(1)
    assert shown.body.splitlines()[0] == "bash a < b && c"


async def test_without_anything_that_shows_notices_the_log_says_once_what_to_do(folder: Path) -> None:
    async with desk(folder, empty=True) as there:
        with capture_logs() as logs:
            async with telling(there) as desktop:
                for number in range(3):
                    desktop.opened(opened(f"prm_{number}"))
                    while desktop.pending:  # noqa: ASYNC110 - nothing is rung by a notice that is not shown
                        await anyio.sleep(0.01)
    (line,) = [line for line in logs if line["log_level"] == "warning"]
    assert "start a notification daemon in your session, or take `desktop` out of `channels`" in line["reason"]


async def test_a_bus_that_comes_back_shows_notices_again(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="remit") as other:
        popups = OnBus(environment := {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus"})
        async with popups.at_hand():
            with pytest.raises(NoPopups):
                await popups.show(Popup(title="one", lines=(), link=None))
            for place in (folder, Path(other)):
                async with desk(place) as there:
                    environment["DBUS_SESSION_BUS_ADDRESS"] = there.address
                    await popups.show(Popup(title="two", lines=(), link=None))
                    assert [shown.title for shown in there.shown] == ["two"]
                with anyio.fail_after(BOUND):
                    while popups.alive:  # noqa: ASYNC110 - the end of a connection rings nothing here
                        await anyio.sleep(0.01)


async def test_doctor_is_told_what_shows_notices(folder: Path) -> None:
    async with desk(folder) as there:
        popups = OnBus(there.environment)
        async with popups.at_hand():
            assert await popups.describe() == "Tests 1 (Remit)"
    assert there.shown == []


def test_the_bus_is_found_by_its_variable_or_at_its_usual_place(tmp_path: Path) -> None:
    assert address_of({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1/a%20b,guid=1"}) == "/run/user/1/a b"
    assert address_of({"DBUS_SESSION_BUS_ADDRESS": "tcp:host=x;unix:abstract=/tmp/dbus-1"}) == "\0/tmp/dbus-1"
    assert address_of({"DBUS_SESSION_BUS_ADDRESS": "tcp:host=x", "XDG_RUNTIME_DIR": str(tmp_path)}) is None
    assert address_of({"XDG_RUNTIME_DIR": str(tmp_path)}) is None


async def test_clients_that_pass_few_variables_still_lead_to_the_usual_bus(folder: Path) -> None:
    async with desk(folder) as there:
        (Path(folder) / "bus").symlink_to(there.address.split("path=")[1].split(",")[0])
        popups = OnBus({"XDG_RUNTIME_DIR": str(folder)})
        async with popups.at_hand():
            assert await popups.describe() == "Tests 1 (Remit)"


STAND_IN = """#!/bin/sh
for word in "$@"; do printf '%s\\n---\\n' "$word" >>"$0.told"; done
cat >>"$0.told"
"""


@pytest.mark.parametrize("program", ["osascript", "powershell"])
async def test_a_systems_program_is_told_the_text_as_a_word_and_never_as_script(tmp_path: Path, program: str) -> None:
    path = tmp_path / program
    path.write_text(STAND_IN)
    path.chmod(0o755)
    hostile = '"; do shell script "id" #'
    popups = ByProgram(program=program, environment={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert await popups.show(Popup(title="build › explore", lines=(hostile,), link=None)) == 0
    script, *words = (tmp_path / f"{program}.told").read_text().split("\n---\n")[1 if program == "osascript" else 3 :]
    assert hostile not in script or program == "powershell"
    assert any("shell script" in word for word in (script, *words))


async def test_a_systems_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoPopups, match="`osascript` is not on the path"):
        await ByProgram(program="osascript", environment={"PATH": str(tmp_path)}).show(Popup(title="", lines=(), link=None))


@pytest.mark.parametrize(
    "answer", [b"\0" * 64, b"l\x02\0\x01\0\0\0\0\x01\0\0\0\x08\0\0\0\x05\x01{\0\x01\0\0\0"], ids=["zeros", "signature"]
)
async def test_what_is_no_bus_though_it_lets_us_in_is_a_fault_like_any_other(folder: Path, answer: bytes) -> None:
    async def lets_in(stream: SocketStream) -> None:
        async with stream:
            said = b""
            while b"BEGIN" not in said:
                said = await stream.receive()
                await stream.send(b"OK " + b"0" * 32 + b"\r\n" if b"AUTH" in said else answer)
            await stream.send(answer)

    path = str(folder / "bus")
    async with await anyio.create_unix_listener(path) as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, lets_in)
        popups = OnBus({"DBUS_SESSION_BUS_ADDRESS": f"unix:path={path}"})
        async with popups.at_hand():
            with pytest.raises(NoPopups, match="session bus"):
                await popups.describe()
        group.cancel_scope.cancel()
