"""Calling a server that answers with *input required* (from 2026-07-28 on): what it asks is answered, and the same request is sent again
with the answers and the state that it gave, until it has a result. For `tools/call`, `prompts/get` and `resources/read` alike.

The request with answers is what the protocol asks for, and the server knows it by its state: it is no replay.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
from mcp_types import CreateMessageRequest, ElicitRequest, ElicitResult, InputRequest, InputRequiredResult, InputResponses, ListRootsRequest

from mcp_server.errors import ToolFailure

MOST_ROUNDS = 10
"""Of one request. Clients take no more by default."""

MOST_AT_ONCE = 5
"""Questions of one round."""

PAUSE_SECONDS = 0.05
"""Before a request is sent again whose server asked nothing; twice as long each time, up to four times."""

T = TypeVar("T")

Send = Callable[[InputResponses | None, str | None], Awaitable[T | InputRequiredResult]]
"""The request, with answers to what was asked last and the state that came with it; at first with neither."""

Answer = Callable[[ElicitRequest], Awaitable[ElicitResult]]
"""What a person says. It raises where a server must not go on asking."""


async def completed(server: str, send: Send[T], answer: Answer) -> T:
    """The result.

    Raises:
        ToolFailure: The server asks for what it is not given, or goes on asking. It is not called again.
    """
    got, pause = await send(None, None), PAUSE_SECONDS
    for _ in range(MOST_ROUNDS):
        if not isinstance(got, InputRequiredResult):
            return got
        if got.input_requests:
            responses: InputResponses | None = await answers(elicitations(server, got.input_requests), answer)
        else:
            responses = None
            await anyio.sleep(pause)
            pause = min(2 * pause, 4 * PAUSE_SECONDS)
        got = await send(responses, got.request_state)
    if isinstance(got, InputRequiredResult):
        raise ToolFailure(f"`{server}` asked for input {MOST_ROUNDS} times and wanted more; it was not called again. {LEFT}")
    return got


LEFT = "What it was called for was not finished; what it did until then is known to it alone."
"""Of a call that is given up, or that its server gave up."""


def elicitations(server: str, requests: Mapping[str, InputRequest]) -> dict[str, ElicitRequest]:
    """What a person is asked, of all that a server wants.

    Raises:
        ToolFailure: It wants what it is not given.
    """
    if len(requests) > MOST_AT_ONCE:
        raise ToolFailure(f"`{server}` asks {len(requests)} things at once; a person is asked {MOST_AT_ONCE} at most. {LEFT}")
    found = dict[str, ElicitRequest]()
    for key, request in requests.items():
        match request:
            case ElicitRequest():
                found[key] = request
            case CreateMessageRequest():
                raise ToolFailure(f"`{server}` wants to use a model of its client's (sampling); Remit lends no server any. {LEFT}")
            case ListRootsRequest():
                raise ToolFailure(f"`{server}` wants to know its client's folders (roots); Remit tells no server. {LEFT}")
    return found


async def answers(requests: Mapping[str, ElicitRequest], answer: Answer) -> InputResponses:
    """What the person says to each; they are asked all at once."""
    responses: InputResponses = {}

    async def one(key: str, request: ElicitRequest) -> None:
        responses[key] = await answer(request)

    async with anyio.create_task_group() as group:
        for key, request in requests.items():
            group.start_soon(one, key, request)
    return responses
