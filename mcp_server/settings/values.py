"""Settings as the rest of Remit uses them: read, merged, checked and frozen.

Loaded anew when files may have changed; a value here never changes by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcp_server.errors import Fault
from mcp_server.policy.chain import Commons
from mcp_server.policy.values import Action, Mode, Rule
from mcp_server.settings.blocks import Source
from mcp_server.settings.folder import RemitFolder
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.schema import (
    AuditWish,
    Budget,
    ChannelName,
    Limits,
    Provider,
    Retention,
    Roles,
    RulingLimits,
    SandboxWish,
    WebFetch,
    Webhook,
    WebSearch,
)
from mcp_server.settings.trust import Trust
from mcp_server.settings.upstream import Upstream


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the command line says, as it was typed."""

    rules: tuple[tuple[Action, str], ...] = ()
    """`--allow/--ask/--deny` in the order on the line: the last match wins among them too."""
    mode: str | None = None
    agent: str | None = None
    model: str | None = None
    tools: str | None = None
    """Names with commas between; empty text: no tools."""
    private_hosts: tuple[str, ...] = ()
    """`--private-host`, each; none: nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTuning:
    """What settings say of one agent. None: nothing."""

    person: tuple[Rule, ...] = ()
    """The person's `agents.<name>.permission`, for `Member.rules` (at its end) and `Member.person`."""
    managed: tuple[Rule, ...] = ()
    """The operator's, for `Member.managed`."""
    model: str | None = None
    fallback: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    steps: int | None = None
    timeout: float | None = None
    on_parent_end: Literal["cancel", "keep"] | None = None
    disable: bool | None = None
    origin: str = ""
    """`file:line` that names it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRead:
    """One file that was found, for `doctor`."""

    source: Source
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that settings say for one workspace."""

    commons: Commons
    """The shared layers, their rules anchored."""
    command_line: tuple[Rule, ...]
    """The rules of the flags, which also end `commons.person`."""
    agents: Mapping[str, AgentTuning]
    team_rules: Mapping[str, tuple[Rule, ...]]
    """`gateway.teams.<name>.permission`, anchored."""
    people_rules: Mapping[str, tuple[Rule, ...]]
    """`gateway.people.<name>.permission`, anchored."""
    trust: Trust
    folder: RemitFolder
    """The workspace's `.remit` as it was read for these settings."""
    agent: str
    """Which agent a client's own calls run as."""
    mode: Mode
    """As chosen; `commons.max_mode` caps it where authority is derived."""
    model: str | None
    small_model: str | None
    model_fallback: str | None
    sampling: bool
    """May a client's own model be asked?"""
    tools: tuple[str, ...] | None
    """None: all; empty: none."""
    roles: Roles
    providers: Mapping[str, Provider]
    credential_key_file: str | None
    upstreams: Mapping[str, Upstream]
    """`mcpServers`, without those that are disabled."""
    limits: Limits
    session_budget: Budget
    tree_budget: Budget
    retention: Retention
    rulings: RulingLimits
    audit: AuditWish
    webfetch: WebFetch
    websearch: WebSearch | None
    sandbox: SandboxWish
    channels: tuple[ChannelName, ...]
    """By what prompts may be answered, at least one, and what else tells of them."""
    webhook: Webhook | None
    """Never None where it is among the channels."""
    gateway: Gateway | None
    """None: HTTP is for this machine's own programs."""
    called: frozenset[str]
    """What a gateway's settings call this workspace, as its folders led when they were read."""
    origins: Mapping[str, str]
    """Key, with dots, to `file:line` or flag, for single values that somebody set."""
    sources: tuple[SourceRead, ...]
    """What was read, weakest first."""
    notices: tuple[Fault, ...]
    """What a person should know although nothing is wrong enough to stop: values not read, locked, not trusted."""

    def tuning(self, agent: str) -> AgentTuning:
        """What settings say of an agent; nothing, where they do not name it."""
        return self.agents.get(agent, AgentTuning())

    def model_for(self, own: str | None, *, hidden: bool) -> str | None:
        """The model of an agent whose definition and tuning say `own`. None: none is configured."""
        return own or (self.small_model if hidden else None) or self.model
