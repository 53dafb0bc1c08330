"""Tools of other MCP servers, as this side of the protocol sees them. How those servers are reached is not known here.

What a server says of its tools is content: it is shown to whoever asks for it, marked as the server's, and decides nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp_server.records import Part
from mcp_server.tools.base import Anything, Hints, Step, ToolSpec
from mcp_server.tools.hearing import Hearer
from mcp_server.tools.news import News
from mcp_server.tools.shelves import NoShelves, Shelves
from mcp_server.tools.whose import Asking, Whose


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """It is not what it was when it was pinned: when a person was first asked about it, or it was last allowed."""

    difference: str
    """A unified diff of what its server says of it, bounded; of characters that show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTool:
    """One tool of one server, as the server said it last."""

    server: str
    """By the settings' name."""
    own_name: str
    """As its server calls it."""
    name: str
    """As it is offered here; its permission too."""
    title: str
    description: str
    """The server's own, bounded, marked as its own."""
    schema: Mapping[str, Any] = field(hash=False)
    """Of the arguments: JSON Schema, an object."""
    hints: Hints
    """The server's claims."""
    output: Mapping[str, Any] | None = field(default=None, hash=False)
    """Of structured content: JSON Schema, an object. A claim. None: it makes none."""
    digest: str
    """Of all that its server says of it; another digest is another tool."""
    said: Mapping[str, Any] = field(hash=False, repr=False)
    """All that its server says of it, as the protocol has it."""
    pinned: bool = False
    """It is as it was when it was pinned."""
    changed: Changed | None = None
    """None: it is as it was when it was pinned, or it never was."""

    @property
    def spec(self) -> ToolSpec:
        """How it presents itself."""
        return ToolSpec(
            name=self.name,
            title=self.title,
            description=self.description,
            arguments=Anything,
            hints=self.hints,
            foreign=self.schema,
            promises=self.output,
            server=self.server,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One call that the gate let through."""

    whose: Whose
    tool: ForeignTool
    arguments: Mapping[str, Any]
    progress: Callable[[Step], Awaitable[None]]
    hearer: Hearer
    """Who hears what its server says meanwhile."""
    ask: Asking


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What a server gave back. Its texts hold no control characters."""

    parts: tuple[Part, ...]
    structured: dict[str, Any] | None
    failed: bool
    """By the server's own word."""


class Upstreams(Protocol):
    """All other servers of a deployment."""

    def open(self) -> AbstractAsyncContextManager[None]:
        """They can be reached inside; leaving ends all that was started for them."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Those that settings name now."""
        ...

    @property
    def news(self) -> News:
        """That what they offer may have changed."""
        ...

    @property
    def shelves(self) -> Shelves:
        """What they offer beside tools."""
        ...

    async def tools(self, whose: Whose) -> tuple[ForeignTool, ...]:
        """What all of them offer, as far as that can be had within the bounds of each; one that fails offers what it did last."""
        ...

    async def tool(self, whose: Whose, name: str) -> ForeignTool | None:
        """One, by the name that is offered here. None: there is none, or its server cannot be reached and never was."""
        ...

    async def asked(self, whose: Whose, tool: ForeignTool) -> None:
        """A person is asked about a call of it: pin it as it stands, where it is not pinned yet, so that whatever its server says of it
        next is asked about again. Raises `StoreError`.
        """
        ...

    async def call(self, order: Order) -> Received:
        """Have the server do it, once.

        Raises:
            ToolFailure: It was not done, or the server says that it failed to be taken.
            OutcomeUnknown: It was sent, and nothing says what became of it.
        """
        ...

    def notices(self, principal: str) -> tuple[str, ...]:
        """What is wrong with any of them now, a line each, for whoever uses them."""
        ...

    @property
    def roots(self) -> frozenset[str]:
        """The root sessions for which something is started."""
        ...

    def left(self, root: str) -> None:
        """The root session is over: what was started for it may end."""
        ...


class NoUpstreams:
    """There are none."""

    names: tuple[str, ...] = ()
    roots: frozenset[str] = frozenset()
    shelves: Shelves = NoShelves()
    news = News()

    def open(self) -> AbstractAsyncContextManager[None]:
        """See `Upstreams`. So with the others."""
        return nullcontext()

    async def tools(self, whose: Whose) -> tuple[ForeignTool, ...]:
        return ()

    async def tool(self, whose: Whose, name: str) -> ForeignTool | None:
        return None

    async def asked(self, whose: Whose, tool: ForeignTool) -> None:
        raise NotImplementedError

    async def call(self, order: Order) -> Received:
        raise NotImplementedError

    def notices(self, principal: str) -> tuple[str, ...]:
        return ()

    def left(self, root: str) -> None:
        """Nothing was started."""
