"""Ways to come to a gateway and to leave it: in good order, without a word, in the middle of a stream, of a call, of a question."""

import json
import random
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2

from tests.behaviour.stories import errand
from tests.bounds import LONG
from tests.gateway.speaking import Speaker, answer_in
from tests.protocol.connect import Era

FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
AGREED = {"action": "accept", "content": {"decision": "allow_once"}}
PEOPLE = 50
CLIENTS = 3
MORE = 0.1
"""Of visits that run a command, too: to start a process takes most of what a visit costs."""


@dataclass(slots=True, kw_only=True)
class Crowd:
    """Everybody who may come, and what they saw that they should not have."""

    url: str
    token: Callable[[str, str], str]
    """Of a person by a client."""
    wire: httpx2.AsyncClient
    dice: random.Random
    wrong: list[str] = field(default_factory=list[str])
    came: dict[str, int] = field(default_factory=dict[str, int])

    def somebody(self, era: Era, capabilities: Mapping[str, Any] | None = None) -> Speaker:
        token = self.token(f"person-{self.dice.randrange(PEOPLE)}", f"client-{self.dice.randrange(CLIENTS)}")
        return Speaker(wire=self.wire, url=self.url, token=token, era=era, capabilities=capabilities or {})

    def new_file(self) -> dict[str, str]:
        """What `write` is told."""
        return {"filePath": f"made/{secrets.token_hex(8)}.txt", "content": "hello"}

    async def visit(self, name: str) -> None:
        """One of them comes, and leaves in that way."""
        self.came[name] = self.came.get(name, 0) + 1
        try:
            with anyio.fail_after(2 * LONG):
                await VISITS[name](self)
        except (AssertionError, KeyError, httpx2.HTTPError, TimeoutError, StopIteration, ValueError) as error:
            self.wrong.append(f"{name}: {type(error).__name__}: {str(error)[-500:]}")

    async def visits(self, count: int, at_once: int) -> None:
        """So many, in an order that the dice give."""
        names = [self.dice.choice(list(VISITS)) for _ in range(count)]

        async def come() -> None:
            while names:
                await self.visit(names.pop())

        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(come)


async def works(crowd: Crowd, speaker: Speaker) -> None:
    """What most visits are for; some more."""
    assert "A sample." in str(await speaker.calls("read", filePath="README.md"))
    if crowd.dice.random() < MORE:
        assert (await speaker.asked("tools/list"))["result"]["tools"]
        assert "hello" in str(await speaker.calls("bash", command="echo hello", description="says so"))


async def a_session_in_good_order(crowd: Crowd) -> None:
    speaker = await crowd.somebody("2025-11-25").opened()
    await works(crowd, speaker)
    assert (await crowd.wire.delete(crowd.url, headers=speaker.headers())).status_code in (200, 204)


async def a_session_left_without_a_word(crowd: Crowd) -> None:
    await works(crowd, await crowd.somebody("2025-11-25").opened())


async def a_session_left_with_its_stream_open(crowd: Crowd) -> None:
    speaker = await crowd.somebody("2025-11-25").opened()
    async with speaker.stream() as stream:
        assert stream.status_code == 200
        await works(crowd, speaker)


async def a_session_left_within_a_call(crowd: Crowd) -> None:
    """One that waits for an answer to a form, which the client never gives."""
    speaker = await crowd.somebody("2025-11-25", FORMS).opened()
    message = speaker.message("tools/call", {"name": "write", "arguments": {"filePath": "never.txt", "content": "x"}})
    async with crowd.wire.stream("POST", crowd.url, json=message, headers=speaker.headers(), timeout=LONG) as stream:
        async for line in stream.aiter_lines():
            if "elicitation/create" in line:
                return


async def one_without_a_session(crowd: Crowd) -> None:
    await works(crowd, crowd.somebody("2026-07-28"))


async def one_who_listens_and_hangs_up(crowd: Crowd) -> None:
    speaker = crowd.somebody("2026-07-28")
    async with speaker.stream() as stream:
        assert stream.status_code == 200
        await works(crowd, speaker)


async def one_who_is_asked_and_answers(crowd: Crowd) -> None:
    speaker = crowd.somebody("2026-07-28", FORMS)
    call: dict[str, Any] = {"name": "write", "arguments": crowd.new_file()}
    asked = (await speaker.asked("tools/call", call))["result"]
    if "inputRequests" in asked:
        answers = dict.fromkeys(asked["inputRequests"], AGREED)
        asked = (await speaker.asked("tools/call", {**call, "requestState": asked["requestState"], "inputResponses": answers}))["result"]
    assert asked.get("resultType") == "complete", asked


async def one_who_is_asked_and_leaves(crowd: Crowd) -> None:
    speaker = crowd.somebody("2026-07-28", FORMS)
    asked = (await speaker.calls("write", **crowd.new_file()))["result"]
    assert "inputRequests" in asked, asked


async def one_who_is_asked_within_the_call_and_answers(crowd: Crowd) -> None:
    speaker = await crowd.somebody("2025-11-25", FORMS).opened()
    message = speaker.message("tools/call", {"name": "write", "arguments": crowd.new_file()})
    text = ""
    async with crowd.wire.stream("POST", crowd.url, json=message, headers=speaker.headers(), timeout=LONG) as stream:
        async for line in stream.aiter_lines():
            text += f"{line}\n"
            if "elicitation/create" in line:
                answer = {"jsonrpc": "2.0", "id": json.loads(line.removeprefix("data:"))["id"], "result": AGREED}
                assert (await crowd.wire.post(crowd.url, json=answer, headers=speaker.headers())).status_code == 202
    assert not answer_in(text, stream.headers["content-type"])["result"].get("isError"), text
    await crowd.wire.delete(crowd.url, headers=speaker.headers())


async def one_who_sends_a_subagent(crowd: Crowd) -> None:
    speaker = crowd.somebody("2026-07-28")
    begun = (await speaker.calls("task", **errand("reader"), background=True))["result"]["structuredContent"]
    with anyio.fail_after(LONG):
        while begun["state"] in ("running", "waiting"):
            begun = (await speaker.calls("task_status", task_id=begun["task_id"], wait_seconds=5))["result"]["structuredContent"]
    assert begun["state"] == "completed", begun


async def one_who_sends_a_subagent_and_leaves(crowd: Crowd) -> None:
    begun = (await crowd.somebody("2026-07-28").calls("task", **errand("reader"), background=True))["result"]["structuredContent"]
    assert begun["task_id"]


VISITS: dict[str, Callable[[Crowd], Awaitable[None]]] = {
    visit.__name__: visit
    for visit in (
        a_session_in_good_order,
        a_session_left_without_a_word,
        a_session_left_with_its_stream_open,
        a_session_left_within_a_call,
        one_without_a_session,
        one_who_listens_and_hangs_up,
        one_who_is_asked_and_answers,
        one_who_is_asked_and_leaves,
        one_who_is_asked_within_the_call_and_answers,
        one_who_sends_a_subagent,
        one_who_sends_a_subagent_and_leaves,
    )
}
