"""What Remit tells of itself while it works: spans and numbers. Never a part of any decision, and never the record: that is the audit.

Passed as a value. `SILENT` is the default and costs next to nothing; `recorder` tells it through OpenTelemetry. Nothing here may raise.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from mcp_server.policy.values import ToolCall
from mcp_server.records import AuditEvent, Ending, Prompt, RunRecord, RunState, SessionRecord, Usage

Scrape = Callable[[str], tuple[bytes, str]]
"""The numbers as Prometheus reads them, and their media type, from what a request's `Accept` says. Blocks a little."""


class Advancing(Protocol):
    """A run is acting."""

    @property
    def trace(self) -> str:
        """Its own place, for what hangs below it: W3C `traceparent`. Empty: there is none. The same goes for the others here."""
        ...

    def rests(self, state: RunState) -> None:
        """What it came to for now."""
        ...


class Deciding(Protocol):
    """The gate is deciding about a call."""

    @property
    def trace(self) -> str: ...

    def decided(self, event: AuditEvent) -> None:
        """It has, and this is written down."""
        ...


class Executing(Protocol):
    """A tool is at work."""

    @property
    def trace(self) -> str: ...

    def came_to(self, ending: Ending | None) -> None:
        """How it ended. None: it waits for a person or a child."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelName:
    """A model as it is told: no path of a file, no address."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTold:
    """One turn of a model that is over."""

    session_id: str
    agent: str
    asked: ModelName
    answered: ModelName | None
    """None: nobody did."""
    began: int
    """Nanoseconds since the epoch."""
    usage: Usage
    error: str = ""
    """The class of what went wrong; empty: nothing did."""
    trace: str = ""
    """What it hangs below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTold:
    """One request at a gateway that is over. Nothing of it names a person."""

    http_method: str
    route: str
    status: int | None
    """None: the client hung up before it was answered."""
    seconds: float
    method: str
    """Of MCP; empty: none was read. `tool` likewise."""
    tool: str
    team: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitTold:
    """A limit of a gateway's settings was reached, and something was refused."""

    limit: str
    """Its key in the settings."""
    shared_by: str
    """`person` or `team`."""
    team: str
    """Empty: of none."""


class Telemetry(Protocol):
    """Where it is told."""

    @property
    def on(self) -> bool:
        """Whether anybody listens: what costs something to put together need not be otherwise."""
        ...

    def here(self) -> str:
        """The place of the request that is being answered: its span is the SDK's own, below that of its client where it sent one."""
        ...

    def advance(self, session: SessionRecord, run: RunRecord, path: Sequence[str]) -> AbstractContextManager[Advancing]: ...
    def decision(self, session: SessionRecord, call: ToolCall, trace: str) -> AbstractContextManager[Deciding]: ...
    def execution(self, session: SessionRecord, call: ToolCall, trace: str) -> AbstractContextManager[Executing]: ...
    def prompt(self, prompt: Prompt, tool: str, at: float) -> None:
        """It is open no more, since `at`. Told once."""
        ...

    def turn(self, told: TurnTold) -> None: ...
    def ended(self, session: SessionRecord, run: RunRecord) -> None:
        """The run has come to its end. Told once."""
        ...

    def request(self, told: RequestTold) -> None: ...
    def limited(self, told: LimitTold) -> None: ...
    def open_prompts(self, count: Callable[[], int]) -> None:
        """How many prompts are open is read from there, from another thread, until telemetry ends."""
        ...


class Nothing:
    """Stands for each of the above where nobody listens. One for all of them: it keeps nothing."""

    trace = ""

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        return None

    def rests(self, state: RunState) -> None: ...
    def decided(self, event: AuditEvent) -> None: ...
    def came_to(self, ending: Ending | None) -> None: ...


NOTHING = Nothing()


class Silent:
    """Nobody listens."""

    on = False

    def here(self) -> str:
        return ""

    def advance(self, session: SessionRecord, run: RunRecord, path: Sequence[str]) -> Nothing:
        return NOTHING

    def decision(self, session: SessionRecord, call: ToolCall, trace: str) -> Nothing:
        return NOTHING

    def execution(self, session: SessionRecord, call: ToolCall, trace: str) -> Nothing:
        return NOTHING

    def prompt(self, prompt: Prompt, tool: str, at: float) -> None: ...
    def turn(self, told: TurnTold) -> None: ...
    def ended(self, session: SessionRecord, run: RunRecord) -> None: ...
    def request(self, told: RequestTold) -> None: ...
    def limited(self, told: LimitTold) -> None: ...
    def open_prompts(self, count: Callable[[], int]) -> None: ...


SILENT = Silent()
