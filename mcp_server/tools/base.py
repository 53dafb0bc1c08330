"""What a tool is: what it would need, and what it does. Not whether it may: that is the gate's.

`requests` says what a call needs, before anything happens; `run` is called only after the gate said ALLOW.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from mcp_server.policy.values import AskRef, PathValue, Request
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import Part
from mcp_server.sandbox.derive import Approval
from mcp_server.sandbox.enclosing import Enclosure
from mcp_server.store.protocol import Store
from mcp_server.tools.hearing import Deaf, Hearer
from mcp_server.tools.schemas import json_schema

SEPARATOR = "__"
"""Between a server's name and its tool's, where the tool is another MCP server's. No name of a tool of Remit's own holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """MCP tool annotations: claims for hosts, never a ground for a decision."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """How a tool presents itself."""

    name: str
    """`^[a-zA-Z0-9_-]{1,40}$`."""
    title: str
    description: str
    """Under 2 KB; written for a model."""
    arguments: type[BaseModel]
    hints: Hints
    output: type[BaseModel] | None = None
    """The shape of structured content, where there is one."""
    unfinished: Mapping[str, Any] | None = None
    """Structured content of a call that goes on without the request that made it. None: such a result is told as an error, as a client
    that was promised a shape takes no other success.
    """
    waits: bool = False
    """It waits for somebody rather than works: it takes no place among the tools that may run at once."""
    by_ownership: bool = False
    """It needs no permission: it reaches only what is its caller's own. Any other tool must raise a request."""
    outlasts: bool = False
    """Its calls take longer than a request can stay: a client that takes a handle for the result is given one at once."""
    foreign: Mapping[str, Any] | None = None
    """The schema of its arguments where another server wrote it; None: that of `arguments`."""
    promises: Mapping[str, Any] | None = None
    """The schema of structured content where another server wrote it: a claim that nobody here checks."""
    server: str = ""
    """The server that it is a tool of; empty: Remit itself."""

    def schema(self) -> dict[str, Any]:
        """Of its arguments."""
        return json_schema(self.arguments) if self.foreign is None else dict(self.foreign)


class Anything(BaseModel):
    """What a tool of another server takes is known to that server, which checks it."""

    model_config = ConfigDict(extra="allow")


def bare(name: str) -> ToolSpec:
    """Another server's tool of which nothing but its name is known, as of a call that was made when there was more to know."""
    whose, schema = name.partition(SEPARATOR)[0], {"type": "object"}
    return ToolSpec(name=name, title=name, description="", arguments=Anything, hints=Hints(), foreign=schema, server=whose)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How far something is that takes a while."""

    text: str = ""
    """For people, in one line. Empty: the numbers say it all."""
    done: float | None = None
    """How much is done, in whatever is counted; None: nothing is counted."""
    total: float | None = None
    """How much there is to do; None: nobody knows."""

    @property
    def words(self) -> str:
        """All of it, where there is room for nothing but text."""
        if self.done is None:
            return self.text
        of = f"{self.done:g} of {self.total:g}" if self.total else f"{self.done:g}"
        return f"{of}: {self.text}" if self.text else of


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool is lent for one call."""

    session_id: SessionId
    session_path: tuple[str, ...]
    workspace: Path
    """Absolute, resolved. Relative paths of arguments are taken from here."""
    outputs: Path
    """A folder of this session alone (0700, made when first needed) for output too long to show."""
    store: Store
    """For the session's own small state: `store.state(session_id, key)`."""
    readable: Callable[[Sequence[PathValue]], Sequence[bool]]
    """For each file: would `read` be allowed now without asking anybody?"""
    progress: Callable[[Step], Awaitable[None]]
    """Tell the caller that work goes on."""
    environment: Mapping[str, str]
    """What child processes get: a short list of harmless variables, no secrets."""
    hearer: Hearer = field(default_factory=Deaf)
    """Who hears log messages of whoever does the work."""
    closings: Callable[[str, Sequence[PathValue]], Sequence[frozenset[str]]] | None = None
    """For each path, the denies and asks that rules say of it under this permission, whatever a person ruled since.
    None: nobody can say."""
    allowed: Callable[[Request], bool] | None = None
    """Would this be allowed now without asking anybody? None: nobody can say."""
    enclose: Callable[[Approval], Enclosure] | None = None
    """What a line of shell runs in, as the rules stand now. None: nobody can say, and no line runs."""
    lifted: frozenset[AskRef] = frozenset()
    """The asks that a person lifted for this call as a whole."""
    in_person: bool = False
    """A person was shown this very call, and allowed it."""
    judged: tuple[Request, ...] = ()
    """What the gate let through, exactly as `requests` returned it. `run` compares it with what the call comes to now,
    so that a link swapped in between is not followed; a call that was not judged does not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gives back."""

    parts: tuple[Part, ...]
    structured: dict[str, Any] | None = None
    failed: bool = False
    """The tool ran and says that what was asked did not succeed; not a refusal."""
    ran: str = ""
    """What held it while it ran, in a few words for the audit; empty: nothing had to."""


class Tool(Protocol):
    """One built-in tool. `arguments` is an instance of `spec.arguments`, validated by the gate."""

    @property
    def spec(self) -> ToolSpec: ...

    def requests(self, arguments: Any, context: ToolContext) -> tuple[Request, ...]:
        """Every permission the call needs, with its values. Reads the file system (links), changes nothing.

        Raises:
            ToolFailure: The arguments make no sense (a path with NUL, an empty command).
        """
        ...

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        """Do it. Cancellation ends everything that it started.

        Raises:
            ToolFailure: With a text the model can act on.
        """
        ...
