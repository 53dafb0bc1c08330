"""The laws of authority by name, each over the whole small universe: every chain of up to four sessions, every mode,
every ruling that a person could have given in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product

import pytest

from mcp_server.policy.chain import Commons, Member, authority, effective_mode
from mcp_server.policy.decide import decide
from mcp_server.policy.layers import opinion
from mcp_server.policy.values import MODES_STRICTEST_FIRST, Action, Layer, LayerKind, Mode, Reach, Rule
from mcp_server.policy.verdicts import Opinion, Ruling, Step, Verdict
from tests.policy.universe import (
    AGENTS,
    BARE,
    CEILING,
    MODES,
    OWN,
    TARGET,
    asks_in,
    chains,
    member,
    members,
    path,
    rule,
    rules,
    ruling,
    verdict_of,
)


@dataclass(frozen=True)
class Given:
    """One ruling that a person could have given in a chain; `everything`: its prompt showed all that can ask."""

    giver: int
    reach: Reach
    action: Action
    everything: bool


def givens(length: int) -> Iterator[Given | None]:
    yield None
    for giver in range(length):
        yield Given(giver, Reach.SESSION, Action.DENY, everything=True)
        yield Given(giver, Reach.SESSION, Action.ALLOW, everything=True)
        yield Given(giver, Reach.TREE, Action.ALLOW, everything=True)
        yield Given(giver, Reach.TREE, Action.ALLOW, everything=False)
    for giver in {0, length - 1}:
        yield Given(giver, Reach.ONCE, Action.ALLOW, everything=True)


def ruled(given: Given | None, chain: tuple[Member, ...]) -> tuple[Ruling, ...]:
    if given is None:
        return ()
    shown = asks_in(chain) if given.everything else asks_in(chain)[:1]
    return (ruling(given.giver, given.reach, shown, f"edit src/* {given.action.word}"),)


@dataclass(frozen=True)
class Scene:
    names: tuple[str, ...]
    mode: Mode
    given: Given | None

    @property
    def heard(self) -> list[Action]:
        """The opinions, by the table of the design."""
        said = [OWN[self.names[-1]], *(CEILING[name] for name in self.names[:-1])]
        if self.given is not None and self.given.action is Action.DENY:
            said.append(Action.DENY)
        return [action for action in said if action is not None]


@lru_cache(maxsize=1)
def universe() -> dict[Scene, tuple[Action, Step]]:
    """Every scene and how it is decided."""
    found: dict[Scene, tuple[Action, Step]] = {}
    for names, mode in product(chains(), MODES):
        chain = members(names, mode)
        for given in givens(len(names)):
            verdict = verdict_of(chain, rulings=ruled(given, chain))
            found[Scene(names, mode, given)] = (verdict.action, verdict.step)
    return found


def answered(scene: Scene) -> bool:
    """By the words of the design: does the ruling reach the last session, and did its prompt show all that asks now?"""
    given, last = scene.given, len(scene.names) - 1
    if given is None or given.action is Action.DENY:
        return False
    reaches = given.giver == last or given.reach is Reach.TREE
    return reaches and (given.everything or not scene.heard)


def expected(scene: Scene) -> tuple[Action, Step]:
    """The pipeline as the design words it, written a second time."""
    return piped(max(scene.heard, default=None), scene.mode, lifted=answered(scene))


def piped(heaviest: Action | None, mode: Mode, *, lifted: bool = False) -> tuple[Action, Step]:
    if heaviest is Action.DENY:
        return Action.DENY, Step.DENY
    if heaviest is Action.ALLOW:
        return Action.ALLOW, Step.ALLOW
    if heaviest is None and mode in (Mode.ACCEPT_EDITS, Mode.BYPASS):
        return Action.ALLOW, Step.MODE
    if lifted:
        return Action.ALLOW, Step.RULING
    if mode is Mode.DONT_ASK:
        return Action.DENY, Step.DONT_ASK
    return Action.ASK, Step.MODE if heaviest is None else Step.ASK


def test_every_decision_of_the_small_universe_is_the_one_that_the_design_words():
    wrong = {scene: got for scene, got in universe().items() if got != expected(scene)}
    assert wrong == {}
    assert len(universe()) > 70_000


def test_deny_trumps_everything():
    for scene, (action, step) in universe().items():
        if Action.DENY in scene.heard:
            assert (action, step) == (Action.DENY, Step.DENY), scene


def insertions(names: tuple[str, ...], added: Rule) -> Iterator[tuple[int, tuple[Rule, ...]]]:
    """The added rule at every place of every session's list."""
    for place, name in enumerate(names):
        own = AGENTS[name]
        for at in range(len(own) + 1):
            yield place, (*own[:at], added, *own[at:])


def undoes_a_deny(chain: tuple[Member, ...], place: int, changed: tuple[Rule, ...]) -> bool:
    """The added ask stands behind a deny of the very same list: its author's later word, the one way to soften it."""
    before, after = (said(each, own=place == len(chain) - 1) for each in (chain[place].rules, changed))
    return before is Action.DENY and after is Action.ASK


def said(rules_: tuple[Rule, ...], *, own: bool) -> Action | None:
    layer = Layer(kind=LayerKind.AGENT if own else LayerKind.CEILING, owner="x", rules=rules_, may_allow=own)
    return opinion(layer, path("src/a.py"), "edit", {}).action


@pytest.mark.parametrize(
    "added",
    [rule(f"edit {pattern} {action}{mark}") for pattern in ("*", "src/*") for action in ("deny", "ask") for mark in ("", " self")],
    ids=str,
)
def test_a_deny_or_an_ask_added_anywhere_never_loosens(added: Rule):
    checked = 0
    for names, mode in product(chains(3, ("silent", "allow", "ask", "deny", "deny but itself")), MODES):
        chain = members(names, mode)
        standing = (ruling(0, Reach.TREE, asks_in(chain)),)
        for place, changed in insertions(names, added):
            if added.action is Action.ASK and undoes_a_deny(chain, place, changed):
                continue
            after = (*chain[:place], replace(chain[place], rules=changed), *chain[place + 1 :])
            for rulings in ((), standing):
                was, now = verdict_of(chain, rulings=rulings), verdict_of(after, rulings=rulings)
                assert now.action >= was.action, (names, mode, place, list(map(str, changed)), rulings)
                checked += 1
    assert checked > 5_000


OPINIONS = ((), rules("edit * allow"), rules("edit * ask"), rules("edit * deny"))


def shared(
    managed: tuple[Rule, ...], person: tuple[Rule, ...], project: tuple[Rule, ...], guard: tuple[Rule, ...], *, trusted: bool
) -> Commons:
    return Commons(workspace="/ws", managed=managed, person=person, project=project, project_trusted=trusted, guard=guard)


def test_every_combination_of_shared_layers_is_decided_by_the_strictest():
    for managed, person, project, guard, name, mode in product(OPINIONS, OPINIONS, OPINIONS, OPINIONS, AGENTS, MODES):
        for trusted in (True, False):
            allowing = [each[0].action for each in (managed, person, *((project,) if trusted else ())) if each]
            closing_ = [each[0].action for each in (guard, *(() if trusted else (project,))) if each]
            own = [OWN[name]] if OWN[name] is not None else []
            heard = [*allowing, *own, *(action for action in closing_ if action is not Action.ALLOW)]
            got = verdict_of(members((name,), mode), commons=shared(managed, person, project, guard, trusted=trusted))
            assert (got.action, got.step) == piped(max((each for each in heard if each is not None), default=None), mode)


UNHEARD = (LayerKind.GUARD, LayerKind.CEILING, LayerKind.DERIVED, LayerKind.RULED, LayerKind.PROJECT)


def test_a_layer_that_may_not_allow_never_loosens():
    lists = [*OPINIONS, rules("edit * deny", "edit src/* allow"), rules("* * allow"), rules("edit * allow self")]
    for names, mode, kind, extra in product(chains(2), MODES, UNHEARD, lists):
        held = authority(members(names, mode), BARE)
        layer = Layer(kind=kind, owner="added", rules=extra, may_allow=False)
        was, now = decide(held, TARGET), decide(replace(held, layers=(*held.layers, layer)), TARGET)
        assert now.action >= was.action, (names, mode, kind, list(map(str, extra)))


def test_the_order_of_layers_is_irrelevant():
    outspoken = ("allow", "ask", "deny", "deny but itself")
    for names, mode in (*product(chains(2), MODES), *((names, Mode.DEFAULT) for names in chains(3, outspoken))):
        held = authority(members(names, mode), BARE)
        verdicts = {
            (found.action, found.step, frozenset(found.asks))
            for order in permutations(held.layers)
            for found in (decide(replace(held, layers=order), TARGET),)
        }
        assert len(verdicts) == 1, (names, mode)


def test_a_child_never_exceeds_the_ceiling_of_an_ancestor():
    for scene, (action, step) in universe().items():
        for name in scene.names[:-1]:
            ceiling = CEILING[name]
            if ceiling is Action.DENY:
                assert action is Action.DENY, scene
            elif ceiling is Action.ASK and not answered(scene):
                assert action >= Action.ASK, scene
            elif ceiling is Action.ASK:
                assert step is Step.RULING or action is Action.DENY, scene


def closing(verdict: Verdict) -> set[tuple[str, str]]:
    opinions: tuple[Opinion, ...] = verdict.parts[0].opinions
    return {(each.layer.owner, str(each.rule)) for each in opinions if each.action in (Action.ASK, Action.DENY)}


def test_no_descendant_loses_a_restriction():
    for names in chains(3):
        chain = members(names)
        below = {(own, text) for own, text in closing(verdict_of(chain)) if own != f"agent agent{len(chain) - 1}"}
        for last in AGENTS:
            longer = members((*names, last))
            assert below <= closing(verdict_of(longer)), (names, last)
            if CEILING[names[-1]] is not None:
                assert any(own == f"agent agent{len(chain) - 1}" for own, _ in closing(verdict_of(longer))), (names, last)


def without_allows(name: str) -> str:
    return {"allow": "silent", "deny but itself": "deny"}.get(name, name)


def test_an_allow_never_crosses_a_spawn():
    for scene, got in universe().items():
        bare = (*map(without_allows, scene.names[:-1]), scene.names[-1])
        assert got == universe()[Scene(bare, scene.mode, scene.given)], scene


def test_a_ruling_never_lifts_a_deny():
    for scene, (action, _) in universe().items():
        if scene.given is not None and Action.DENY in scene.heard:
            assert action is Action.DENY, scene


def test_a_ruling_never_lifts_an_ask_that_it_did_not_show():
    for scene, (action, _) in universe().items():
        if scene.given is not None and not scene.given.everything and Action.ASK in scene.heard:
            assert action >= Action.ASK, scene


def test_a_ruling_for_a_session_reaches_no_other_and_one_for_a_tree_only_descendants():
    for scene, (_, step) in universe().items():
        if step is Step.RULING:
            assert scene.given is not None
            assert scene.given.giver == len(scene.names) - 1 or scene.given.reach is Reach.TREE, scene
    parent = member(0, "edit * ask")
    for reach in Reach:
        given_below = ruling(1, reach, asks_in((parent,)))
        assert verdict_of((parent,), rulings=(given_below,)).action is Action.ASK


def test_a_stricter_mode_never_allows_more():
    order = {mode: place for place, mode in enumerate(MODES_STRICTEST_FIRST)}
    for scene, (action, _) in universe().items():
        for stricter in MODES:
            if order[stricter] < order[scene.mode]:
                assert universe()[Scene(scene.names, stricter, scene.given)][0] >= action, scene


def test_a_childs_mode_is_never_looser_than_its_parents_nor_than_the_cap():
    order = {mode: place for place, mode in enumerate(MODES_STRICTEST_FIRST)}
    for modes in product((None, *MODES), repeat=4):
        for cap in (None, *MODES):
            chain = tuple(member(i, mode=mode) for i, mode in enumerate(modes))
            found = [effective_mode(chain[:length], cap) for length in range(1, 5)]
            assert [order[mode] for mode in found] == sorted((order[mode] for mode in found), reverse=True)
            for mode, asked in zip(found, modes, strict=True):
                assert asked is None or order[mode] <= order[asked]
                assert cap is None or order[mode] <= order[cap]
            if modes[0] is None:
                assert order[found[0]] <= order[Mode.DEFAULT]


def test_where_nobody_may_be_asked_no_ask_is_left_and_nothing_is_allowed_that_was_not():
    for names, mode in product(chains(3), MODES):
        for silent_at in range(len(names)):
            chain = members(names, mode)
            quiet = tuple(replace(each, may_ask=each.may_ask and i != silent_at) for i, each in enumerate(chain))
            was, now = verdict_of(chain), verdict_of(quiet)
            assert now.action is (Action.DENY if was.action is Action.ASK else was.action)
            assert was.action is not Action.ASK or now.step is Step.CHANNEL
