"""Asking by a link up to 2025-11-25: the client asks whether it may open the prompt's page in the console, and the answer is given there.

The call stays open until then, with progress. That the person agreed is no answer; that they did not, neither: the prompt stays open for
every other way. Once a prompt whose link is opened is closed, wherever that happens, the client is told that it is complete.
"""

import anyio
import structlog
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import RequestId
from pydantic import ValidationError

from mcp_server.elicited import LinkAsked
from mcp_server.protocol.asking import LookAgain, Put, Visit, fresh, pass_on
from mcp_server.protocol.asking_wire import Wire
from mcp_server.protocol.elicited_forms import link_of
from mcp_server.protocol.forms import message_of
from mcp_server.protocol.replies import PutOff, Reply, Unusable, read_opened
from mcp_server.protocol.showing import agreed_in, link_message
from mcp_server.records import Prompt, PromptId
from mcp_server.sessions.front import Ended, Open

log = structlog.get_logger("protocol")


class LinkChannel:
    """The links of one request, sharing the wire of its connection."""

    def __init__(self, visit: Visit, *, session: ServerSession, request_id: RequestId | None, lock: anyio.Lock) -> None:
        self._visit = visit
        self._session = session
        self._request_id = request_id
        self._wire = Wire(visit, lock)
        self._sent = set[PromptId]()

    def carries(self, still: Open, put_off: frozenset[PromptId]) -> bool:
        """Prompts that nobody agreed to open yet. A later request for the same call waits as long as any does."""
        return bool(self._new(still, put_off))

    async def put(self, still: Open, put_off: frozenset[PromptId]) -> Put:
        """One after the other, and then wait until all that the person agreed to open are answered, or something new is asked."""
        opened, refused = set[PromptId](), set[PromptId]()
        now: Open | Ended = still
        while isinstance(now, Open):
            new = next(iter(self._new(now, put_off)), None)
            if new is None and not opened:
                return LookAgain(put_off=put_off)
            if new is not None:
                (opened if await self._leads(new, put_off) else refused).add(new.id)
            put_off |= refused
            now = await self._next(now, opened, seconds=0.0 if new is not None else self._visit.timing.form_life)
        await self._complete(opened)
        return now

    def _new(self, still: Open, put_off: frozenset[PromptId]) -> tuple[Prompt, ...]:
        return self._visit.showing.puttable(fresh(still, put_off), "link", opens=False)

    async def _next(self, now: Open, opened: set[PromptId], *, seconds: float) -> Open | Ended:
        """What is open next; what is not any more leaves `opened`, and so does all where nothing changes for so long."""
        visit = self._visit
        settled = await visit.front.settle(visit.root, visit.call_id, seconds=seconds, shown=tuple(now.ids))
        if isinstance(settled, Ended):
            return settled
        closed = opened - settled.ids
        await self._complete(closed)
        opened -= opened if seconds and settled.ids == now.ids else closed
        return settled

    async def _leads(self, prompt: Prompt, put_off: frozenset[PromptId]) -> bool:
        """Ask whether the page may be opened. False: the person would not, or the client could not."""
        said: list[bool] = []

        async def ask() -> None:
            if (link := link_of(prompt)) is not None:
                said.append(not await pass_on(self._visit, prompt, await self._opened(prompt, link), channel="form"))
                return
            page = self._visit.showing.ways.page_of(prompt)
            said.append(page is not None and await self._asked(prompt, page))

        await self._wire.show(prompt, put_off, ask)
        if said == [True]:
            self._visit.showing.agreed.add(prompt.id)
        return said != [False]  # nothing said: it was closed meanwhile

    async def _asked(self, prompt: Prompt, page: str) -> bool:
        with anyio.move_on_after(self._visit.timing.form_life):
            self._sent.add(prompt.id)
            try:
                return agreed_in(await self._session.elicit_url(link_message(prompt), page, prompt.id, self._request_id))
            except (MCPError, ValidationError) as error:
                log.info("a link could not be shown", exc_info=error)
        return False

    async def _opened(self, prompt: Prompt, link: LinkAsked) -> Reply:
        """Another server's own link, passed on as it is: the reply is the answer."""
        self._visit.showing.given.give(link, prompt.id, self._session)
        with anyio.move_on_after(self._visit.timing.form_life):
            try:
                return read_opened(await self._session.elicit_url(message_of(prompt), link.url, prompt.id, self._request_id))
            except (MCPError, ValidationError) as error:
                log.info("a link could not be shown", exc_info=error)
                return Unusable(reason="the client answered the link with an error")
        return PutOff()

    async def _complete(self, prompts: set[PromptId]) -> None:
        for prompt_id in sorted(prompts & self._sent):
            try:
                await self._session.send_elicit_complete(prompt_id, self._request_id)
            except Exception as error:  # it is a courtesy: the call goes on
                log.info("a link could not be told as complete", exc_info=error)
