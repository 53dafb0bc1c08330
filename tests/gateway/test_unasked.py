"""What a gateway says unasked, and what it is told so: each caller hears of their own things alone, and stops and moves nobody else's."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import TaskGroup

from mcp_server.gateway.streams import LOOK
from mcp_server.protocol.listening import MOST_OF_ONE
from mcp_server.protocol.tasks_wire import IDENTIFIER as TASKS
from mcp_server.protocol.timing import Timing
from mcp_server.records import PromptState
from tests.behaviour.stories import agent, answer_all, calls, errand, release, says, until
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing
from tests.gateway.inside import Inside, inside
from tests.gateway.speaking import Speaker
from tests.protocol.connect import ERAS, Era

each_era = pytest.mark.parametrize("era", ERAS)

HERS, THEIRS = "amber", "coral"
"""Agents: the one that Ada sends, and the one that somebody else does."""

KNOWS_TASKS: dict[str, Any] = {"extensions": {TASKS: {}}}
OPENS_LINKS: dict[str, Any] = {"elicitation": {"url": {}}}
TOKEN = {"_meta": {"progressToken": "the same"}}
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


@dataclass(slots=True, kw_only=True)
class Heard:
    """What came on one stream so far."""

    lines: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def hears(self, words: str) -> None:
        async def heard() -> bool:
            return words in self.text

        await until(heard)

    async def take(self, stream: httpx2.Response) -> None:
        async for line in stream.aiter_lines():
            self.lines.append(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A gateway and an issuer."""

    gateway: Inside
    issuer: Issuer
    wire: httpx2.AsyncClient

    async def speaker(self, name: str, era: Era, capabilities: Mapping[str, Any] | None = None) -> Speaker:
        token = self.issuer.token(self.gateway.url, sub=name)
        return await Speaker(wire=self.wire, url=self.gateway.url, token=token, era=era, capabilities=capabilities or {}).opened()


@asynccontextmanager
async def place(folder: Path) -> AsyncGenerator[Place]:
    script = {name: [calls(("read", {"filePath": "README.md"})), {**says(f"{name} is done"), "await": name}] for name in (HERS, THEIRS)}
    world = make_world(folder / "team", script={**script, "title": [says("a job")]}, agents={name: agent() for name in (HERS, THEIRS)})
    async with issuing() as issuer, httpx2.AsyncClient(timeout=LONG) as wire:
        swift = Timing(progress_every=0.02)
        async with inside(world, {"issuers": [{"issuer": issuer.url}], "console": {}}, timing=swift, look=LOOK) as gateway:
            yield Place(gateway=gateway, issuer=issuer, wire=wire)


async def begin(group: TaskGroup, speaker: Speaker, method: str, params: Mapping[str, Any]) -> Heard:
    """Make a request; what comes is heard as it does."""
    heard, message, headers = Heard(), speaker.message(method, params), speaker.headers(method, params)

    async def listen() -> None:
        async with speaker.wire.stream("POST", speaker.url, json=message, headers=headers, timeout=LONG) as stream:
            await heard.take(stream)

    group.start_soon(listen)
    return heard


async def tells(speaker: Speaker, method: str, params: Mapping[str, Any]) -> None:
    """Send a notice, or what looks like one."""
    message = {name: value for name, value in speaker.message(method, params).items() if name != "id"}
    answer = await speaker.wire.post(speaker.url, json=message, headers=speaker.headers(method, params))
    assert answer.status_code in (202, 400), answer.text


@each_era
async def test_progress_comes_to_who_made_the_call_and_nobody_elses_notice_stops_or_moves_it(era: Era, tmp_path: Path) -> None:
    async with place(tmp_path) as there, anyio.create_task_group() as group:
        ada, eve = [await there.speaker(name, era) for name in ("ada", "eve")]
        eve.number = ada.number
        hers = await begin(group, ada, "tools/call", {"name": "task", "arguments": errand(HERS), **TOKEN})
        theirs = await begin(group, eve, "tools/call", {"name": "task", "arguments": errand(THEIRS), **TOKEN})
        await hers.hears(f"{HERS}: read README.md")
        await theirs.hears(f"{THEIRS}: read README.md")
        stranger = await there.speaker("mallory", era)
        for number in range(ada.number + 1):
            await tells(stranger, "notifications/cancelled", {"requestId": number, "reason": "not yours"})
        await tells(stranger, "notifications/progress", {"progressToken": "the same", "progress": 1e9, "message": "from elsewhere"})
        release(there.gateway.world, HERS)
        release(there.gateway.world, THEIRS)
        await hers.hears(f"{HERS} is done")
        await theirs.hears(f"{THEIRS} is done")
        assert "elsewhere" not in hers.text + theirs.text
        assert THEIRS not in hers.text
        assert HERS not in theirs.text


async def listening(group: TaskGroup, speaker: Speaker, sessions: list[str], tasks: list[str]) -> Heard:
    """All that one can ask to be told of: lists, and these sessions and tasks, whosever they are."""
    uris = [f"remit://sessions/{one}{part}" for one in sessions for part in ("", "/transcript")]
    if speaker.era == "2026-07-28":
        named = {"resourceSubscriptions": uris, "taskIds": tasks}
        heard = await begin(group, speaker, "subscriptions/listen", {"notifications": {**EVERYTHING, **named}})
        await heard.hears("notifications/subscriptions/acknowledged")
        return heard
    heard, opened = Heard(), anyio.Event()

    async def listen() -> None:
        async with speaker.stream() as stream:
            opened.set()
            await heard.take(stream)

    group.start_soon(listen)
    await opened.wait()
    for uri in uris:
        await speaker.asked("resources/subscribe", {"uri": uri})
    return heard


@each_era
async def test_a_stream_that_asks_for_everything_tells_of_its_callers_own_things_alone(era: Era, tmp_path: Path) -> None:
    async with place(tmp_path) as there, anyio.create_task_group() as group:
        ada, eve = [await there.speaker(name, era, KNOWS_TASKS) for name in ("ada", "eve")]
        other = await there.speaker("ada", era, KNOWS_TASKS)
        other.token = there.issuer.token(there.gateway.url, client_id="terminal")
        other = await replace(other, session=None).opened()
        plain = replace(ada, capabilities={})
        child = (await plain.calls("task", **errand(HERS), background=True))["result"]["structuredContent"]["task_id"]
        modern = era == "2026-07-28"
        task = (await ada.calls("task", **errand(HERS)))["result"]["taskId"] if modern else "call_" + "a" * 32
        own = {one.token: await begun(replace(one, capabilities={})) for one in (eve, other)}
        hers = await listening(group, ada, [child], [task])
        heard = {one.token: await listening(group, one, [child, own[one.token]], [task]) for one in (eve, other)}
        release(there.gateway.world, HERS)
        await hers.hears(f"remit://sessions/{child}")
        if modern:
            await hers.hears(f"{HERS} is done")
        release(there.gateway.world, THEIRS)
        for token, stream in heard.items():
            await stream.hears(f"remit://sessions/{own[token]}")
            assert [word for word in (child, task, HERS) if word in stream.text] == []
        group.cancel_scope.cancel()


async def test_whoever_opens_streams_without_end_takes_nobody_elses(tmp_path: Path) -> None:
    async with place(tmp_path) as there, anyio.create_task_group() as group:
        ada, eve = [await there.speaker(name, "2026-07-28") for name in ("ada", "eve")]
        opened = [await begin(group, eve, "subscriptions/listen", {"notifications": {}}) for _ in range(MOST_OF_ONE)]
        for stream in opened:
            await stream.hears("notifications/subscriptions/acknowledged")
        refused = await eve.asked("subscriptions/listen", {"notifications": {}})
        assert f"{MOST_OF_ONE} streams of yours are open already" in refused["error"]["message"]
        await listening(group, ada, [], [])
        group.cancel_scope.cancel()


async def begun(speaker: Speaker) -> str:
    """A child of theirs, at work."""
    return (await speaker.calls("task", **errand(THEIRS), background=True))["result"]["structuredContent"]["task_id"]


async def test_that_a_link_is_done_with_is_told_to_who_was_shown_it_and_is_nobody_elses_to_tell(tmp_path: Path) -> None:
    async with place(tmp_path) as there, anyio.create_task_group() as group:
        ada, eve = [await there.speaker(name, "2025-11-25", OPENS_LINKS) for name in ("ada", "eve")]
        theirs = await listening(group, eve, [], [])
        hers = await begin(group, ada, "tools/call", {"name": "write", "arguments": {"filePath": "out.txt", "content": "hello"}})
        await hers.hears("elicitation/create")
        (line,) = [line for line in hers.lines if "elicitation/create" in line]
        request = json.loads(line.removeprefix("data:"))
        prompt = request["params"]["elicitationId"]
        for message in (
            {"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": prompt}},
            {"jsonrpc": "2.0", "id": request["id"], "result": {"action": "decline"}},
        ):
            await eve.wire.post(eve.url, json=message, headers=eve.headers())
        await ada.wire.post(ada.url, json={"jsonrpc": "2.0", "id": request["id"], "result": {"action": "accept"}}, headers=ada.headers())
        store = there.gateway.world.store()
        waiting = await store.prompts(state=PromptState.OPEN)
        assert [one.id for one in waiting] == [prompt]
        await answer_all(store, waiting)
        await store.close()
        await hers.hears('"result"')
        assert hers.text.count("notifications/elicitation/complete") == 1
        assert (there.gateway.world.workspace / "out.txt").read_text() == "hello"
        written = await begin(group, eve, "tools/call", {"name": "write", "arguments": {"filePath": "two.txt", "content": "x"}})
        await written.hears("elicitation/create")
        assert prompt not in theirs.text + written.text
        group.cancel_scope.cancel()
