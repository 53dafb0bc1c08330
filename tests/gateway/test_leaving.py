"""Requests that do not leave by themselves when a gateway ends: each is answered as its reader expects it."""

import json
from typing import Any

import anyio
from starlette.types import Message, Receive, Scope, Send

from mcp_server.gateway.leaving import CUT, Leaving, UnderWay
from mcp_server.gateway.requests import NAMED, Named

STREAM: Message = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


async def cut_off(named: Named | None, *begun: Message) -> list[Message]:
    """All that is sent of an answer of which so much was sent when the gateway ended."""
    leaving, sent = Leaving(0), list[Message]()

    async def stays(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in begun:
            await send(message)
        leaving.begin()
        await anyio.sleep_forever()

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope: dict[str, Any] = {"type": "http", "method": "POST" if named else "GET", NAMED: named}
    async with anyio.create_task_group() as group:
        group.start_soon(leaving.run, lambda: None)
        await UnderWay(stays, leaving)(scope, receive, send)
    assert leaving.over
    return sent


CALL = Named(method="tools/call", name="read", id=7)


async def test_a_call_of_which_nothing_was_said_is_answered_with_an_error_of_its_own() -> None:
    start, body = await cut_off(CALL)
    said = json.loads(body["body"])
    assert (start["status"], said["id"], said["error"]["message"]) == (500, 7, CUT)


async def test_a_call_that_is_answered_as_a_stream_has_the_error_as_its_last_event() -> None:
    _, last = await cut_off(CALL, STREAM)
    assert json.loads(last["body"].decode().partition("data: ")[2])["error"]["message"] == CUT
    assert not last["more_body"]


async def test_a_stream_that_answers_nobody_ends_without_a_word() -> None:
    _, last = await cut_off(None, STREAM)
    assert (last["body"], last["more_body"]) == (b"", False)
