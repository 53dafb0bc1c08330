"""What goes along with a request that stays with its call: its hold on it, progress, and a watch on whether anybody is left to read."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request as HttpRequest

from mcp_server.policy.values import CallId
from mcp_server.protocol.asking import Visit
from mcp_server.protocol.lines import Line
from mcp_server.protocol.log_telling import LogTelling, tell_log
from mcp_server.protocol.sampling_calls import ModelCalls
from mcp_server.protocol.telling import Telling
from mcp_server.sessions.front import Front, Sampling

Request = ServerRequestContext[Line, Any]


class Attached:
    """A request's hold on its call. It lets go once, and at the very moment when it is cut short: a client that takes a call back and
    makes it again at once finds it free, however long a form takes to be taken away.
    """

    def __init__(self, front: Front, call_id: CallId, seconds: float) -> None:
        self._front = front
        self._call_id = call_id
        self._seconds = seconds
        self._holds = True
        self.back = False
        """The client is told how to come back."""

    async def let_go(self) -> None:
        """Leave the call to itself."""
        if self._holds:
            self._holds = False
            with anyio.move_on_after(self._seconds, shield=True):
                await self._front.detach(self._call_id, back=self.back)

    async def until_cut(self) -> None:
        """Hold on until cancelled."""
        try:
            await anyio.sleep_forever()
        finally:
            await self.let_go()


async def passed_on(ctx: Request, visit: Visit) -> None:
    """What a call that has ended told of its progress, where nobody went along with it."""
    if visit.front.steps(visit.call_id, 0)[0]:
        await Telling(ctx.session, visit).rest()
    for logged in visit.front.heard(visit.call_id):
        await tell_log(ctx.session, ctx.request_id, logged)


@asynccontextmanager
async def accompanied(ctx: Request, visit: Visit, lends: Sampling, attached: Attached) -> AsyncGenerator[ModelCalls | None]:
    """Progress is told and the client's model asked meanwhile, and what is inside is cut short when nobody is left to read the result."""
    async with anyio.create_task_group() as group:
        group.start_soon(attached.until_cut)
        telling = Telling(ctx.session, visit)
        group.start_soon(telling.run)
        logs = LogTelling(ctx.session, ctx.request_id, visit)
        group.start_soon(logs.run)
        request: HttpRequest | None = ctx.request
        asked = None
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            if request is not None:
                group.start_soon(_watch_reader, request, group.cancel_scope)
            if lends is not Sampling.NONE:
                asked = ModelCalls(visit, session=ctx.session, request_id=ctx.request_id)
                group.start_soon(asked.run)
        yield asked
        await telling.rest()
        await logs.rest()
        group.cancel_scope.cancel()


async def _watch_reader(request: HttpRequest, stay: anyio.CancelScope) -> None:
    """Up to 2025-11-25 the SDK goes on with a request whose reader has hung up; a form would keep a dead connection for its whole
    life. Nothing is lost by leaving: the call goes on, and there is no stream left that could carry its result.
    """
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stay.cancel()
