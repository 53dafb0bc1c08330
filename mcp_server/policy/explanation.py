"""A verdict laid out whole, for `remit explain`: every opinion of every layer, and what would change it. Text only."""

from dataclasses import dataclass

from mcp_server.policy import rulings
from mcp_server.policy.chain import Authority
from mcp_server.policy.explain import cause, changes_of, sentence
from mcp_server.policy.verdicts import Opinion, ValueVerdict, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedOpinion:
    """What one layer said."""

    layer: str
    """Its kind, as in the design's table."""
    owner: str
    may_allow: bool
    action: str | None
    rule: str | None
    origin: str | None
    reason: str | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedValue:
    """How one value was decided."""

    permission: str
    value: str
    action: str
    step: str
    because: str
    opinions: tuple[ExplainedOpinion, ...]
    asks: tuple[str, ...]
    rulings: tuple[str, ...]
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How one call was decided. `dataclasses.asdict` gives what JSON takes."""

    action: str
    step: str
    sentence: str
    mode: str
    may_ask: bool
    values: tuple[ExplainedValue, ...]


def explanation(verdict: Verdict, authority: Authority) -> Explanation:
    """The verdict as `authority` gave it, in words."""
    return Explanation(
        action=verdict.action.word,
        step=verdict.step.value,
        sentence=sentence(verdict, authority.mode),
        mode=authority.mode.value,
        may_ask=authority.may_ask,
        values=tuple(_value(part, authority) for part in verdict.parts),
    )


def _value(part: ValueVerdict, authority: Authority) -> ExplainedValue:
    return ExplainedValue(
        permission=part.permission,
        value=part.value.text,
        action=part.action.word,
        step=part.step.value,
        because=cause(part, authority.mode),
        opinions=tuple(map(_opinion, part.opinions)),
        asks=tuple(map(str, part.asks)),
        rulings=tuple(part.rulings),
        changes=changes_of(part),
    )


def _opinion(opinion: Opinion) -> ExplainedOpinion:
    rule = opinion.rule
    return ExplainedOpinion(
        layer=opinion.layer.kind.value,
        owner=opinion.layer.owner,
        may_allow=opinion.layer.may_allow,
        action=None if opinion.action is None else opinion.action.word,
        rule=None if rule is None else rulings.name_of(rule),
        origin=None if rule is None or not rule.origin else rule.origin,
        reason=None if rule is None else rule.reason,
        note=opinion.note,
    )


def table(explained: Explanation) -> tuple[tuple[str, str, str], ...]:
    """Layer, what it says, by which rule: one row an opinion, for a terminal. Silent layers say so."""
    return tuple(
        (
            f"{said.layer}: {said.owner}",
            said.action or "-",
            " ".join(part for part in (said.rule or "", f"[{said.origin}]" if said.origin else "", said.note) if part),
        )
        for value in explained.values
        for said in value.opinions
    )
