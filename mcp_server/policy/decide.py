"""The one decision: an authority and what a call asks, to a verdict with its evidence. Pure.

    malformed → deny → allow → ask (a rule asks) or mode (silence) → ruling → dont_ask → channel

Where several values decide together: the strictest; of equals, the earlier step.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from mcp_server.policy import effects, layers, rulings, silence, wellformed
from mcp_server.policy.chain import Authority
from mcp_server.policy.rulings import Asked
from mcp_server.policy.values import Action, AskRef, CommandValue, Mode, Request, SpawnValue, Value
from mcp_server.policy.verdicts import Opinion, Ruling, RulingId, Step, ValueVerdict, Verdict

_ORDER: Mapping[Step, int] = {step: place for place, step in enumerate(Step)}


def decide(authority: Authority, requests: Sequence[Request], digest: str | None = None) -> Verdict:
    """May this call run? `digest` names the call, for `once` rulings; None: no such ruling can answer."""
    asked = tuple(requests)
    problem = wellformed.problem_of(asked)
    if problem is not None:
        return Verdict(action=Action.DENY, step=Step.MALFORMED, parts=(), requests=asked, problem=problem)
    parts = tuple([_decide_value(authority, request, value, digest) for request in asked for value in request.values])
    worst = parts[0] if len(parts) == 1 else min(parts, key=lambda part: (-part.action, _ORDER[part.step]))
    return Verdict(action=worst.action, step=worst.step, parts=parts, requests=asked)


def opinions_of(authority: Authority, permission: str, value: Value, arguments: Mapping[str, Any]) -> tuple[Opinion, ...]:
    """What every layer says, in the authority's order; two entries where a layer also speaks of unknown effects."""
    said = layers.opinions(authority.layers, value, permission, arguments)
    if isinstance(value, CommandValue) and not value.effects_known:
        said += [further for each in said if (further := effects.effects_opinion(each, value)) is not None]
    return tuple(said)


def _decide_value(authority: Authority, request: Request, value: Value, digest: str | None) -> ValueVerdict:
    said = opinions_of(authority, request.permission, value, request.arguments)
    if request.guards:
        said = (*said, *layers.opinions(request.guards, value, request.permission, request.arguments))
    action, step, asks, lifted = _judged(authority, request, value, said, digest)
    return ValueVerdict(
        permission=request.permission,
        value=value,
        action=action,
        step=step,
        opinions=said,
        asks=asks,
        rulings=lifted,
    )


_End = tuple[Action, Step, tuple[AskRef, ...], tuple[RulingId, ...]]
"""What it comes to, at which step, what asked, and the ruling that answered."""


def _judged(authority: Authority, request: Request, value: Value, said: tuple[Opinion, ...], digest: str | None) -> _End:
    heard = _strictest(said)
    if heard is Action.DENY:
        return Action.DENY, Step.DENY, (), ()
    new = _spawn_asks(authority, value, said)
    if heard is Action.ASK:
        step, asks = Step.ASK, (*rulings.asks_of(said), *new)
    elif new:
        step, asks = Step.MODE, new
    elif heard is Action.ALLOW:
        return _allowed(authority, request, Step.ALLOW)
    elif silence.allows(authority, request.permission, value):
        return _allowed(authority, request, Step.MODE)
    else:
        step, asks = Step.MODE, _silent(request.permission)
    ruling = None
    if authority.rulings:
        asked = Asked(permission=request.permission, value=value, arguments=request.arguments, opinions=said)
        ruling = rulings.answering(authority.rulings, asked, asks, digest)
    return _asked(authority, request, step, asks, ruling)


@lru_cache(maxsize=64)
def _silent(permission: str) -> tuple[AskRef, ...]:
    return (AskRef(owner=rulings.SILENCE, rule=permission),)


def _strictest(said: Sequence[Opinion]) -> Action | None:
    strictest: Action | None = None
    for each in said:
        if each.action is not None and (strictest is None or each.action > strictest):
            strictest = each.action
    return strictest


def _spawn_asks(authority: Authority, value: Value, said: tuple[Opinion, ...]) -> tuple[AskRef, ...]:
    if not isinstance(value, SpawnValue):
        return ()
    return rulings.spawn_asks(value, said, widening_asks=authority.mode is not Mode.BYPASS)


def _asked(authority: Authority, request: Request, step: Step, asks: tuple[AskRef, ...], ruling: Ruling | None) -> _End:
    if ruling is not None:
        return _allowed(authority, request, Step.RULING, asks, (ruling.id,))
    if authority.mode is Mode.DONT_ASK:
        return Action.DENY, Step.DONT_ASK, asks, ()
    if not authority.may_ask:
        return Action.DENY, Step.CHANNEL, asks, ()
    return Action.ASK, step, asks, ()


def _allowed(authority: Authority, request: Request, step: Step, asks: tuple[AskRef, ...] = (), lifted: tuple[RulingId, ...] = ()) -> _End:
    # A question to a person needs one, whatever allowed it.
    if request.permission == "question" and not authority.may_ask:
        return Action.DENY, Step.CHANNEL, asks, ()
    return Action.ALLOW, step, asks, lifted
