"""Servers of processes of their own: what they are given, how they end, and what becomes of calls when they misbehave."""

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from mcp_server.protocol.upstream import streams
from mcp_server.protocol.upstream.servers import Servers
from mcp_server.protocol.upstream.starting import folder_mark, own_mark
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.whose import Whose
from tests.behaviour.stories import NEAR, bounded, until
from tests.behaviour.world import Connected, World, connect, make_world, text_of
from tests.protocol.connect import client_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and keepers are not run elsewhere yet")

BARE = str(Path(__file__).with_name("bare.py"))


def world_of(folder: Path, *arguments: str, env: dict[str, str] | None = None, **said: Any) -> World:
    server = {"command": sys.executable, "args": ["-I", "-S", BARE, *arguments], "env": env or {}, **said}
    return make_world(folder, settings={"mcpServers": {"bare": server}, "permission": {"bare__*": "allow"}})


def runs(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


async def gone(*pids: int) -> bool:
    return not any(map(runs, pids))


async def forked(connected: Connected) -> tuple[int, ...]:
    """The server's process, and one that it left behind with no tie to it."""
    return tuple(map(int, text_of(await bounded(connected.call("bare__fork"))).split()))


async def test_nothing_is_started_before_a_tool_is_wanted(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    async with connect(world, NEAR) as connected:
        await bounded(connected.call("todoread"))
        info = text_of(await bounded(connected.call("session_info")))
        assert await connected.store.every_found() == ()
        assert "MCP server" not in info


async def test_a_server_gets_what_settings_name_and_nothing_else_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "drawn-by-chance")
    monkeypatch.setenv("OTHER_TOKEN", "of-nobody-else")
    key = tmp_path / "key"
    key.write_text("from-the-file\n")
    key.chmod(0o600)
    env = {"A": "Bearer ${SOME_TOKEN}", "B": f"${{file:{key}}}", "C": "${NONE:-plain}", "D": "${workspaceFolder}/x"}
    world = world_of(tmp_path / "${OTHER_TOKEN}", env=env)
    async with connect(world, NEAR) as connected:
        result = await bounded(connected.call("bare__environment"))
    told: dict[str, Any] = result.structured_content or {}
    given = {name: value[::-1] for name, value in told["environment"].items()}
    assert {name: given[name] for name in "ABCD"} == {
        "A": "Bearer drawn-by-chance",
        "B": "from-the-file",
        "C": "plain",
        "D": f"{world.workspace.resolve()}/x",
    }
    assert "OTHER_TOKEN" not in given
    assert Path(told["cwd"]).parent == (world.places.cache / "servers").resolve(), "what lies in a workspace is not run as a server"


async def test_what_is_not_set_or_not_there_is_said_and_takes_nobody_elses_tools(tmp_path: Path) -> None:
    good = {"command": sys.executable, "args": ["-I", "-S", BARE]}
    open_file = tmp_path / "open"
    open_file.write_text("x")
    open_file.chmod(0o644)
    servers = {
        "good": good,
        "unset": {**good, "env": {"A": "${NOWHERE_SET}"}},
        "absent": {"command": "no-such-program"},
        "readable": {**good, "env": {"A": f"${{file:{open_file}}}"}},
        "mute": {**good, "args": ["-I", "-S", BARE, "mute"], "handshake_seconds": 0.3},
    }
    world = make_world(tmp_path, settings={"mcpServers": servers, "permission": {"*__*": "allow"}})
    async with connect(world, NEAR) as connected:
        listed = [tool.name for tool in (await bounded(connected.client.list_tools())).tools]
        info = text_of(await bounded(connected.call("session_info")))
        result = await bounded(connected.call("good__say", text="hi"))
        missing = await bounded(connected.call("absent__say"))
    assert {name.partition("__")[0] for name in listed if "__" in name} == {"good"}
    assert "read" in listed
    assert "MCP server unset: the environment variable NOWHERE_SET is not set" in info
    assert "MCP server absent: the program `no-such-program` is not found" in info
    assert "others may read it" in info
    assert "MCP server mute: it did not start and list its tools within 0.3 s (`handshake_seconds`)" in info
    assert text_of(result) == "said hi"
    assert missing.is_error


async def test_a_server_ends_with_its_connection_and_takes_along_what_it_left_behind(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    async with connect(world, NEAR) as connected:
        pids = await forked(connected)
        assert all(map(runs, pids))
    await bounded(until(lambda: gone(*pids)))


async def test_a_server_that_dies_at_work_is_told_of_with_its_last_words_and_the_call_is_not_made_again(tmp_path: Path) -> None:
    (key := tmp_path / "key").write_text("hunter-2")
    key.chmod(0o600)
    world = world_of(tmp_path, env={"SHOWN": f": ${{file:{key}}}"})
    async with connect(world, NEAR) as connected:
        pids = await forked(connected)
        dead = await bounded(connected.call("bare__die"))
        await bounded(until(lambda: gone(*pids)))
        events = [event.outcome for event in await connected.audit() if event.tool == "bare__die" and event.kind == "outcome"]
    assert dead.is_error
    assert "interrupted, outcome unknown: `bare`: it ended; its last words: out of paper: [secret], after the call" in text_of(dead)
    assert "was not sent again" in text_of(dead)
    assert [outcome.partition(", ")[0] for outcome in events] == ["interrupted"]


async def test_a_server_that_was_lost_is_started_again_for_the_next_call(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    async with connect(world, NEAR) as connected:
        await bounded(connected.call("bare__die"))

        async def says() -> bool:
            return text_of(await connected.call("bare__say", text="again")) == "said again"

        await bounded(until(says))


async def test_a_call_that_is_never_answered_ends_in_time(tmp_path: Path) -> None:
    world = world_of(tmp_path, call_seconds=0.2)
    async with connect(world, NEAR) as connected:
        late = await bounded(connected.call("bare__hang"))
    assert "it did not answer within 0.2 s" in text_of(late)


async def test_a_call_that_is_given_up_holds_nobody(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    async with connect(world, NEAR) as connected:
        with anyio.move_on_after(0.1):
            await connected.call("bare__hang", again=True)
        good = await bounded(connected.call("bare__say", text="hi"))
    assert text_of(good) == "said hi"


async def test_a_flood_is_bounded_and_a_line_that_is_no_message_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LONGEST_LINE", 500_000)
    world = world_of(tmp_path)
    async with connect(world, NEAR) as connected:
        babbled = await bounded(connected.call("bare__babble"))
        much = await bounded(connected.call("bare__flood", bytes=200_000))
        flood = await bounded(connected.call("bare__flood", bytes=900_000))
    assert text_of(babbled) == "babbled"
    assert len(text_of(much)) < 60_000
    assert "it sent a message of more than 500,000 bytes" in text_of(flood)


def test_the_log_tells_of_a_few_lines_that_are_no_messages_and_counts_the_rest() -> None:
    clock = [0.0]
    strange = streams.Strange(lambda: clock[0])
    with capture_logs() as logged:
        for count, now in ((streams.MOST_LINES + 2, 0.0), (streams.MOST_LINES + 3, streams.LINES_SECONDS)):
            clock[0] = now
            for _ in range(count):
                strange.take(b"chatter")
        strange.end()
    said = [(each.get("bytes"), each.get("lines_before"), each.get("lines")) for each in logged]
    few = [(7, None, None)] * (streams.MOST_LINES - 1)
    assert said == [(7, None, None), *few, (7, 2, None), *few, (None, None, 3)]


async def test_each_tree_has_a_server_of_its_own_but_for_one_that_may_be_shared(tmp_path: Path) -> None:
    own = {"command": sys.executable, "args": ["-I", "-S", BARE]}
    settings = {"mcpServers": {"own": own, "shared": {**own, "shareable": True}}, "permission": {"*__*": "allow"}}
    world = make_world(tmp_path, settings=settings)
    async with connect(world, NEAR) as first:
        parts = first.parts
        assert parts is not None
        async with client_of(parts.server, "2025-11-25", None) as second:
            pids = {
                name: {text_of(await bounded(client.call_tool(f"{name}__fork"))).split()[0] for client in (first.client, second)}
                for name in ("own", "shared")
            }
        assert {name: len(found) for name, found in pids.items()} == {"own": 2, "shared": 1}


async def test_a_server_that_nobody_uses_is_ended_and_started_again_when_it_is_wanted(tmp_path: Path) -> None:
    world = world_of(tmp_path, idle_seconds=0.01)
    async with connect(world, NEAR) as connected:
        assert connected.parts is not None
        servers = connected.parts.deployment.upstreams
        assert isinstance(servers, Servers)
        pids = await forked(connected)

        async def ended() -> bool:
            servers.look()
            return await gone(*pids)

        await bounded(until(ended))
        assert (await forked(connected))[0] != pids[0]


async def test_a_held_server_is_not_started_where_nothing_can_hold_it(tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": ["-I", "-S", BARE], "sandbox": {"network": False}}
    world = make_world(tmp_path, settings={"mcpServers": {"bare": server}, "sandbox": "none"})
    async with connect(world, NEAR) as connected:
        await bounded(connected.client.list_tools())
        info = text_of(await bounded(connected.call("session_info")))
    assert "it is to run in a sandbox, and none can hold it: settings say that none is to be used" in info


async def test_a_held_server_writes_where_its_settings_say_and_nowhere_else(tmp_path: Path) -> None:
    inside: dict[str, Any] = {"command": sys.executable, "args": ["-I", "-S", BARE], "sandbox": {}}
    inside["sandbox"] = {"write": ["${workspaceFolder}/free"], "read": [sys.prefix, sys.base_prefix, str(Path(BARE).parent)]}
    world = make_world(
        tmp_path, settings={"mcpServers": {"bare": inside}, "permission": {"bare__*": "allow"}}, files={"free/a": "", "kept/a": ""}
    )
    async with connect(world, NEAR) as connected:
        told = {
            folder: text_of(await bounded(connected.call("bare__write", path=str(world.workspace / folder / "b"))))
            for folder in ("free", "kept")
        }
        info = text_of(await bounded(connected.call("session_info")))
    if "none can hold it" in info:
        pytest.skip("there is no sandbox on this machine")
    assert told == {"free": "written", "kept": "Read-only file system"}
    assert (world.workspace / "free/b").read_text() == "x"


PEOPLE = [
    Whose(principal=principal, workspace=workspace, root=root)
    for principal in ("ada", "bob")
    for workspace in ("/here", "/there")
    for root in ("", "ses_one")
]


def test_a_held_server_shares_its_temporary_folder_with_no_other_persons_nor_trees() -> None:
    assert len({folder_mark(whose) for whose in PEOPLE}) == len(PEOPLE)


@pytest.mark.parametrize(("shareable", "folders"), [(False, 4), (True, 1)])
def test_a_server_starts_in_no_folder_that_another_persons_started_in(shareable: bool, folders: int) -> None:
    """Launchers run what lies there. A tree that ended leaves it to the next one of the same person in that workspace."""
    config = Upstream(command="x", shareable=shareable)
    assert len({own_mark("one", config, whose) for whose in PEOPLE}) == folders
    assert own_mark("one", config, PEOPLE[0]) != own_mark("two", config, PEOPLE[0])
