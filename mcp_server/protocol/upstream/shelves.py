"""What the other servers of a deployment offer beside tools. See `tools.shelves.Shelves`, which this is."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol, TypeVar

import anyio
import structlog
from mcp_types import PromptReference, ResourceTemplateReference

from mcp_server.errors import ToolFailure
from mcp_server.parts import BytesResource, TextResource
from mcp_server.protocol.upstream.cleaning import cleaned, in_line
from mcp_server.protocol.upstream.link import Link, Request
from mcp_server.protocol.upstream.results import LARGEST_BYTES, contents, parts_of
from mcp_server.protocol.upstream.standing import KEPT_SECONDS, Standing
from mcp_server.protocol.upstream.watches import Watched, Watches
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.foreign import News, Whose
from mcp_server.tools.shelves import Errand, Filled, Message, Proposals, Shelf, Wanted

log = structlog.get_logger("upstream")

MOST_CONTENTS = 100
"""Of one reading."""

MOST_MESSAGES = 200
MOST_VALUES = 100
"""As the protocol has it."""

LONGEST_VALUE = 500

T = TypeVar("T")


class Reach(Protocol):
    """How servers are reached."""

    @property
    def configs(self) -> Mapping[str, Upstream]:
        """As settings have them now."""
        ...

    def open_link(self, name: str, config: Upstream, whose: Whose) -> Link | None:
        """A connection that can be used now. None: there is none, and none is made."""
        ...

    async def linked(self, name: str, config: Upstream, whose: Whose) -> Link:
        """A connection. Raises `ToolFailure`."""
        ...

    async def standing(self, name: str, config: Upstream, whose: Whose) -> Standing: ...


class OtherShelves:
    """See `Shelves`."""

    def __init__(self, reach: Reach, news: News) -> None:
        self._reach = reach
        self.watches = Watches(reach, news)

    async def every(self, whose: Whose) -> tuple[Shelf, ...]:
        found: dict[str, Shelf] = {}

        async def ask(name: str) -> None:
            try:
                shelf = await self.shelf(whose, name)
            except Exception:  # one server must not take everybody's away
                log.exception("what a server offers could not be had", server=name)
            else:
                if shelf is not None:
                    found[name] = shelf

        names = tuple(self._reach.configs)
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(ask, name)
        return tuple(found[name] for name in names if name in found)

    async def shelf(self, whose: Whose, server: str) -> Shelf | None:
        config = self._reach.configs.get(server)
        if config is None:
            return None
        standing = await self._reach.standing(server, config, whose)
        link = self._reach.open_link(server, config, whose)
        with suppress(ToolFailure), anyio.move_on_after(None if standing.shelf is None else KEPT_SECONDS):
            if link is None and not standing.shelved:
                link = await self._reach.linked(server, config, whose)
            if link is not None:
                standing.set_shelf(await link.shelf())
        return standing.shelf

    async def read(self, errand: Errand, own: str) -> tuple[TextResource | BytesResource, ...]:
        result = await self._asked(
            errand,
            lambda client, _call, responses, state: client.session.read_resource(
                own, input_responses=responses, request_state=state, allow_input_required=True
            ),
        )
        if len(result.contents) > MOST_CONTENTS:
            raise ToolFailure(f"`{errand.server}` gave {len(result.contents)} resources for one; {MOST_CONTENTS} are passed on at most")
        room, found = LARGEST_BYTES, list[TextResource | BytesResource]()
        for one in result.contents:
            part = contents(one, errand.server)
            if not isinstance(part, TextResource | BytesResource):
                raise ToolFailure(f"what `{errand.server}` gave cannot be passed on: {in_line(getattr(part, 'text', ''), 300)}")
            room -= len(part.text) if isinstance(part, TextResource) else len(part.data)
            if room < 0:
                raise ToolFailure(f"the resource is larger than {LARGEST_BYTES:,} bytes, and is not passed on")
            found.append(part)
        return tuple(found)

    async def fill(self, errand: Errand, own: str, blanks: Mapping[str, str]) -> Filled:
        result = await self._asked(
            errand,
            lambda client, _call, responses, state: client.session.get_prompt(
                own, dict(blanks), input_responses=responses, request_state=state, allow_input_required=True
            ),
        )
        if len(result.messages) > MOST_MESSAGES:
            raise ToolFailure(f"`{errand.server}` gave {len(result.messages)} messages; {MOST_MESSAGES} are passed on at most")
        parts = parts_of([message.content for message in result.messages], errand.server)
        if sum(len(getattr(part, "text", "")) for part in parts) > LARGEST_BYTES:
            raise ToolFailure(f"the prompt is larger than {LARGEST_BYTES:,} bytes, and is not passed on")
        messages = tuple(Message(role=message.role, part=part) for message, part in zip(result.messages, parts, strict=True))
        return Filled(description=in_line(result.description or "", LONGEST_VALUE), messages=messages)

    async def propose(self, errand: Errand, wanted: Wanted) -> Proposals:
        prompt = wanted.kind == "prompt"
        ref = PromptReference(name=wanted.own) if prompt else ResourceTemplateReference(uri=wanted.own)
        given = {"name": wanted.argument, "value": wanted.begun}
        result = await self._asked(
            errand, lambda client, _call, _responses, _state: client.session.complete(ref, given, dict(wanted.others) or None)
        )
        said = result.completion
        # A value that is changed on its way would fill in something else.
        fit = [value for value in said.values[:MOST_VALUES] if value == cleaned(value) and len(value) <= LONGEST_VALUE]
        return Proposals(values=tuple(fit), total=said.total, more=bool(said.has_more))

    async def watch(self, whose: Whose, server: str, own: str) -> Watched:
        return await self.watches.begin(whose, server, own)

    async def _asked(self, errand: Errand, send: Request[T]) -> T:
        config = self._reach.configs.get(errand.server)
        if config is None:
            raise ToolFailure(f"there is no server `{errand.server}` any more")
        link = await self._reach.linked(errand.server, config, errand.whose)
        return await link.request(errand.whose, errand.ask, send, reading=True)
