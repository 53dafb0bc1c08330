"""An agent as data. Not a session: nothing here runs, and no code knows an agent by its name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from mcp_server.errors import Fault
from mcp_server.policy.values import Mode, Rule

AgentMode = Literal["primary", "subagent", "all"]
Where = Literal["package", "user", "workspace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """One agent: its front matter, and the body as its prompt. None in a field: nothing is said."""

    name: str
    description: str
    """When to send it, for a model and for people."""
    mode: AgentMode = "all"
    """`primary`: a root may run as it; `subagent`: `task` may send it; `all`: both."""
    permission: tuple[Rule, ...] = ()
    """Its own rules, in the order written, anchored at the workspace. The person's rules for it are the settings'."""
    tools: tuple[str, ...] | None = None
    """What its model is shown. None: what the rules do not wholly deny; empty: nothing."""
    model: str | None = None
    """`provider:model`, settings for this agent included."""
    fallback: str | None = None
    """The model that answers where `model` fails for good; None: the settings'."""
    temperature: float | None = None
    top_p: float | None = None
    steps: int | None = None
    """Model turns of one run."""
    timeout: float | None = None
    """Seconds of one run."""
    hidden: bool = False
    """Not offered to models, nor as a root; for the server's own small jobs."""
    color: str | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """For the model's provider, as it names them."""
    permission_mode: Mode | None = None
    """The mode that its sessions ask for; the stricter of this and the caller's holds."""
    prompts: Literal["bubble", "deny"] = "bubble"
    """`deny`: nobody is disturbed, an ask is a deny."""
    background: bool = False
    """`task` runs it in the background unless the call says otherwise."""
    on_parent_end: Literal["cancel", "keep"] = "cancel"
    """What becomes of it when its caller's run has ended and it has not. A caller that is cancelled takes it along in any case."""
    prompt: str
    source: str
    """Its file, for people; says so where it replaces the package's."""
    where: Where


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSet(Mapping[str, AgentDefinition]):
    """The agents of one workspace by name, hidden ones too, disabled ones left out."""

    by_name: Mapping[str, AgentDefinition]
    notices: tuple[Fault, ...] = ()
    """What a person should know: definitions that were found and not loaded, settings that name nobody."""

    def __getitem__(self, name: str) -> AgentDefinition:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)
