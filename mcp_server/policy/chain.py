"""From a chain of sessions to the authority that its last one has.

Nothing is copied from one session's list into another's: an ancestor is heard as a whole layer, evaluated, live.
"""

from dataclasses import dataclass

from mcp_server.policy.values import Layer, Mode, Rule
from mcp_server.policy.verdicts import Ruling, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One session of a chain, as policy sees it."""

    session_id: SessionId
    agent: str
    rules: tuple[Rule, ...]
    """Its own definition's permission, then the person's `agents.<name>.permission`."""
    person: tuple[Rule, ...] = ()
    """The person's `agents.<name>.permission`, which also ends the person layer."""
    managed: tuple[Rule, ...] = ()
    """The operator's `agents.<name>.permission`, which also ends the managed layer."""
    mode: Mode | None = None
    """What it asks for; None: its parent's."""
    may_ask: bool = True
    """False: `prompts: deny`; what would ask is denied."""
    narrowed: tuple[str, ...] | None = None
    """The tools that `task(tools=[...])` left it; None: not narrowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commons:
    """What every session of a server shares: the layers that do not depend on the agent."""

    workspace: str
    """Absolute, resolved."""
    managed: tuple[Rule, ...] = ()
    person: tuple[Rule, ...] = ()
    """User settings, then local settings, then the command line, in this order."""
    project: tuple[Rule, ...] = ()
    project_trusted: bool = False
    guard: tuple[Rule, ...] = ()
    primary_tools: tuple[str, ...] = ()
    max_mode: Mode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """All that one decision reads. Made afresh for each, never kept."""

    layers: tuple[Layer, ...]
    mode: Mode
    may_ask: bool
    rulings: tuple[Ruling, ...]
    """The allow rulings that can reach this session. Denials are a layer."""
