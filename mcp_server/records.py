"""Frozen values that are stored: sessions, runs, transcript, prompts, rulings, audit events.

Not how they are stored (`store`), not who makes them (`sessions`). Times are seconds since the epoch, UTC.
Every union is closed and told apart by its `kind`, so that pydantic can read it back.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NewType

from mcp_server.elicited import ElicitationSubject

# Named here as well: whoever reads a transcript finds all of it in one place.
from mcp_server.parts import ImagePart as ImagePart
from mcp_server.parts import Part
from mcp_server.parts import TextPart as TextPart
from mcp_server.policy.values import Action, AskRef, CallId, Mode, Reach, Rule, ToolCall
from mcp_server.policy.verdicts import Ruling, RulingId, SessionId, Step

RunId = NewType("RunId", str)
PromptId = NewType("PromptId", str)

# ---- sessions and runs --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """Who is acting, and in whose name. Its authority is not stored: it is derived at each decision."""

    id: SessionId
    principal: str
    """`Principal.key`."""
    workspace: str
    """Absolute, resolved."""
    agent: str
    root_id: SessionId
    parent_id: SessionId | None
    depth: int
    """0 for a root."""
    root_agent: str
    shared: bool = False
    """A root that every request of its caller finds again (2026-07-28 over HTTP), not one connection's own."""
    mode: Mode | None = None
    """What was asked for; the effective mode is the chain's."""
    started_with: tuple[Rule, ...] = ()
    """For a root: the rules of the command line that its server was started with. Only their denies and asks are heard elsewhere."""
    narrowed: tuple[str, ...] | None = None
    title: str = ""
    created_at: float
    ended_at: float | None = None


class RunState(StrEnum):
    """Where a run is. The last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


FINAL = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.EXPIRED})


class Ending(StrEnum):
    """How a call came to its end. The four refusals are never confused."""

    DONE = "done"
    FAILED = "failed"
    DENIED_BY_RULE = "denied by rule"
    DENIED_BY_PERSON = "denied by the person"
    NOBODY_COULD_BE_ASKED = "nobody could be asked"
    NOBODY_ANSWERED = "nobody answered in time"
    INTERRUPTED = "interrupted, outcome unknown"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedCall:
    """A call of a run that was denied or not answered. Listed in the outcome, so that a blocked run cannot pass for a success."""

    session_path: tuple[str, ...]
    tool: str
    summary: str
    """The exact thing asked for, shortened for people."""
    ending: Ending
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model turns cost so far. Tokens as the provider counts them."""

    turns: int = 0
    input_tokens: int = 0
    """All that was read, from the provider's cache too."""
    output_tokens: int = 0
    tool_calls: int = 0
    cached_tokens: int = 0
    """Those of `input_tokens` that came out of the provider's cache."""
    cache_written_tokens: int = 0
    """Those of `input_tokens` that were put into it."""
    cost: float | None = None
    """US dollars by the provider's list prices. None: not known, or nothing was priced. Never 0 for a model without a known price."""
    unpriced: int = 0
    """Answers of providers whose price is not known; where there are any, `cost` is the least that it can be."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            turns=self.turns + other.turns,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            tool_calls=self.tool_calls + other.tool_calls,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            cost=_sum_known(self.cost, other.cost),
            unpriced=self.unpriced + other.unpriced,
        )


def _sum_known(one: float | None, other: float | None) -> float | None:
    known = [cost for cost in (one, other) if cost is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The model ended its work. What it says need not be true; `refused` is."""

    kind: Literal["completed"] = "completed"
    result: str
    refused: tuple[RefusedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run could not go on."""

    kind: Literal["failed"] = "failed"
    error: str
    partial: str = ""
    refused: tuple[RefusedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Somebody ended it."""

    kind: Literal["cancelled"] = "cancelled"
    by: str
    partial: str = ""
    refused: tuple[RefusedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """A limit was reached: steps, time or tokens."""

    kind: Literal["expired"] = "expired"
    limit: str
    partial: str = ""
    refused: tuple[RefusedCall, ...] = ()


Outcome = Completed | Failed | Cancelled | Expired


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One life of a session."""

    id: RunId
    session_id: SessionId
    root_id: SessionId
    principal: str
    workspace: str
    state: RunState
    reason: str = ""
    """Why it is in this state, in words."""
    background: bool = False
    description: str = ""
    """What its caller called the task, in a few words."""
    usage: Usage = field(default_factory=Usage)
    created_at: float
    updated_at: float
    worked: float = 0.0
    """Seconds of working time so far: waiting and lying still left out, by a clock that nobody sets."""
    waits_for: tuple[str, ...] = ()
    """While it waits: the ids of the prompts and of the children's runs, the first of which to be over wakes it."""
    outcome: Outcome | None = None
    cancel_requested: str | None = None
    """Who asked to cancel; None: nobody."""
    owner: str | None = None
    """The process that advances it."""
    lease_until: float | None = None
    fence: int = 0
    """Grows with each change of owner; a write with an older number is refused."""
    trace: str = ""
    """Where telemetry tells of the call that started it: W3C `traceparent`. Empty: nowhere. No decision looks at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a run from state to state, as it is kept for people."""

    run_id: RunId
    at: float
    state: RunState
    """What it came to be in."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGiven:
    """What the caller asked of the session: the first entry of each run."""

    kind: Literal["task"] = "task"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """One answer of the model."""

    kind: Literal["turn"] = "turn"
    text: str
    calls: tuple[ToolCall, ...]
    model: str
    usage: Usage
    opaque: str | None = None
    """The provider's own form of the turn, JSON, read by its adapter alone (signatures, reasoning)."""
    window: int | None = None
    """Tokens that the model can be given at most, its answer included, where its adapter knows."""
    instead: str = ""
    """Why the model that was asked first did not answer; empty: `model` is that one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A tool was about to run. Without a result after a restart, its outcome is unknown."""

    kind: Literal["started"] = "started"
    call_id: CallId


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """What the model is told of a call."""

    kind: Literal["ended"] = "ended"
    call_id: CallId
    tool: str
    ending: Ending
    parts: tuple[Part, ...]
    structured: dict[str, Any] | None = None
    refused: tuple[RefusedCall, ...] = ()
    """The refusals of a child's run, passed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """From here on the model is given `summary` in place of every entry up to `through`. Those stay stored, and stay the truth for
    everything but the model: rules, prompts and rulings never look at a summary.
    """

    kind: Literal["compacted"] = "compacted"
    summary: str
    through: int
    """The `seq` of the last entry that it stands for. No call is on one side and its result on the other."""
    model: str
    usage: Usage


Entry = TaskGiven | ModelTurn | CallStarted | CallEnded | Compacted


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """An entry with its place in the session's transcript."""

    seq: int
    run_id: RunId
    at: float
    entry: Entry


# ---- prompts and rulings ------------------------------------------------------------------------


class Choice(StrEnum):
    """What a person may answer to an approval. The values are the form's."""

    ALLOW_ONCE = "allow_once"
    ALLOW_SESSION = "allow_session"
    ALLOW_TREE = "allow_tree"
    DENY = "deny"
    DENY_SESSION = "deny_session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One answer that the person may give, and the very rules it would create."""

    choice: Choice
    rules: tuple[str, ...] = ()
    """As shown: `permission pattern action`. Empty for once and deny."""
    grants: tuple[Rule, ...] = ()
    """The same rules, as they would be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSubject:
    """May this call run?"""

    kind: Literal["approval"] = "approval"
    tool: str
    arguments: dict[str, Any]
    wants: tuple[str, ...]
    """Each value that asks, as `permission value`."""
    because: tuple[str, ...]
    """Which rule asked and why, a line each."""
    notes: tuple[str, ...] = ()
    """What else the person must see, e.g. what a spawn would widen."""
    answer_by: tuple[str, ...] = ()
    """Roles that rules name for who may allow it; empty: whoever is asked."""
    asks: tuple[AskRef, ...] = ()
    offers: tuple[Offer, ...] = ()
    """To the person at the top of the tree."""
    role_offers: tuple[Offer, ...] = ()
    """To somebody else who holds all of `answer_by`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOption:
    """One answer a model offers."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a model to the person."""

    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSubject:
    """What a model wants to know. Never an approval."""

    kind: Literal["question"] = "question"
    questions: tuple[Question, ...]


Resource = Literal["tokens", "cost", "steps", "seconds", "prompts"]
"""What a budget counts. The names are those of the store's sum, `Spent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSubject:
    """May a session, or a whole tree, use more than it was given? `ALLOW_ONCE` extends it by `more`, `DENY` ends the run."""

    kind: Literal["budget"] = "budget"
    scope: Literal["session", "tree"]
    resource: Resource
    allowed: float
    spent: float
    more: float


Subject = ApprovalSubject | QuestionSubject | BudgetSubject | ElicitationSubject


class PromptState(StrEnum):
    """A prompt is open until the first of the others."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    UNASKABLE = "unaskable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person answered."""

    choice: Choice | None
    """None for a question, a model's or a server's."""
    words: str = ""
    """For the model, or the answer to a question: JSON, of a model's a list of lists of labels or words, of a server's see `elicited`."""
    by: str
    """Principal key."""
    channel: str
    """`form`, `input_required`, `approvals`, `console`, `panel`, `script`."""
    at: float
    roles: tuple[str, ...] = ()
    """Of somebody else than the person who is asked. Whoever makes the answer has checked them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A question to the person at the top of a tree, bound to the exact calls that wait for it."""

    id: PromptId
    principal: str
    root_id: SessionId
    session_id: SessionId
    session_path: tuple[str, ...]
    """Agents, root first."""
    chain: tuple[SessionId, ...] = ()
    """The sessions of that path, root first, `session_id` last."""
    calls: tuple[CallId, ...]
    """The calls of that session that wait for it; all have the one digest."""
    digest: str
    subject: Subject
    state: PromptState = PromptState.OPEN
    created_at: float
    shown_at: float | None = None
    deadline: float | None = None
    """Set when it is shown; until then `created_at` plus the longest wait bounds it, or what was set when it was opened."""
    answer: Answer | None = None
    once_seconds: float = 600.0
    """How long an `allow once` waits to be used."""
    allow_seconds: float = 12 * 3600.0
    """How long any other allow stands at most."""
    background: bool = False
    reason: str = ""
    """Why it was closed without an answer."""
    trace: str = ""
    """Where telemetry tells of what asked: as a run's."""

    @property
    def asked_of(self) -> tuple[str, ...]:
        """The roles each of which somebody else must hold to answer it. Empty: its own person answers, wherever they are shown it."""
        return self.subject.answer_by if isinstance(self.subject, ApprovalSubject) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RulingRecord:
    """A ruling as it is kept: what policy reads, and its life."""

    ruling: Ruling
    action: Action
    principal: str
    root_id: SessionId
    given_by: str
    channel: str
    prompt_id: PromptId | None
    created_at: float
    expires_at: float | None = None
    used: int = 0
    revoked_at: float | None = None

    @property
    def id(self) -> RulingId:
        """The ruling's own."""
        return self.ruling.id

    @property
    def reach(self) -> Reach:
        """The ruling's own."""
        return self.ruling.reach


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """What happened at one doorway. Holds digests of arguments; the arguments only where settings say so, without secrets."""

    at: float
    kind: Literal["decision", "key", "look", "outcome", "prompt", "ruling", "run", "session", "trust"]
    principal: str
    session_id: SessionId
    session_path: tuple[str, ...]
    tool: str = ""
    digest: str = ""
    action: Action | None = None
    step: Step | None = None
    rules: tuple[str, ...] = ()
    """The deciding rules, `owner: rule`."""
    ruled_by: str = ""
    outcome: str = ""
    ref: str = ""
    """The prompt, ruling or run it is about."""
    arguments: str = ""
    """Of a decision where settings keep them: JSON without secrets, cut."""
    trace: str = ""
    """The span that tells of a decision, as W3C `traceparent`; empty where telemetry is off."""
