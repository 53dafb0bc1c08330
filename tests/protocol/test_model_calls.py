"""Turns of a client's own model that are with the client while the call that carries them comes to its end."""

from types import SimpleNamespace
from typing import Any, cast

import anyio

from mcp_server.policy.values import CallId
from mcp_server.protocol.asking import Visit
from mcp_server.protocol.sampling_calls import ModelCalls
from mcp_server.protocol.timing import Timing
from mcp_server.records import CallEnded, Ending, TaskGiven
from mcp_server.sessions.front import Ended, Open
from mcp_server.sessions.models.asks import ModelAsk
from tests.bounds import LONG
from tests.models.transcripts import request, stored

CALL = CallId("call")
ASK = ModelAsk(id="ask", request=request(stored([TaskGiven(text="do it")]), model="client"))


class EndsAtOnce:
    """A front whose call has a turn open at the first look, and is over at the second, while the run that it started goes on."""

    def __init__(self) -> None:
        self.wanted = True
        self.looks = 0

    async def settle(self, *_: Any, **more: Any) -> Open | Ended:
        self.looks += 1
        if self.looks == 1:
            return Open(call_id=CALL, prompts=(), text="", structured=None, turns=(ASK,))
        return Ended(result=CallEnded(call_id=CALL, tool="task", ending=Ending.DONE, parts=()))

    async def put_turn(self, *_: Any) -> bool:
        return True

    def turn_wanted(self, _: str) -> bool:
        return self.wanted

    def turn_back(self, *_: Any) -> None:
        """Another request may put it."""


class NeverAnswers:
    """A connection whose client does not answer."""

    def __init__(self) -> None:
        self.asked, self.taken_back = anyio.Event(), anyio.Event()

    async def send_request(self, *_: Any, **more: Any) -> Any:
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.taken_back.set()


async def test_a_turn_that_rides_on_a_call_that_has_ended_is_taken_back_once_it_is_not_wanted() -> None:
    front, client = EndsAtOnce(), NeverAnswers()
    visit = cast(Visit, SimpleNamespace(front=front, root=None, call_id=CALL, timing=Timing()))
    calls = ModelCalls(visit, session=cast(Any, client), request_id=1)
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            group.start_soon(calls.run)
            await client.asked.wait()
            front.wanted = False
            await calls.landed()
    assert client.taken_back.is_set()
    assert front.looks == 2
