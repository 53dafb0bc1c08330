"""What a decision comes back as: the action **with** the step and the rules that decided it.

Also rulings as policy sees them: who gave one and where it is kept is `records`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NewType

from mcp_server.policy.values import Action, AskRef, Layer, Reach, Request, Rule, Value

RulingId = NewType("RulingId", str)
SessionId = NewType("SessionId", str)


class Step(StrEnum):
    """The pipeline, in its order."""

    MALFORMED = "malformed"
    DENY = "deny"
    ALLOW = "allow"
    ASK = "ask"
    MODE = "mode"
    RULING = "ruling"
    DONT_ASK = "dont_ask"
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one layer says of one value: an action by a rule, or nothing."""

    layer: Layer
    action: Action | None
    rule: Rule | None
    note: str = ""
    """Why a matching rule counted as no opinion, or as a stricter one, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A person's standing or single-use answer, as far as a decision needs it."""

    id: RulingId
    session_id: SessionId
    reach: Reach
    rule: Rule
    """The allow or deny that the person gave, exactly as the prompt showed it."""
    answers: tuple[AskRef, ...]
    """The asks that its prompt showed; it lifts only those."""
    digest: str | None = None
    """For `once`: the call it is bound to. Such a ruling covers every value of that call."""
    roles: tuple[str, ...] = ()
    """What its giver was over the person whose session it is, where they are somebody else. Only such a ruling lifts an ask that names a
    role, and only one of these."""


class ValueVerdict(NamedTuple):
    """How one value of one request was decided. A tuple, as every decision makes one and a frozen class takes four times as long."""

    permission: str
    value: Value
    action: Action
    step: Step
    opinions: tuple[Opinion, ...]
    """Every layer's, so that the decision can be explained."""
    asks: tuple[AskRef, ...] = ()
    """What asked; kept when a ruling answered it."""
    rulings: tuple[RulingId, ...] = ()
    """Those that answered."""

    @property
    def deciding(self) -> tuple[Opinion, ...]:
        """The opinions that the action comes from; empty where silence decided."""
        return tuple(o for o in self.opinions if o.action is not None and o.action == self._weight)

    @property
    def _weight(self) -> Action:
        return max((o.action for o in self.opinions if o.action is not None), default=self.action)


class Verdict(NamedTuple):
    """How one call was decided. `parts` has one entry a value; a malformed request has none. A tuple, as `ValueVerdict` is."""

    action: Action
    step: Step
    parts: tuple[ValueVerdict, ...]
    requests: tuple[Request, ...]
    problem: str = ""
    """For `malformed`: what was wrong."""

    @property
    def asks(self) -> tuple[AskRef, ...]:
        """Every ask of the call, each once, in order."""
        return tuple(dict.fromkeys(ask for part in self.parts for ask in part.asks))

    @property
    def rulings(self) -> tuple[RulingId, ...]:
        """Every ruling that answered, each once."""
        return tuple(dict.fromkeys(ruling for part in self.parts for ruling in part.rulings))
