"""A decision over 6 layers and 200 rules, against casbin and Cedar with the same rules. Nothing is kept between two decisions but what
is compiled from the rules themselves.
"""

from collections.abc import Callable

from benchmarks import scene
from benchmarks.measuring import Figure, Spread, by_turns, words
from benchmarks.peers.casbin_peer import enforcer
from benchmarks.peers.cedar_peer import authorizer
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action

ROUNDS = 120
EACH = {"remit": 50, "casbin": 1, "cedar": 5}
"""Decisions a round, so that a round of each takes some milliseconds at most."""

P50 = 10e-6
"""Seconds."""

TIMES_CASBIN = 100


def figures() -> list[Figure]:
    """The last rule matching, and none."""
    rules = scene.said()
    asked = {"the last rule matches": scene.HIT, "none matches": scene.MISS}
    casbin, cedar = enforcer(rules), authorizer(rules)
    found: list[Figure] = []
    for case, command in asked.items():
        _check(command, casbin, cedar)
        authority, requests = scene.authority(), (scene.request(command),)
        spreads = by_turns(
            {
                "remit": lambda authority=authority, requests=requests: decide(authority, requests),
                "casbin": lambda command=command: casbin("bash", command),
                "cedar": lambda command=command: cedar("bash", command),
            },
            rounds=ROUNDS,
            each=EACH,
        )
        found += _figures(case, spreads)
    return found


def _check(command: str, casbin: Callable[[str, str], bool], cedar: Callable[[str, str], bool]) -> None:
    """All three say the same, or they would not be compared."""
    allowed = decide(scene.authority(), (scene.request(command),)).action is Action.ALLOW
    if (casbin("bash", command), cedar("bash", command)) != (allowed, allowed):
        raise AssertionError(f"the peers do not agree about {command!r}")


def _figures(case: str, spreads: dict[str, Spread]) -> list[Figure]:
    own = spreads["remit"].p50
    over_casbin, over_cedar = spreads["casbin"].p50 / own, spreads["cedar"].p50 / own
    return [
        Figure(
            name=f"decision, {case}",
            measured=f"{words(own)} (least {words(spreads['remit'].least)})",
            target="p50 at most 10 µs",
            met=own <= P50,
            how="`decide` over 6 layers, 200 rules, 120 of them `bash`, half of those with an inner wildcard",
        ),
        Figure(
            name=f"decision, {case}, against casbin",
            measured=f"{over_casbin:.0f} times as fast ({words(spreads['casbin'].p50)})",
            target="at least 100 times",
            met=over_casbin >= TIMES_CASBIN,
            how="`Enforcer.enforce`, the same rules loaded beforehand",
        ),
        Figure(
            name=f"decision, {case}, against Cedar",
            measured=f"{over_cedar:.1f} times as fast ({words(spreads['cedar'].p50)})",
            target="faster",
            met=over_cedar > 1,
            how="`cedarpy.is_authorized`, policies and entities parsed beforehand",
        ),
    ]
