"""What other MCP servers offer beside tools: resources, templates of their addresses, and prompts. As `foreign` is for tools.

All of it is content: shown to whoever asks for it, marked as its server's, and it decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from mcp_server.errors import ToolFailure
from mcp_server.parts import BytesResource, Marks, Part, TextResource
from mcp_server.tools.whose import Asking, Whose


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignResource:
    """One resource, as its server lists it."""

    uri: str
    """As it is offered here."""
    name: str
    title: str
    description: str
    """The server's own, bounded, marked as its own. So with the others."""
    media_type: str
    """Empty: nobody says."""
    size: int | None
    marks: Marks | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTemplate:
    """A form that addresses of its resources may have."""

    template: str
    """As it is offered here: RFC 6570."""
    name: str
    title: str
    description: str
    media_type: str
    marks: Marks | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blank:
    """What a prompt is filled in with."""

    name: str
    title: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPrompt:
    """One prompt."""

    name: str
    """As it is offered here."""
    own_name: str
    title: str
    description: str
    blanks: tuple[Blank, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """What one server offers beside its tools."""

    server: str
    resources: tuple[ForeignResource, ...] = ()
    templates: tuple[ForeignTemplate, ...] = ()
    prompts: tuple[ForeignPrompt, ...] = ()
    readable: bool = False
    """It has resources, listed or not."""
    completes: bool = False
    """It proposes what may be filled in."""
    left_out: tuple[str, ...] = ()
    """What of it cannot be offered, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One reading that the gate let through."""

    whose: Whose
    server: str
    ask: Asking


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a prompt."""

    role: Literal["user", "assistant"]
    part: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A prompt with what it was filled in with."""

    description: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be filled in."""

    kind: Literal["prompt", "template"]
    own: str
    """The prompt's own name, or the template as its server has it."""
    argument: str
    begun: str
    """What is there already."""
    others: Mapping[str, str]
    """What is filled in elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """What may be filled in."""

    values: tuple[str, ...] = ()
    total: int | None = None
    more: bool = False


class Watched(Protocol):
    """One resource of which news is told."""

    @property
    def changes(self) -> int:
        """How often it may have changed. Grows."""
        ...

    def end(self) -> None:
        """Nobody wants to know any more."""
        ...


class NotThere(ToolFailure):
    """The server knows no such resource or prompt."""


class Shelves(Protocol):
    """What all other servers of a deployment offer beside tools."""

    async def every(self, whose: Whose) -> tuple[Shelf, ...]:
        """Of all of them, as far as that can be had within the bounds of each; one that fails offers what it did last."""
        ...

    async def shelf(self, whose: Whose, server: str) -> Shelf | None:
        """Of one. None: there is no such server, or it cannot be reached and never was."""
        ...

    async def read(self, errand: Errand, own: str) -> tuple[TextResource | BytesResource, ...]:
        """What a resource holds. `own`: as its server calls it.

        Raises:
            NotThere: There is none.
            ToolFailure: It cannot be had.
        """
        ...

    async def fill(self, errand: Errand, own: str, blanks: Mapping[str, str]) -> Filled:
        """A prompt. Raises as `read`."""
        ...

    async def propose(self, errand: Errand, wanted: Wanted) -> Proposals:
        """What may be filled in. Raises as `read`."""
        ...

    async def watch(self, whose: Whose, server: str, own: str) -> Watched:
        """Have news of a resource, over lost connections too, until it is ended. `News.after` wakes whoever waits for it.

        Raises:
            ToolFailure: None will come.
        """
        ...


class NoShelves:
    """There are none. See `Shelves`."""

    async def every(self, whose: Whose) -> tuple[Shelf, ...]:
        return ()

    async def shelf(self, whose: Whose, server: str) -> Shelf | None:
        return None

    async def read(self, errand: Errand, own: str) -> tuple[TextResource | BytesResource, ...]:
        raise NotImplementedError

    async def fill(self, errand: Errand, own: str, blanks: Mapping[str, str]) -> Filled:
        raise NotImplementedError

    async def propose(self, errand: Errand, wanted: Wanted) -> Proposals:
        raise NotImplementedError

    async def watch(self, whose: Whose, server: str, own: str) -> Watched:
        raise NotImplementedError
