"""What other MCP servers offer beside tools, read for a client through the same gate as a call: resources, prompts, and proposals for them.

No model calls these: they are found for root sessions alone, and under names that a client does not reach by `tools/call`. What a server
offers decides nothing; the permission is `<server>__resources` with the resource's own URI, `<server>__prompts` with the prompt's own name.
"""

from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from mcp_server.errors import ToolFailure
from mcp_server.parts import TextPart
from mcp_server.policy.silence import PROMPTS, RESOURCES, reads
from mcp_server.policy.values import PlainValue, Request
from mcp_server.sessions.toolset.foreign import whose_of
from mcp_server.sessions.toolset.person import Person
from mcp_server.sessions.work import SessionContext, SessionTool
from mcp_server.tools.base import SEPARATOR, Hints, ToolResult, ToolSpec
from mcp_server.tools.shelves import Errand, NotThere, Shelves, Wanted
from mcp_server.tools.uris import spellings

PROPOSALS = "proposals."
"""With a full stop, which no tool's name holds: none can be offered under it."""

NOT_THERE = {"problem": "not there"}

ROLES, DESCRIPTION, VALUES, TOTAL, MORE = "roles", "description", "values", "total", "more"
"""What the structured part of a prompt, and of proposals, is called by."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReadArguments(_Arguments):
    """What `Reading` takes."""

    uri: str
    """The server's own."""


class FillArguments(_Arguments):
    """What `Filling` takes."""

    name: str
    """The prompt's own."""
    arguments: dict[str, str] = {}


class ProposeArguments(_Arguments):
    """What `Proposing` takes."""

    kind: Literal["prompt", "template"]
    own: str
    argument: str
    begun: str
    others: dict[str, str] = {}


class Reading:
    """Reads one resource."""

    def __init__(self, server: str, shelves: Shelves) -> None:
        self._server = server
        self._shelves = shelves

    @property
    def spec(self) -> ToolSpec:
        return _spec(self._server, RESOURCES, ReadArguments)

    def requests(self, arguments: ReadArguments, context: SessionContext) -> tuple[Request, ...]:
        """One: the resource."""
        return (reading_request(self._server, arguments.uri),)

    async def run(self, arguments: ReadArguments, context: SessionContext) -> ToolResult:
        """Have its server give it."""
        try:
            parts = await self._shelves.read(_errand(self._server, context), arguments.uri)
        except NotThere as error:
            return _not_there(error)
        return ToolResult(parts=parts, structured={}, ran=_ran(self._server))


class Filling:
    """Gets one prompt, filled in."""

    def __init__(self, server: str, shelves: Shelves) -> None:
        self._server = server
        self._shelves = shelves

    @property
    def spec(self) -> ToolSpec:
        return _spec(self._server, PROMPTS, FillArguments)

    def requests(self, arguments: FillArguments, context: SessionContext) -> tuple[Request, ...]:
        """One: the prompt, with what it is filled in with for `when`."""
        return (_request(self._server, PROMPTS, arguments.name, arguments.arguments, f"a prompt of the MCP server `{self._server}`"),)

    async def run(self, arguments: FillArguments, context: SessionContext) -> ToolResult:
        """Have its server fill it in."""
        try:
            filled = await self._shelves.fill(_errand(self._server, context), arguments.name, arguments.arguments)
        except NotThere as error:
            return _not_there(error)
        structured = {DESCRIPTION: filled.description, ROLES: [message.role for message in filled.messages]}
        return ToolResult(parts=tuple(message.part for message in filled.messages), structured=structured, ran=_ran(self._server))


class Proposing:
    """Has a server propose what may be filled in: only where what that is for would be allowed without asking anybody."""

    def __init__(self, server: str, shelves: Shelves) -> None:
        self._server = server
        self._shelves = shelves

    @property
    def spec(self) -> ToolSpec:
        return _spec(self._server, PROPOSALS, ProposeArguments, by_ownership=True)

    def requests(self, arguments: ProposeArguments, context: SessionContext) -> tuple[Request, ...]:
        """None of its own."""
        return ()

    async def run(self, arguments: ProposeArguments, context: SessionContext) -> ToolResult:
        """Ask its server."""
        prompt = arguments.kind == "prompt"
        # No rule was written for a template: what is known of a resource so far is its part before the first blank.
        value = arguments.own if prompt else arguments.own.partition("{")[0]
        request = _request(self._server, PROMPTS if prompt else RESOURCES, value or "*", arguments.others if prompt else {}, "")
        if context.allowed is None or not context.allowed(request):
            raise ToolFailure("rules do not allow this without asking")
        wanted = Wanted(kind=arguments.kind, own=arguments.own, argument=arguments.argument, begun=arguments.begun, others=arguments.others)
        found = await self._shelves.propose(_errand(self._server, context), wanted)
        structured = {VALUES: list(found.values), TOTAL: found.total, MORE: found.more}
        return ToolResult(parts=(), structured=structured, ran=_ran(self._server))


_TOOLS = {RESOURCES: Reading, PROMPTS: Filling, PROPOSALS: Proposing}


def is_reader(name: str) -> bool:
    """Would it be one of these, where there is such a server? Costs no look at settings."""
    return name.partition(SEPARATOR)[2] in _TOOLS


def reader_named(name: str, servers: Collection[str], shelves: Shelves) -> SessionTool | None:
    """The one of that name, where there is such a server."""
    server, separator, kind = name.partition(SEPARATOR)
    made = _TOOLS.get(kind)
    return made(server, shelves) if made is not None and separator and server in servers else None


def _spec(server: str, kind: str, arguments: type[BaseModel], *, by_ownership: bool = False) -> ToolSpec:
    """Its structured part is promised so that nobody takes a call that still waits for one that has ended."""
    return ToolSpec(
        name=f"{server}{SEPARATOR}{kind}",
        title=f"{kind} ({server})",
        description="",
        arguments=arguments,
        hints=Hints(read_only=True, destructive=False),
        promises={"type": "object"},
        by_ownership=by_ownership,
        server=server,
    )


def reading_request(server: str, own: str) -> Request:
    """What reading a resource needs. `own`: the server's URI."""
    return _request(server, RESOURCES, own, {}, f"a resource of the MCP server `{server}`")


def _request(server: str, kind: str, value: str, arguments: Mapping[str, Any], note: str) -> Request:
    notes = (note,) if note else ()
    permission = f"{server}{SEPARATOR}{kind}"
    asked = read_value(permission, value) or PlainValue(text=value)
    return Request(permission=permission, values=(asked,), arguments=dict(arguments), notes=notes)


def read_value(permission: str, text: str) -> PlainValue | None:
    """The URI or the name that a reading is judged by. None: the permission is for no reading."""
    if not reads(permission):
        return None
    return PlainValue(text=text, forms=spellings(text) if permission.endswith(f"{SEPARATOR}{RESOURCES}") else ())


def _errand(server: str, context: SessionContext) -> Errand:
    return Errand(whose=whose_of(context.standing.session), server=server, ask=Person(context, server))


def _not_there(error: NotThere) -> ToolResult:
    return ToolResult(parts=(TextPart(text=str(error)),), structured=dict(NOT_THERE), failed=True)


def _ran(server: str) -> str:
    return f"by the MCP server {server}"
