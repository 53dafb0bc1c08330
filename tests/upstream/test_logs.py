"""What another server logs while a call of it is under way: told to that call's client as its era has it, and to nobody else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_types import (
    LOG_LEVEL_META_KEY,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequest,
    SetLevelRequestParams,
)
from mcp_types import EmptyResult as Empty

from mcp_server.protocol.upstream.logs import LARGEST, MOST, SECONDS, Logs
from mcp_server.protocol.upstream.underway import Calls
from mcp_server.sessions.newsreel import Earshot
from mcp_server.tools.hearing import Level
from mcp_server.tools.whose import Whose
from tests.behaviour.stories import bounded, until
from tests.behaviour.world import Connected, connect, make_world
from tests.bounds import LONG
from tests.protocol.connect import ERAS, Cell, Era
from tests.upstream.scripted import Context, Nobody, Scripted, opener, told

ALLOWED: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}, "permission": {"play__*": "allow"}}


def said(level: Level, data: Any, logger: str | None = None) -> LoggingMessageNotification:
    return LoggingMessageNotification(params=LoggingMessageNotificationParams(level=level, logger=logger, data=data))


@pytest.mark.parametrize("theirs", ERAS)
@pytest.mark.parametrize("ours", ERAS)
async def test_a_client_hears_what_it_wants_to_of_a_call_and_whose_words_they_are(ours: Era, theirs: Era, tmp_path: Path) -> None:
    expected = 0
    play, heard, asked = Scripted(), list[LoggingMessageNotificationParams](), list[object]()

    async def logs(ctx: Context, _: Mapping[str, Any]) -> Any:
        asked.append(dict(ctx.meta or {}).get(LOG_LEVEL_META_KEY))
        for message in (said("debug", "detail"), said("warning", {"\x1b[2Jred": ["\u202e", 1]}, "db"), said("error", "bad")):
            await ctx.session.send_notification(message, related_request_id=ctx.request_id)
        await until(came)
        return told("logged")

    async def came() -> bool:
        return len(heard) >= expected

    async def hears(message: object) -> None:
        if isinstance(message, LoggingMessageNotification):
            heard.append(message.params)

    play.does["log"] = logs
    world, cell = make_world(tmp_path, settings=ALLOWED), Cell(transport="memory", era=ours)
    async with connect(world, cell, heard=hears, opener=opener({"play": play}, theirs)) as connected:

        async def hears_of(level: Level | None, count: int) -> list[tuple[Level, str | None, Any]]:
            nonlocal expected
            heard.clear()
            expected = count
            await _calls(connected, ours, level)
            return [(params.level, params.logger, params.data) for params in heard]

        unasked = 2 if ours == "2025-11-25" else 0
        assert len(await hears_of(None, unasked)) == unasked, "from 2026-07-28 on a request that wants none gets none"
        assert await hears_of("error", 1) == [("error", "play", "bad")]
        assert await hears_of("debug", 3) == [
            ("debug", "play", "detail"),
            ("warning", "play: db", {"\ufffd[2Jred": ["\ufffd", 1]}),
            ("error", "play", "bad"),
        ]
    wanted = ["error", "debug"]
    first = "info" if ours == "2025-11-25" else None
    assert (asked, play.levels) == (([first, *wanted], []) if theirs == "2026-07-28" else ([None] * 3, wanted))


async def _calls(connected: Connected, era: Era, level: Level | None) -> None:
    meta: Any = None if level is None or era == "2025-11-25" else {LOG_LEVEL_META_KEY: level}
    if level is not None and era == "2025-11-25":
        wish = SetLevelRequest(params=SetLevelRequestParams(level=level))
        await bounded(connected.client.session.send_request(wish, Empty))
    await bounded(connected.client.call_tool("play__log", {}, meta=meta))


def whose(principal: str) -> Whose:
    return Whose(principal=principal, workspace="/w", root="ses_a")


def hearing(level: Level) -> Earshot:
    earshot = Earshot()
    earshot.level = level
    return earshot


async def test_messages_are_bounded_in_rate_and_size_and_nobody_hears_another_persons() -> None:
    now = 100.0
    calls, mine, other = Calls(), hearing("debug"), hearing("debug")
    logs = Logs("play", calls, lambda: now)
    await logs.heard(said("info", "to nobody").params)
    with calls.begun(whose("me"), Nobody(), LONG, mine):
        for number in range(MOST + 5):
            await logs.heard(said("info", number).params)
        assert [each.said for each in mine.take()] == list(range(MOST))
        now += SECONDS
        await logs.heard(said("info", "x" * (2 * LARGEST)).params)
        left, large = mine.take()
        assert left.said == "5 messages of this server were left out"
        assert len(large.said) <= LARGEST
        with calls.begun(whose("somebody else"), Nobody(), LONG, other):
            await logs.heard(said("error", "whose?").params)
        with calls.begun(whose("me"), Nobody(), LONG, other):
            await logs.heard(said("error", "mine").params)
    with calls.begun(whose("me"), Nobody(), LONG), calls.begun(whose("me"), Nobody(), LONG, mine):
        await logs.heard(said("error", "not the reading's").params)
    assert [each.said for each in mine.take()] == ["mine", "not the reading's"]
    assert other.take() == ()
