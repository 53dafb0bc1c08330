"""The one decision: an authority and what a call asks, to a verdict with its evidence. Pure.

    malformed → deny → allow → ask (a rule asks) or mode (silence) → ruling → dont_ask → channel

Where several values decide together: the strictest; of equals, the earlier step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_server.policy import effects, layers, rulings, silence, wellformed
from mcp_server.policy.chain import Authority
from mcp_server.policy.rulings import Asked
from mcp_server.policy.values import Action, CommandValue, Mode, Request, SpawnValue, Value
from mcp_server.policy.verdicts import AskRef, Opinion, RulingId, Step, ValueVerdict, Verdict

_ORDER: Mapping[Step, int] = {step: place for place, step in enumerate(Step)}


def decide(authority: Authority, requests: Sequence[Request], digest: str | None = None) -> Verdict:
    """May this call run? `digest` names the call, for `once` rulings; None: no such ruling can answer."""
    asked = tuple(requests)
    problem = wellformed.problem_of(asked)
    if problem is not None:
        return Verdict(action=Action.DENY, step=Step.MALFORMED, parts=(), requests=asked, problem=problem)
    parts = tuple(_decide_value(authority, request, value, digest) for request in asked for value in request.values)
    worst = min(parts, key=lambda part: (-part.action, _ORDER[part.step]))
    return Verdict(action=worst.action, step=worst.step, parts=parts, requests=asked)


def opinions_of(authority: Authority, permission: str, value: Value, arguments: Mapping[str, Any]) -> tuple[Opinion, ...]:
    """What every layer says, in the authority's order; two entries where a layer also speaks of unknown effects."""
    said = [layers.opinion(layer, value, permission, arguments) for layer in authority.layers]
    if isinstance(value, CommandValue) and not value.effects_known:
        further = (effects.effects_opinion(layer, permission, value, arguments) for layer in authority.layers)
        said.extend(each for each in further if each is not None)
    return tuple(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One value with all that was found of it."""

    authority: Authority
    asked: Asked
    digest: str | None

    def ends(self, action: Action, step: Step, asks: tuple[AskRef, ...] = (), ruling: RulingId | None = None) -> ValueVerdict:
        return ValueVerdict(
            permission=self.asked.permission,
            value=self.asked.value,
            action=action,
            step=step,
            opinions=self.asked.opinions,
            asks=asks,
            rulings=() if ruling is None else (ruling,),
        )


def _decide_value(authority: Authority, request: Request, value: Value, digest: str | None) -> ValueVerdict:
    said = opinions_of(authority, request.permission, value, request.arguments)
    asked = Asked(permission=request.permission, value=value, arguments=request.arguments, opinions=said)
    case = _Case(authority=authority, asked=asked, digest=digest)
    heard = max((each.action for each in said if each.action is not None), default=None)
    if heard is Action.DENY:
        return case.ends(Action.DENY, Step.DENY)
    new = _spawn_asks(case)
    if heard is Action.ASK:
        return _ask(case, Step.ASK, (*rulings.asks_of(said), *new))
    if new:
        return _ask(case, Step.MODE, new)
    if heard is Action.ALLOW:
        return _allow(case, Step.ALLOW)
    if silence.allows(authority, request.permission, value):
        return _allow(case, Step.MODE)
    return _ask(case, Step.MODE, (AskRef(owner=rulings.SILENCE, rule=request.permission),))


def _spawn_asks(case: _Case) -> tuple[AskRef, ...]:
    if not isinstance(case.asked.value, SpawnValue):
        return ()
    return rulings.spawn_asks(case.asked.value, case.asked.opinions, widening_asks=case.authority.mode is not Mode.BYPASS)


def _ask(case: _Case, step: Step, asks: tuple[AskRef, ...]) -> ValueVerdict:
    ruling = rulings.answering(case.authority.rulings, case.asked, asks, case.digest)
    if ruling is not None:
        return _allow(case, Step.RULING, asks, ruling.id)
    if case.authority.mode is Mode.DONT_ASK:
        return case.ends(Action.DENY, Step.DONT_ASK, asks)
    if not case.authority.may_ask:
        return case.ends(Action.DENY, Step.CHANNEL, asks)
    return case.ends(Action.ASK, step, asks)


def _allow(case: _Case, step: Step, asks: tuple[AskRef, ...] = (), ruling: RulingId | None = None) -> ValueVerdict:
    # A question to a person needs one, whatever allowed it.
    if case.asked.permission == "question" and not case.authority.may_ask:
        return case.ends(Action.DENY, Step.CHANNEL, asks)
    return case.ends(Action.ALLOW, step, asks, ruling)
