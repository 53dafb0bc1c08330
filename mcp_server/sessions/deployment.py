"""What every part of the sessions room is lent: the store, the clock, the rules, the tools, the models.

Made once in the composition root and passed as an argument; nothing here changes while it is held,
except that the rulebook answers from the files as they are now.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_server.sandbox.enclosing import Enclosing
from mcp_server.sessions.book import Rulebook
from mcp_server.sessions.heralds import Herald, Silent
from mcp_server.sessions.models.base import ModelBackend
from mcp_server.sessions.models.client import ClientModel
from mcp_server.sessions.ways import Ways
from mcp_server.store.protocol import Store
from mcp_server.telemetry.base import SILENT, Telemetry
from mcp_server.tools.background import Background
from mcp_server.tools.foreign import NoUpstreams, Upstreams
from mcp_server.tools.web.reach import Web


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be used up before a person is asked. None: any amount. The names are those of `store.spent.Spent`."""

    tokens: int | None = None
    cost: float | None = None
    """US dollars."""
    steps: int | None = None
    seconds: float | None = None
    """Of working time."""
    prompts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on what one tree may use. Times in seconds."""

    depth: int = 2
    """How far below a root a session may stand."""
    children: int = 8
    """Unfinished children of one session at once."""
    model_calls: int = 16
    """Model turns that are asked for at once, by one process."""
    tool_calls: int = 32
    """Tools that run at once, in one process."""
    steps: int = 50
    """Model turns of one run, where its definition names no number."""
    run_seconds: float = 1800.0
    """Working time of one run, waiting left out, where its definition names none."""
    run_tokens: int = 2_000_000
    """Input and output tokens of one run."""
    session_budget: Budget = field(default_factory=Budget)
    """Of one session, over all its runs."""
    tree_budget: Budget = field(default_factory=Budget)
    """Of everything below one root."""
    context_tokens: int | None = None
    """Tokens that a model is given at most, where that is less than what is known of it."""
    prompt_seconds: float = 600.0
    """How long a person has, once a prompt is shown."""
    once_seconds: float = 600.0
    """How long an `allow once` waits to be used."""
    allow_seconds: float = 12 * 3600.0
    """How long any other allow of a person's stands at most: a working day."""
    unasked_seconds: float = 86400.0
    """How long a run waits for a turn of the client's own model: a client that is closed may be back the next day."""
    unshown_seconds: float = 7 * 86400.0
    """How long a prompt that nobody was shown stays open: a background job may wait days for a person."""
    foreign_seconds: float = 12 * 3600.0
    """How long another server is kept waiting for a person to whom nobody could show what it asks: its call is under way meanwhile."""
    inline_characters: int = 20_000
    """A longer result of a child is saved whole and previewed."""
    lease_seconds: float = 30.0
    """A process that has not renewed its lease for so long may be taken for dead."""
    root_silence_seconds: float = 12 * 3600.0
    """A shared root ends after so much silence."""
    ruling_silence_seconds: float = 3600.0
    """A shared root's `session` rulings end after so much silence."""


Told = Callable[[Mapping[str, Any]], str]
"""A call's arguments as the audit holds them beside their digest; empty where it holds none."""


def _nothing(_arguments: Mapping[str, Any]) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One process's wiring."""

    store: Store
    clock: Callable[[], float]
    """Seconds since the epoch."""
    steady: Callable[[], float] = time.monotonic
    """Seconds that only go forward, from any beginning: for working time, leases and looking again, which no set clock may stretch."""
    rulebook: Rulebook
    backend: ModelBackend
    limits: Limits
    outputs: Path
    """The folder under which each session gets one of its own for saved output."""
    environment: Mapping[str, str]
    owner: str
    """This process's name in leases; another one each start."""
    workspaces: Sequence[str]
    """The workspaces whose runs this process advances."""
    enclosing: Enclosing | None = None
    """Draws what lines of shell run in. None: no line runs."""
    asks: ClientModel = field(default_factory=ClientModel)
    """The turns that a client's own model is asked for; `backend` opens them."""
    background: Background = field(default_factory=Background)
    """Lines of shell that go on in the background."""
    web: Web = field(default_factory=Web)
    """How its tools reach the web."""
    upstreams: Upstreams = field(default_factory=NoUpstreams)
    """Other MCP servers, whose tools it offers too."""
    telemetry: Telemetry = SILENT
    """Told of what happens; decides nothing."""
    tools: tuple[str, ...] | None = None
    """`--tools`: the names this deployment has; None: all."""
    herald: Herald = field(default_factory=Silent)
    """Told of each prompt."""
    ways: Ways = field(default_factory=Ways)
    """By what a person can answer."""
    arguments_told: Told = _nothing
