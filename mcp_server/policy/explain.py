"""A verdict in plain words: what decided, whose rule it is, and what would change it."""

from mcp_server.policy import rulings
from mcp_server.policy.derived import MUST_BE_NAMED
from mcp_server.policy.matching import speaks_of
from mcp_server.policy.offers import limits
from mcp_server.policy.values import Action, AskRef, LayerKind, Mode
from mcp_server.policy.verdicts import Opinion, Step, ValueVerdict, Verdict

_WORDS = {Action.ALLOW: "allowed", Action.ASK: "asks", Action.DENY: "denied"}


def sentence(verdict: Verdict, mode: Mode | None = None) -> str:
    """Why, and what would change it, in one line. `mode`: the authority's, to name it."""
    changes = changes_of(deciding_part(verdict)) if verdict.step is not Step.MALFORMED else ()
    told = finding(verdict, mode)
    return f"{told}; {changes[0]}" if changes else told


def finding(verdict: Verdict, mode: Mode | None = None) -> str:
    """Why, in one line, for where all that would change it stands below."""
    if verdict.step is Step.MALFORMED:
        return f"denied: {verdict.problem}; this is a fault of the tool or the call, no rule allows it"
    part = deciding_part(verdict)
    return f"{_WORDS[part.action]}: {cause(part, mode)}"


def deciding_part(verdict: Verdict) -> ValueVerdict:
    """The value that the call's verdict comes from. The verdict is not a malformed one."""
    return next(part for part in verdict.parts if part.action is verdict.action and part.step is verdict.step)


def cause(part: ValueVerdict, mode: Mode | None = None) -> str:
    """Why it was decided so, without what would change it."""
    match part.step:
        case Step.DENY | Step.ALLOW:
            return _by_rule(part, part.deciding[0])
        case Step.ASK | Step.MODE if part.action is not Action.ALLOW:
            return " and ".join(_ask_lines(part, mode))
        case Step.MODE:
            return f"no rule speaks of `{_asked(part)}`, and {_mode(mode)} allows it"
        case Step.RULING:
            return f"a person allowed `{_asked(part)}` (ruling {', '.join(part.rulings)})"
        case Step.DONT_ASK:
            return f"{' and '.join(_ask_lines(part, mode))}, and mode dontAsk turns what would ask into a denial"
        case Step.CHANNEL if part.asks:
            return f"{' and '.join(_ask_lines(part, mode))}, and nobody may be asked in this session (`prompts: deny`)"
        case Step.CHANNEL:
            return f"`{part.permission}` needs a person, and nobody may be asked in this session (`prompts: deny`)"
        case _:
            return f"`{_asked(part)}` was decided at step {part.step}"


def reasons(verdict: Verdict, mode: Mode | None = None) -> tuple[str, ...]:
    """Which rules ask and why, a line each, for the person; then why no wider answer is offered."""
    lines = (line for part in verdict.parts if part.asks for line in _ask_lines(part, mode))
    return tuple(dict.fromkeys((*lines, *limits(verdict))))


def _ask_lines(part: ValueVerdict, mode: Mode | None) -> tuple[str, ...]:
    rules = [_by_rule(part, opinion) for opinion in part.opinions if opinion.action is Action.ASK]
    others = [_beside_rules(part, ask, mode) for ask in part.asks if ask.owner in _NO_RULE]
    return tuple(dict.fromkeys((*rules, *others)))


_NO_RULE = (rulings.SILENCE, rulings.WIDENING, rulings.HANDING)


def _beside_rules(part: ValueVerdict, ask: AskRef, mode: Mode | None) -> str:
    line = ask.rule.removeprefix(f"task {part.value.text}: ")
    if ask.owner == rulings.WIDENING:
        return f"`{_asked(part)}` would widen: it may `{line}` without asking, its caller may not"
    if ask.owner == rulings.HANDING:
        return f"`{_asked(part)}` would hand down: {line}"
    unheard = [f" ({opinion.rule}: {opinion.note})" for opinion in part.opinions if opinion.note and opinion.action is None]
    notes = tuple(dict.fromkeys((*unheard, *(f" ({missed})" for opinion in part.opinions for missed in _missed(part, opinion)))))
    asks = "" if part.step is Step.DONT_ASK else f", and {_mode(mode)} asks"
    return f"no rule speaks of `{_asked(part)}`{asks}{''.join(notes)}"


def _missed(part: ValueVerdict, opinion: Opinion) -> tuple[str, ...]:
    """The allows of a layer which says nothing that speak of the permission, for other arguments."""
    if opinion.rule is not None or not opinion.layer.may_allow:
        return ()
    others = (rule for rule in opinion.layer.rules if rule.when and rule.action is Action.ALLOW and speaks_of(rule, part.permission))
    return tuple(f"{rule}{f' [{rule.origin}]' if rule.origin else ''}: its `when` does not fit the arguments" for rule in others)


def _mode(mode: Mode | None) -> str:
    return "the mode" if mode is None else f"mode {mode}"


def _asked(part: ValueVerdict) -> str:
    return part.permission if part.value.text == "*" else f"{part.permission} {part.value.text}"


def _by_rule(part: ValueVerdict, opinion: Opinion) -> str:
    """`edit src/a.py` matches `edit *` deny of agent plan, an ancestor."""
    rule = opinion.rule
    if rule is None:
        return f"`{_asked(part)}` is decided by {whose(opinion)}"
    verb = "may do what meets" if opinion.note else "matches"
    why = "; ".join(text for text in (opinion.note, rule.reason) if text)
    text = f"`{_asked(part)}` {verb} `{rule.permission} {rule.pattern}` {rule.action.word} of {whose(opinion)}"
    return f"{text} ({why})" if why else text


def whose(opinion: Opinion) -> str:
    """The layer in words, with the place of the rule where it has one."""
    owner = f"the {opinion.layer.owner}" if opinion.layer.kind is LayerKind.GUARD else opinion.layer.owner
    place = f" [{opinion.rule.origin}]" if opinion.rule is not None and opinion.rule.origin else ""
    return f"{owner}, an ancestor{place}" if opinion.layer.kind is LayerKind.CEILING else f"{owner}{place}"


# ---- what would change it -----------------------------------------------------------------------


def changes_of(part: ValueVerdict) -> tuple[str, ...]:
    """What would change the verdict of one value, the likeliest first; nothing for an allow."""
    match part.action:
        case Action.ALLOW:
            return ()
        case Action.ASK:
            return ("a person is asked", *_ways_out(part))
        case Action.DENY if part.step is Step.DENY:
            return tuple(dict.fromkeys(_remedy(part, opinion) for opinion in part.deciding))
        case Action.DENY:
            return _ways_out(part)


def _ways_out(part: ValueVerdict) -> tuple[str, ...]:
    """What would keep it from asking."""
    asking = [_remedy(part, opinion) for opinion in part.opinions if opinion.action is Action.ASK]
    if any(ask.owner == rulings.SILENCE for ask in part.asks):
        asking.append(_answer_silence(part))
    if any(ask.owner == rulings.WIDENING for ask in part.asks):
        asking.append(f"`task {part.value.text} allow` in the person's settings would let it be sent without asking")
    if part.step is Step.CHANNEL:
        asking.append("run it in a session that may ask (`prompts: bubble`)")
    return tuple(dict.fromkeys(asking))


def _answer_silence(part: ValueVerdict) -> str:
    if any(opinion.note for opinion in part.opinions if opinion.action is None):
        return "an allow of the agent, the person's settings or a trusted workspace that covers it would let it run"
    return f"a rule `{_asked(part)} allow` of the agent, the person's settings or a trusted workspace would let it run"


_REMEDIES = {
    LayerKind.CEILING: "lift it there or send another agent",
    LayerKind.AGENT: "change it in the agent's definition or use another agent",
    LayerKind.DERIVED: "leave it to the caller, or have it send the agent without that limit",
    LayerKind.MANAGED: "only the operator can lift it",
    LayerKind.PERSON: "lift it in the person's settings; no allow elsewhere does",
    LayerKind.PROJECT: "lift it in the workspace's settings; no allow elsewhere does",
    LayerKind.GUARD: "only the person's or the operator's `guard` settings can lift it",
    LayerKind.RULED: "the person can revoke it: `remit rulings`",
}


def _remedy(part: ValueVerdict, opinion: Opinion) -> str:
    """What would take one layer's word back."""
    if opinion.layer.kind is LayerKind.CEILING and _is_derived(opinion):
        return f"name `{part.permission}` in that ancestor's definition, or let it do this itself"
    if opinion.layer.kind is LayerKind.DERIVED and part.permission in MUST_BE_NAMED:
        return f"name `{part.permission}` in the agent's definition, or leave it to the caller"
    return _REMEDIES[opinion.layer.kind]


def _is_derived(opinion: Opinion) -> bool:
    return opinion.layer.owner.startswith("limits of ")
