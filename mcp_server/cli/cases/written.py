"""Case files as people write them. Shapes only; what a case comes to is `running`.

The kind of a case is told by its keys. A key that no kind knows is a fault: a case that is not read is no test.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.policy.values import Mode, Reach
from mcp_server.policy.verdicts import Step

Word = Literal["allow", "ask", "deny"]
Source = Literal["managed", "user", "local", "cli", "project", "agent"]


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RepeatedValue(_Written):
    """A long text, spelt short."""

    unit: str
    times: Annotated[int, Field(ge=0, le=1_000_000)]
    end: str = ""


class WildcardCase(_Written):
    """Does the pattern match?"""

    name: str | None = None
    pattern: str
    value: str | None = None
    repeat: RepeatedValue | None = None
    match: bool
    within_ms: Annotated[float, Field(gt=0)] | None = None


class WrittenRuling(_Written):
    """What a person ruled before. `answers` absent: silence, and every asking rule of the case but the guard's."""

    reach: Reach
    rule: str
    answers: tuple[str, ...] | None = None


class WrittenLayer(_Written):
    """One source and its rules, in their order."""

    source: Source
    rules: tuple[str, ...]
    trusted: bool = True


class WrittenRequest(_Written):
    """What is asked of one permission."""

    permission: str
    values: tuple[str, ...]


class WrittenAgent(_Written):
    """An agent that a `task` request names."""

    rules: tuple[str, ...] = ()


class WrittenWant(_Written):
    """The right answer."""

    action: Word
    step: Step | None = None


class _Asking(_Written):
    name: str
    mode: Mode | None = None
    request: WrittenRequest | None = None
    requests: tuple[WrittenRequest, ...] = ()
    want: WrittenWant | Word
    agents: dict[str, WrittenAgent] = {}

    @property
    def wanted(self) -> WrittenWant:
        return WrittenWant(action=self.want) if isinstance(self.want, str) else self.want

    @property
    def asked(self) -> tuple[WrittenRequest, ...]:
        return self.requests if self.request is None else (self.request, *self.requests)


class DecisionCase(_Asking):
    """One session under layers."""

    layers: tuple[WrittenLayer, ...]
    rulings: tuple[WrittenRuling, ...] = ()
    guard: bool = True


class WrittenMember(_Written):
    """One session of a chain."""

    agent: str
    rules: tuple[str, ...] = ()
    rulings: tuple[WrittenRuling, ...] = ()
    mode: Mode | None = None
    tools: tuple[str, ...] | None = None
    prompts: Literal["bubble", "deny"] = "bubble"


class SpawnCase(_Asking):
    """A chain of sessions, root first; the last asks, or the one that `asker` names."""

    chain: Annotated[tuple[WrittenMember, ...], Field(min_length=1)]
    asker: str | None = None
    primary_tools: tuple[str, ...] = ()
    layers: tuple[WrittenLayer, ...] = ()
    guard: bool = True


class PolicyFiles(_Written):
    """Real files, by paths relative to the case file. Absent: none of that kind, the built-in agents."""

    settings: str | None = None
    agents: str | None = None
    workspace: str | None = None


class PolicyCase(_Asking):
    """A chain of agents by name, under real settings and definitions."""

    policy: PolicyFiles
    chain: Annotated[tuple[str, ...], Field(min_length=1)]


class WrittenModes(_Written):
    """What two sessions ask for."""

    parent: Mode | None
    child: Mode | None


class ModeCase(_Written):
    """Which mode comes of a spawn?"""

    name: str
    modes: WrittenModes
    want_mode: Mode


class ShellCase(_Written):
    """What a command line would do. Read and judged, not run."""

    name: str | None = None
    rules: tuple[str, ...] = ()
    command: str | None = None
    command_repeat: RepeatedValue | None = None
    at_least: Word | None = None
    exactly: Word | None = None
    writes: tuple[str, ...] = ()
    opaque: bool = False
    within_ms: Annotated[float, Field(gt=0)] | None = None


Case = WildcardCase | DecisionCase | SpawnCase | PolicyCase | ModeCase | ShellCase
