"""The scene that decisions are measured on: 6 layers, 200 rules, 120 of them `bash`, half of these with a wildcard inside.

The same rules are said three times: as Remit's layers, as a casbin policy, as Cedar policies.
"""

from dataclasses import dataclass

from mcp_server.policy.chain import Authority
from mcp_server.policy.values import Action, CommandValue, Layer, LayerKind, Mode, Request, Rule

KINDS = (LayerKind.MANAGED, LayerKind.PERSON, LayerKind.PROJECT, LayerKind.GUARD, LayerKind.AGENT, LayerKind.CEILING)
BASH_EACH = 20
OTHERS = 80

PROGRAMS = ("git", "make", "npm", "cargo", "docker", "kubectl", "pip", "uv", "terraform", "aws")
VERBS = ("push", "run", "install", "build", "apply", "delete")

HIT = "release-tool --channel stable publish --yes"
"""What the very last bash rule matches, and no other."""

MISS = "ls -la src/components"
"""What none matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One rule, wherever it is said."""

    layer: int
    permission: str
    pattern: str
    action: Action


def said() -> tuple[Said, ...]:
    """All 200, layer by layer. Half of the bash rules of each layer hold a wildcard inside; the last of all matches `HIT`."""
    rules: list[Said] = []
    for layer in range(len(KINDS)):
        rules += [Said(layer=layer, permission=kind, pattern=pattern, action=action) for kind, pattern, action in _others(layer)]
        rules += [Said(layer=layer, permission="bash", pattern=_pattern(layer, place), action=_action(place)) for place in range(BASH_EACH)]
    last = rules[-1]
    rules[-1] = Said(layer=last.layer, permission="bash", pattern="release-tool * publish *", action=Action.DENY)
    return tuple(rules)


def _pattern(layer: int, place: int) -> str:
    program = PROGRAMS[place % len(PROGRAMS)]
    verb = VERBS[layer]
    if place % 2:
        return f"{program} * {verb}{place} *"
    return f"{program} {verb}{place} *"


def _action(place: int) -> Action:
    return (Action.ALLOW, Action.ASK, Action.DENY)[place % 3]


def _others(layer: int) -> list[tuple[str, str, Action]]:
    count = OTHERS // len(KINDS) + (1 if layer < OTHERS % len(KINDS) else 0)
    kinds = ("read", "edit", "webfetch", "task")
    return [(kinds[place % 4], f"area{layer}/part{place}/*", _action(place)) for place in range(count)]


def authority() -> Authority:
    """The rules as Remit's layers. The mode asks where nothing matches."""
    layers = tuple(
        Layer(kind=kind, owner=f"layer {number}", rules=_rules(number), may_allow=kind is not LayerKind.CEILING)
        for number, kind in enumerate(KINDS)
    )
    return Authority(layers=layers, mode=Mode.DEFAULT, may_ask=True, rulings=())


def _rules(number: int) -> tuple[Rule, ...]:
    return tuple(Rule(permission=each.permission, pattern=each.pattern, action=each.action) for each in said() if each.layer == number)


def request(command: str) -> Request:
    """The question that is put to the authority. What the command does besides is known, as of one that the shell table names."""
    return Request(permission="bash", values=(CommandValue(text=command, effects_known=True),))
