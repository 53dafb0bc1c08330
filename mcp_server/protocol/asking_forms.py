"""Asking up to 2025-11-25: the server sends the client a form in the middle of the call and waits.

One form is on the wire a connection at a time. While it is, the call stays open: when a server stops waiting, the client
takes the form away under the person's hands. It is taken away on purpose when the prompt was closed elsewhere.
"""

import anyio
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, RequestId
from mcp_types.version import is_version_at_least
from pydantic import ValidationError

from mcp_server.protocol.asking import LookAgain, Put, Visit, fresh, pass_on
from mcp_server.protocol.asking_wire import Wire
from mcp_server.protocol.elicited_forms import link_of
from mcp_server.protocol.forms import message_of, schema_of
from mcp_server.protocol.replies import PutOff, Reply, Unusable, read_opened, read_reply
from mcp_server.protocol.showing import Shape
from mcp_server.records import Prompt, PromptId
from mcp_server.sessions.front import Open

_NOT_AN_ANSWER = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})
"""Errors that say nothing of the person: the prompt stays open. Any other says that the client cannot show the form."""


class FormChannel:
    """The forms of one request, and the links of other servers, sharing the wire of its connection."""

    def __init__(
        self, visit: Visit, *, session: ServerSession, request_id: RequestId | None, lock: anyio.Lock, shape: Shape | None, opens: bool
    ) -> None:
        """`shape`: how this client is given prompts, where it is not by a link to the console; `opens`: it opens other servers' links."""
        self._shape: Shape | None = shape
        self._opens = opens
        self._visit = visit
        self._session = session
        self._request_id = request_id
        self._wire = Wire(visit, lock)

    def carries(self, still: Open, put_off: frozenset[PromptId]) -> bool:
        """Prompts alone; the client's model is asked by calls of its own."""
        return bool(self._new(still, put_off))

    def _new(self, still: Open, put_off: frozenset[PromptId]) -> tuple[Prompt, ...]:
        return self._visit.showing.puttable(fresh(still, put_off), self._shape, opens=self._opens)

    async def put(self, still: Open, put_off: frozenset[PromptId]) -> Put:
        """The oldest prompt alone; the others have their turn."""
        prompt = self._new(still, put_off)[0]
        postponed: set[PromptId] = set()

        async def ask() -> None:
            if await pass_on(self._visit, prompt, await self._reply(prompt), channel="form"):
                postponed.add(prompt.id)

        await self._wire.show(prompt, put_off, ask)
        return self._wire.ended or LookAgain(put_off=frozenset(postponed))

    async def _reply(self, prompt: Prompt) -> Reply:
        visit = self._visit
        put_at = visit.clock()
        link = link_of(prompt) if self._opens else None
        schema = schema_of(prompt, titled=is_version_at_least(self._session.protocol_version, "2025-11-25"))
        with anyio.move_on_after(visit.timing.form_life):
            try:
                if link is not None:
                    visit.showing.given.give(link, prompt.id, self._session)
                    return read_opened(await self._session.elicit_url(message_of(prompt), link.url, prompt.id, self._request_id))
                result = await self._session.elicit_form(visit.showing.message(prompt), schema, self._request_id)
            except MCPError as error:
                if error.code in _NOT_AN_ANSWER:
                    return PutOff()
                return Unusable(reason="the client answered the form with an error")
            except ValidationError:
                return Unusable(reason="the client's answer is not one that a form can have")
            return read_reply(prompt, result, seconds=visit.clock() - put_at, reflex=visit.timing.reflex)
        return PutOff()
