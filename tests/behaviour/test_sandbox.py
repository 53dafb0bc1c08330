"""Lines of shell through the whole of Remit: judged by what they do, and held by the kernel to what the rules say."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from mcp_server.settings.values import Flags
from tests.behaviour.stories import NEAR, agent, bounded, calls, errand, release, says, until
from tests.behaviour.world import Connected, World, connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import Person, decides

BUILD = {"command": "sh build.sh"}
"""A line whose effects nobody can read from it."""

FILES = {"build.sh": "echo x > made\n", "src/a.py": "print('a')\n"}
ALLOWED = {"permission": {"bash": "allow"}}


def made(world: World, name: str = "made") -> bool:
    return (world.workspace / name).exists()


async def ran(connected: Connected, **arguments: Any) -> str:
    return text_of(await bounded(connected.call("bash", **arguments)))


async def test_a_line_that_a_person_approved_writes_in_the_workspace_and_the_prompt_says_so(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES)
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        assert "(exit code 0)" in await ran(connected, **BUILD)
    assert made(world)
    [form] = person.forms
    assert "while it runs it may write anywhere in the workspace" in form.message


async def test_a_line_that_only_a_rule_allows_writes_nothing_where_edit_asks_and_says_how_to_ask(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES, settings=ALLOWED)
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        told = await ran(connected, **BUILD)
        assert not made(world)
        assert person.forms == []
        assert f"The sandbox kept it from writing {world.workspace}/made: no rule speaks of it, and mode default asks." in told
        assert f'with "may_write": ["{world.workspace}"]' in told
        assert "(exit code 0)" in await ran(connected, **BUILD, may_write=[str(world.workspace)])
    assert made(world)
    [form] = person.forms
    assert "edit ." in form.message


async def test_what_a_person_allowed_for_the_session_holds_for_the_next_line_it_covers(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES)
    person = Person(decides("allow_session"))
    async with connect(world, NEAR, person=person) as connected:
        await ran(connected, **BUILD)
        (world.workspace / "made").unlink()
        assert "(exit code 0)" in await ran(connected, **BUILD)
    assert made(world)
    assert len(person.forms) == 1


async def test_an_answer_for_one_folder_opens_that_folder_alone(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES | {"out/a": "", "both.sh": "echo x > out/made\necho x > made\n"}, settings=ALLOWED)
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        told = await ran(connected, command="sh both.sh", may_write=["out"])
    assert made(world, "out/made")
    assert not made(world)
    assert f"The sandbox kept it from writing {world.workspace}/made" in told
    assert "may write anywhere" not in person.forms[0].message


async def test_a_rule_on_names_that_no_sandbox_can_hold_asks_where_files_could_be_made(tmp_path: Path) -> None:
    rules = {"permission": {"bash": "allow", "edit": {"*.lock": "deny"}}, "mode": "acceptEdits"}
    world = make_world(tmp_path, files=FILES | {"a.lock": "old", "all.sh": "echo x > made\necho x > a.lock\n"}, settings=rules)
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        await ran(connected, command="sh all.sh")
    assert made(world)
    assert (world.workspace / "a.lock").read_text() == "old"
    assert "*.lock" in person.forms[0].message


async def test_an_ask_that_its_prompt_did_not_show_keeps_a_session_ruling_from_writing(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES)
    person = Person(decides("allow_session"))
    async with connect(world, NEAR, person=person) as connected:
        await ran(connected, **BUILD)
        (world.workspace / "made").unlink()
        (world.places.config / "settings.yaml").write_text("permission: {edit: ask}\n")
        assert "user settings: edit * ask" in await ran(connected, **BUILD)
    assert not made(world)


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
async def test_where_edits_are_allowed_a_line_writes_but_never_what_is_protected(tmp_path: Path, mode: str) -> None:
    build = "echo x > made\nmkdir -p .git/hooks && touch .git/hooks/pre-commit\n"
    world = make_world(tmp_path, files={"build.sh": build}, settings=ALLOWED)
    async with connect(world, NEAR, person=Person(decides("deny")), flags=Flags(mode=mode)) as connected:
        told = await ran(connected, **BUILD)
    assert made(world)
    assert not made(world, ".git/hooks/pre-commit")
    assert "built-in guard: edit */.git" in told


async def test_where_edit_is_denied_no_line_and_no_answer_writes(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES, settings={"permission": {"edit": "deny"}})
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        told = await ran(connected, **BUILD)
        assert "user settings: edit * deny" in told
        assert "may_write" not in told
        assert "denied" in await ran(connected, **BUILD, may_write=["."])
    assert not made(world)
    assert "may write anywhere" not in person.forms[0].message


async def test_a_plain_line_writes_what_was_judged_and_only_there(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES)
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        for line in ("mkdir -p out/deep", "echo hi > out/deep/file", "mv out/deep/file out/other", "rm out/other"):
            assert "(exit code 0)" in await ran(connected, command=line), line
    assert made(world, "out/deep")
    assert not made(world, "out/other")
    assert ["may write anywhere" in form.message for form in person.forms] == [False] * 4


async def test_secrets_are_hidden_from_a_line_that_nobody_can_read(tmp_path: Path) -> None:
    world = make_world(tmp_path, files={"look.sh": f"cat {tmp_path}/state/remit.db .env\n", ".env": "KEY=1\n"}, settings=ALLOWED)
    store = world.places.state / "remit.db"
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        told = await ran(connected, command="sh look.sh")
        assert store.exists()
        assert "KEY" not in told
        assert "The sandbox hides" in told
        assert person.forms == []
        assert "KEY=1" in await ran(connected, command="sh look.sh", may_read=[".env"])
    [form] = person.forms
    assert "read .env" in form.message


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[int, list[bool]]]:
    """A port of this machine, and a mark for each connection to it."""
    accepted: list[bool] = []

    async def accept(stream: SocketStream) -> None:
        accepted.append(True)
        await stream.aclose()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, accept)
        yield listener.extra(SocketAttribute.local_port), accepted  # noqa: S610 - no database
        group.cancel_scope.cancel()


async def came(accepted: list[bool]) -> bool:
    return bool(accepted)


async def test_a_line_reaches_no_network_but_that_a_person_lent_it(tmp_path: Path) -> None:
    person = Person(decides("allow_once"))
    async with listening() as (port, accepted):
        world = make_world(tmp_path, files={"dial.sh": f": <> /dev/tcp/127.0.0.1/{port}\n"}, settings=ALLOWED)
        async with connect(world, NEAR, person=person) as connected:
            told = await ran(connected, command="bash dial.sh")
            assert accepted == []
            assert "The sandbox kept it from reaching the network" in told
            assert '"may_fetch": ["*"]' in told
            assert "(exit code 0)" in await ran(connected, command="bash dial.sh", may_fetch=["*"])
            await until(lambda: came(accepted))
    assert accepted == [True]
    [form] = person.forms
    assert "it can reach any address" in form.message


async def test_an_address_that_a_rule_allows_opens_no_network_to_what_nobody_can_read(tmp_path: Path) -> None:
    rules = {"permission": {"bash": "allow", "webfetch": {"https://docs.example.org/*": "allow"}}}
    async with listening() as (port, accepted):
        world = make_world(tmp_path, files={"dial.sh": f": <> /dev/tcp/127.0.0.1/{port}\n"}, settings=rules)
        async with connect(world, NEAR) as connected:
            told = await ran(connected, command="bash dial.sh", may_fetch=["https://docs.example.org/x"])
            assert "The sandbox kept it from reaching the network" in told
    assert accepted == []


async def test_a_child_is_held_to_its_ancestors_rules(tmp_path: Path) -> None:
    script = {"worker": [calls(("bash", BUILD)), says("{{results[0].text}}")]}
    agents = {"boss": agent("permission: {edit: deny}", mode="primary"), "worker": agent("permission: {edit: allow}")}
    world = make_world(tmp_path, script=script, agents=agents, files=FILES, settings=ALLOWED | {"agent": "boss"})
    async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
        told = text_of(await bounded(connected.call("task", **errand("worker"))))
    assert "agent boss: edit * deny" in told
    assert not made(world)


async def test_explore_has_a_shell_that_changes_nothing(tmp_path: Path) -> None:
    turns = [calls(("bash", {"command": "ls src"}), ("bash", BUILD), ("bash", {"command": "touch made"})), says("{{results}}")]
    world = make_world(tmp_path, script={"explore": turns}, files=FILES)
    async with connect(world, NEAR, person=Person(decides("allow_once"))) as connected:
        told = text_of(await bounded(connected.call("task", **errand("explore"))))
    assert "a.py" in told
    assert "agent explore: edit * deny" in told
    assert not made(world)


async def test_where_the_sandbox_cannot_hold_the_rules_a_line_that_nobody_can_read_is_refused(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES, settings=ALLOWED | {"sandbox": "landlock", "mode": "acceptEdits"})
    async with connect(world, NEAR) as connected:
        told = await ran(connected, **BUILD)
        assert "nothing was run" in told
        assert "modes, owners and times of files outside" in told
        assert "a.py" in await ran(connected, command="ls src")
        assert "(exit code 0)" in await ran(connected, command="touch made")
    assert made(world)


async def test_without_a_sandbox_by_choice_lines_run_as_rules_say_and_the_audit_tells(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES, settings={"sandbox": "none"})
    person = Person(decides("allow_once"))
    async with connect(world, NEAR, person=person) as connected:
        assert "(exit code 0)" in await ran(connected, **BUILD)
        outcomes = [event.outcome for event in await connected.audit() if event.kind == "outcome"]
    assert made(world)
    assert outcomes == ["done, without a sandbox, as settings say"]
    assert "it runs without a sandbox" in person.forms[0].message


async def test_the_audit_says_what_each_line_ran_in_and_the_session_what_holds(tmp_path: Path) -> None:
    world = make_world(tmp_path, files=FILES, settings=ALLOWED)
    async with connect(world, NEAR) as connected:
        await ran(connected, **BUILD)
        info = await bounded(connected.call("session_info"))
        outcomes = [event.outcome for event in await connected.audit() if event.kind == "outcome" and event.tool == "bash"]
    assert outcomes == ["failed, in bubblewrap, writing nothing, without network"]
    assert "sandbox: commands run in bubblewrap" in text_of(info)


async def test_a_line_in_the_background_is_read_on_and_ended_by_its_own_session_alone(tmp_path: Path) -> None:
    files = {"serve.sh": "echo ready\nwhile read -r line; do echo got $line; done < pipe\nsleep 600\n"}
    script = {"general": [calls(("bash_output", {"bash_id": "{{task}}"})), says("{{results[0].text}}")]}
    world = make_world(tmp_path, script=script, files=files, settings=ALLOWED | {"mode": "acceptEdits"})
    os.mkfifo(world.workspace / "pipe")
    async with connect(world, NEAR) as connected:
        begun = await bounded(connected.call("bash", command="sh serve.sh", background=True))
        assert begun.structured_content is not None
        line = begun.structured_content["bash_id"]
        assert "ready" in text_of(await bounded(connected.call("bash_output", bash_id=line, wait_seconds=20)))
        with (world.workspace / "pipe").open("w") as pipe:
            pipe.write("x\n")
        assert "got x" in text_of(await bounded(connected.call("bash_output", bash_id=line, wait_seconds=20)))
        child = text_of(await bounded(connected.call("task", **errand("general", line))))
        assert "there is no such line in the background of this session" in child
        killed = text_of(await bounded(connected.call("bash_kill", bash_id=line)))
        assert "ended before its own end" in killed
        assert "(ended before its own end)" in text_of(await bounded(connected.call("bash_output", bash_id=line)))
        outcomes = [event.outcome for event in await connected.audit() if event.kind == "outcome" and event.tool == "bash"]
    assert outcomes == [f"done, in bubblewrap, writing in {world.workspace}, without network, in the background"]


async def test_a_line_in_the_background_ends_with_its_session(tmp_path: Path) -> None:
    files = {"hold.sh": "exec 3> pipe\necho here >&3\nsleep 600\n"}
    script = {"general": [calls(("bash", {"command": "sh hold.sh", "background": True})), says("done") | {"await": "seen"}]}
    world = make_world(tmp_path, script=script, files=files, settings=ALLOWED | {"mode": "acceptEdits"})
    os.mkfifo(world.workspace / "pipe")
    held = os.open(world.workspace / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    async with connect(world, NEAR) as connected, anyio.create_task_group() as group:
        group.start_soon(lambda: connected.call("task", **errand("general")))
        with anyio.fail_after(LONG):
            await anyio.wait_readable(held)
            assert os.read(held, 100) == b"here\n"
            release(world, "seen")
            await anyio.wait_readable(held)
            assert os.read(held, 100) == b""
    os.close(held)
