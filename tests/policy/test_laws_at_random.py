"""The laws again, by random search over a universe that cannot be walked. Deterministic: the same examples each time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_server.policy.chain import Authority, authority
from mcp_server.policy.decide import decide
from mcp_server.policy.layers import opinion
from mcp_server.policy.values import MODES_STRICTEST_FIRST, Action, Layer, LayerKind, Rule, SpawnValue
from mcp_server.policy.verdicts import Step, Verdict
from tests.campaign import search
from tests.policy.large import AGENT_RULES, CLOSERS, World, worlds
from tests.policy.universe import permuted

SEARCH: Callable[[Any], Any] = search(120)


def held(world: World) -> Authority:
    return authority(world.chain, world.commons, world.rulings)


def verdict(world: World) -> Verdict:
    return decide(held(world), world.requests, "digest")


def with_layer(found: Authority, layer: Layer) -> Authority:
    return replace(found, layers=(*found.layers, layer))


@SEARCH
@given(worlds())
def test_deny_trumps_everything(world: World):
    found = verdict(world)
    for part in found.parts:
        if any(each.action is Action.DENY for each in part.opinions):
            assert part.action is Action.DENY
            assert found.action is Action.DENY


@SEARCH
@given(worlds(), CLOSERS, st.sampled_from([LayerKind.MANAGED, LayerKind.PERSON, LayerKind.AGENT, LayerKind.CEILING, LayerKind.RULED]))
def test_a_deny_or_an_ask_added_as_a_layer_never_loosens(world: World, added: Rule, kind: LayerKind):
    layer = Layer(kind=kind, owner="added", rules=(added,), may_allow=True)
    assert decide(with_layer(held(world), layer), world.requests, "digest").action >= verdict(world).action


@SEARCH
@given(worlds(), CLOSERS, st.integers(0, 3), st.integers(0, 5), st.booleans())
def test_a_deny_added_to_any_list_at_any_place_never_loosens(world: World, added: Rule, place: int, at: int, self_only: bool):
    denied = replace(added, action=Action.DENY, scope="self" if self_only else "tree")
    place = min(place, len(world.chain) - 1)
    own = world.chain[place].rules
    changed = replace(world.chain[place], rules=(*own[:at], denied, *own[at:]))
    after = replace(world, chain=(*world.chain[:place], changed, *world.chain[place + 1 :]))
    assert verdict(after).action >= verdict(world).action
    common = replace(
        world,
        commons=replace(
            world.commons,
            managed=(*world.commons.managed[:at], denied, *world.commons.managed[at:]),
            project=(*world.commons.project[:at], denied, *world.commons.project[at:]),
        ),
    )
    assert verdict(common).action >= verdict(world).action


@SEARCH
@given(worlds(), AGENT_RULES, st.sampled_from([LayerKind.GUARD, LayerKind.DERIVED, LayerKind.RULED, LayerKind.PROJECT]))
def test_a_layer_that_may_not_allow_never_loosens(world: World, rules: tuple[Rule, ...], kind: LayerKind):
    layer = Layer(kind=kind, owner="added", rules=rules, may_allow=False)
    assert decide(with_layer(held(world), layer), world.requests, "digest").action >= verdict(world).action


@SEARCH
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_layers_and_of_rulings_is_irrelevant(world: World, random: Any):
    found = held(world)
    order = list(range(len(found.layers)))
    random.shuffle(order)
    one, other = decide(found, world.requests, "digest"), decide(permuted(found, order), world.requests, "digest")
    assert (one.action, one.step, set(one.asks), one.rulings) == (other.action, other.step, set(other.asks), other.rulings)


@SEARCH
@given(worlds(least=2))
def test_a_child_never_exceeds_the_ceiling_of_an_ancestor(world: World):
    found = verdict(world)
    for request, part in zip(world.requests, found.parts, strict=True):
        for above in world.chain[:-1]:
            ceiling = Layer(kind=LayerKind.CEILING, owner="", rules=above.rules, may_allow=False, lends_folders=True)
            said = opinion(ceiling, part.value, part.permission, request.arguments).action
            assert said is not Action.DENY or part.action is Action.DENY
            assert said is not Action.ASK or part.action >= Action.ASK or part.step is Step.RULING


@SEARCH
@given(worlds(least=2))
def test_no_descendant_loses_a_restriction(world: World):
    """Whatever closes for a session because of an ancestor closes for its children too."""
    for child, parent in zip(verdict(world).parts, verdict(world.shorter()).parts, strict=True):
        below = {(each.layer.owner, str(each.rule)) for each in child.opinions if each.action in (Action.ASK, Action.DENY)}
        for each in parent.opinions:
            if each.layer.kind is LayerKind.CEILING and each.action in (Action.ASK, Action.DENY):
                assert (each.layer.owner, str(each.rule)) in below


@SEARCH
@given(worlds(least=2))
def test_an_allow_never_crosses_a_spawn(world: World):
    """Ancestors may say what they like: as ceilings they are never heard to allow, but for folders in so many words."""
    for part in verdict(world).parts:
        for each in part.opinions:
            if each.layer.kind is LayerKind.CEILING and each.action is Action.ALLOW:
                assert each.rule is not None
                assert part.permission == each.rule.permission == "external_directory"
                assert each.rule.scope == "tree"


@SEARCH
@given(worlds())
def test_a_ruling_never_lifts_a_deny_nor_an_ask_that_it_did_not_show(world: World):
    without = verdict(replace(world, rulings=tuple(each for each in world.rulings if each.rule.action is not Action.ALLOW)))
    found = verdict(world)
    by_id = {each.id: each for each in world.rulings}
    for before, after in zip(without.parts, found.parts, strict=True):
        if before.step is Step.DENY:
            assert after.action is Action.DENY
        if after.step is Step.RULING:
            (answered,) = (by_id[each] for each in after.rulings)
            assert set(before.asks) <= set(answered.answers)
        else:
            assert (before.action, before.step) == (after.action, after.step)


@SEARCH
@given(worlds(), st.sampled_from(MODES_STRICTEST_FIRST))
def test_a_stricter_mode_never_allows_more_but_through_what_task_widens(world: World, other: Any):
    found = held(world)
    order = MODES_STRICTEST_FIRST.index
    if order(other) <= order(found.mode):
        stricter = decide(replace(found, mode=other), world.requests, "digest")
        assert stricter.action >= verdict(world).action


@SEARCH
@given(worlds())
def test_where_nobody_may_be_asked_nothing_asks(world: World):
    quiet = decide(replace(held(world), may_ask=False), world.requests, "digest")
    assert quiet.action is not Action.ASK
    assert quiet.action >= verdict(world).action


@SEARCH
@given(worlds())
def test_the_verdict_is_the_strictest_of_its_parts_and_of_equals_the_earlier_step(world: World):
    found = verdict(world)
    steps = list(Step)
    worst = min(found.parts, key=lambda part: (-part.action, steps.index(part.step)))
    assert (found.action, found.step) == (worst.action, worst.step)
    assert len(found.parts) == sum(len(request.values) for request in world.requests)


@SEARCH
@given(worlds())
def test_a_spawn_that_widens_is_never_allowed_below_bypass_but_in_so_many_words(world: World):
    found = held(world)
    for part in verdict(world).parts:
        if (
            isinstance(part.value, SpawnValue)
            and part.value.widening
            and part.step in (Step.ALLOW, Step.MODE)
            and part.action is Action.ALLOW
        ):
            said = [
                each for each in part.opinions if each.action is Action.ALLOW and each.layer.kind in (LayerKind.MANAGED, LayerKind.PERSON)
            ]
            assert found.mode.value == "bypassPermissions" or any(each.rule and each.rule.permission == "task" for each in said)
