"""A client of Remit's own making: the SDK's client over stdio, in whatever era the two agree on. For `remit demo`.

It declares forms, and hands each to a function that answers as the person would.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent

CALL_SECONDS = 700.0
"""For one answer: longer than a person has for a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer that a form offers."""

    value: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form as it is put before the person."""

    message: str
    choices: tuple[Choice, ...]


OnForm = Callable[[Form], Awaitable[str | None]]
"""Gives the value chosen; None: the person closed the form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a call came to."""

    text: str
    structured: Mapping[str, Any]
    is_error: bool


class Visit:
    """One connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def era(self) -> str:
        """The protocol version on the wire."""
        return str(self._client.protocol_version)

    async def tools(self) -> tuple[str, ...]:
        """The names of the server's tools."""
        return tuple(tool.name for tool in (await self._client.list_tools()).tools)

    async def call(self, tool: str, **arguments: Any) -> Said:
        """Call a tool and wait for its result, forms included."""
        result = await self._client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        return Said(text=text, structured=result.structured_content or {}, is_error=bool(result.is_error))


@asynccontextmanager
async def visit(command: Sequence[str], environment: Mapping[str, str], on_form: OnForm) -> AsyncGenerator[Visit]:
    """Start a server and connect to it."""

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        if not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="decline")
        chosen = await on_form(Form(message=params.message, choices=_choices(params.requested_schema)))
        return ElicitResult(action="cancel") if chosen is None else ElicitResult(action="accept", content={"decision": chosen})

    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(environment))
    async with Client(server, mode="auto", elicitation_callback=elicit, read_timeout_seconds=CALL_SECONDS) as client:
        yield Visit(client)


def _choices(schema: Mapping[str, Any]) -> tuple[Choice, ...]:
    offered = schema.get("properties", {}).get("decision", {}).get("oneOf", [])
    return tuple(Choice(value=str(one["const"]), title=str(one["title"])) for one in offered)
