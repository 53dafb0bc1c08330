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


class TooLate(Exception):
    """Somebody said nothing for so long, on a busy machine, that their connection was ended as it should be."""


@dataclass(slots=True, kw_only=True)
class Crowd:
    """Everybody who may come, and what they saw that they should not have."""

    url: str
    token: Callable[[str, str], str]
    """Of a person by a client."""
    wire: httpx2.AsyncClient
    dice: random.Random
    idle: float
    """Seconds after which the gateway ends a connection of which nothing is heard."""
    wrong: list[str] = field(default_factory=list[str])
    came: dict[str, int] = field(default_factory=dict[str, int])
    late: int = 0
    """Visits that were made once more, as they were too late."""
    _asked: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """By connection, when its last two requests were sent."""

    def __post_init__(self) -> None:
        self.wire.event_hooks = {"request": [self._asks], "response": [self._hears]}

    async def _asks(self, request: httpx2.Request) -> None:
        request.extensions["sent"] = now = anyio.current_time()
        if (session := request.headers.get("mcp-session-id")) is not None:
            self._asked[session] = (self._asked[session][1], now)

    async def _hears(self, response: httpx2.Response) -> None:
        """Raises `TooLate`, but not where the gateway cannot have waited for so long."""
        asked: str | None = response.request.headers.get("mcp-session-id")
        if asked is None and (opened := response.headers.get("mcp-session-id")) is not None:
            sent: float = response.request.extensions["sent"]
            self._asked[opened] = (sent, sent)
        if asked is not None and response.status_code == 404 and anyio.current_time() - self._asked[asked][0] >= self.idle:
            raise TooLate

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
                while await self._too_late(name):
                    self.late += 1
        except (AssertionError, KeyError, httpx2.HTTPError, TimeoutError, StopIteration, ValueError) as error:
            self.wrong.append(f"{name}: {type(error).__name__}: {str(error)[-500:]}")

    async def _too_late(self, name: str) -> bool:
        try:
            await VISITS[name](self)
        except TooLate:
            return True
        return False

    async def visits(self, count: int, at_once: int) -> None:
        """So many, in an order that the dice give."""
        names = [self.dice.choice(list(VISITS)) for _ in range(count)]

        async def come() -> None:
            while names:
                await self.visit(names.pop())

        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(come)


def result_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Of a JSON-RPC answer.

    Raises:
        AssertionError: It is an error; its text is that.
    """
    assert "result" in answer, answer
    return answer["result"]


async def works(crowd: Crowd, speaker: Speaker) -> None:
    """What most visits are for; some more."""
    read = await speaker.calls("read", filePath="README.md")
    assert "A sample." in str(read), read
    if crowd.dice.random() < MORE:
        assert result_of(await speaker.asked("tools/list"))["tools"]
        echoed = await speaker.calls("bash", command="echo hello", description="says so")
        assert "hello" in str(echoed), echoed


async def a_session_in_good_order(crowd: Crowd) -> None:
    speaker = await crowd.somebody("2025-11-25").opened()
    await works(crowd, speaker)
    ended = await crowd.wire.delete(crowd.url, headers=speaker.headers())
    assert ended.status_code in (200, 204), ended.text


async def a_session_left_without_a_word(crowd: Crowd) -> None:
    await works(crowd, await crowd.somebody("2025-11-25").opened())


async def a_session_left_with_its_stream_open(crowd: Crowd) -> None:
    speaker = await crowd.somebody("2025-11-25").opened()
    async with speaker.stream() as stream:
        assert stream.status_code == 200, await stream.aread()
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
        assert stream.status_code == 200, await stream.aread()
        await works(crowd, speaker)


async def one_who_is_asked_and_answers(crowd: Crowd) -> None:
    speaker = crowd.somebody("2026-07-28", FORMS)
    call: dict[str, Any] = {"name": "write", "arguments": crowd.new_file()}
    asked = result_of(await speaker.asked("tools/call", call))
    if "inputRequests" in asked:
        answers = dict.fromkeys(asked["inputRequests"], AGREED)
        asked = result_of(await speaker.asked("tools/call", {**call, "requestState": asked["requestState"], "inputResponses": answers}))
    assert asked.get("resultType") == "complete", asked


async def one_who_is_asked_and_leaves(crowd: Crowd) -> None:
    speaker = crowd.somebody("2026-07-28", FORMS)
    asked = result_of(await speaker.calls("write", **crowd.new_file()))
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
                taken = await crowd.wire.post(crowd.url, json=answer, headers=speaker.headers())
                assert taken.status_code == 202, taken.text
    assert not result_of(answer_in(text, stream.headers["content-type"])).get("isError"), text
    await crowd.wire.delete(crowd.url, headers=speaker.headers())


async def one_who_sends_a_subagent(crowd: Crowd) -> None:
    speaker = crowd.somebody("2026-07-28")
    begun = result_of(await speaker.calls("task", **errand("reader"), background=True))["structuredContent"]
    with anyio.fail_after(LONG):
        while begun["state"] in ("running", "waiting"):
            begun = result_of(await speaker.calls("task_status", task_id=begun["task_id"], wait_seconds=5))["structuredContent"]
    assert begun["state"] == "completed", begun


async def one_who_sends_a_subagent_and_leaves(crowd: Crowd) -> None:
    begun = result_of(await crowd.somebody("2026-07-28").calls("task", **errand("reader"), background=True))["structuredContent"]
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
