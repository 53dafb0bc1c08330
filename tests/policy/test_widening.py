"""What a spawn widens: named cases, and the promise itself by random search."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.policy.chain import Commons, Member, authority
from mcp_server.policy.decide import decide
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, CommandValue, Mode, PathValue, Request, Rule, Value
from mcp_server.policy.widening import widening
from tests.campaign import search
from tests.policy.large import AGENT_RULES, MODES, VALUES, commons, member_at
from tests.policy.universe import HOME, WORKSPACE, asks_for, command, member, path, rules

GUARDED = Commons(workspace=WORKSPACE, guard=guard_rules(WORKSPACE, HOME, f"{HOME}/state"))
EXPLORE = ("* * deny", "read * allow", "list * allow", "glob * allow", "grep * allow")

ROWS: list[tuple[str, tuple[str, ...], Mode | None, tuple[str, ...], tuple[str, ...]]] = [
    ("a reader is covered by silence", (), None, EXPLORE, ()),
    ("a writer is not", (), None, ("edit * allow",), ("edit *",)),
    ("a writer is, where edits are accepted", (), Mode.ACCEPT_EDITS, ("edit * allow",), ()),
    (
        "not with folders outside",
        (),
        Mode.ACCEPT_EDITS,
        ("edit * allow", "external_directory /srv/* allow"),
        ("edit *", "external_directory /srv/*"),
    ),
    ("inside it is", (), Mode.ACCEPT_EDITS, ("edit src/* allow",), ()),
    ("a runner is not, though edits are", (), Mode.ACCEPT_EDITS, ("bash pytest * allow",), ("bash pytest *",)),
    ("where all is allowed nothing is new", (), Mode.BYPASS, ("bash * allow", "edit * allow", "external_directory * allow"), ()),
    ("but for what cannot be read", (), Mode.BYPASS, ("bash * allow opaque",), ("bash *",)),
    ("and for loops", (), Mode.BYPASS, ("doom_loop * allow",), ("doom_loop *",)),
    ("the caller's own allow covers", ("bash git * allow",), None, ("bash git push * allow",), ()),
    ("a narrower one does not", ("bash git push * allow",), None, ("bash git * allow",), ("bash git *",)),
    ("one of everything covers", ("* * allow",), None, ("bash * allow", "edit * allow", "git__push * allow"), ()),
    ("what the caller is denied the child is denied", ("edit * deny",), None, ("edit * allow",), ()),
    ("what it must ask the child must ask", ("edit * ask",), None, ("edit * allow",), ()),
    ("a part of it may still be new", ("edit docs/* deny",), None, ("edit * allow",), ("edit *",)),
    ("what it bars itself from is new", ("edit * deny self",), None, ("edit * allow",), ("edit *",)),
    ("also where silence would do it", ("read secrets/* deny self",), None, (), ("read secrets/*",)),
    ("also where the mode would do it", ("edit * ask self",), Mode.ACCEPT_EDITS, (), ("edit *",)),
    ("not where the child is barred too", ("edit * deny self",), Mode.ACCEPT_EDITS, ("edit * deny",), ()),
    ("not where the bar is lifted again", ("edit * deny self", "edit * allow"), None, ("edit * allow",), ()),
    ("a plan that denies edits sends a writer that cannot", ("edit * deny", "edit .remit/plans/* allow self"), None, ("edit * allow",), ()),
    ("what the child denies after it is not new", (), None, ("edit * allow", "edit * deny"), ()),
    (
        "a wildcard permission is told apart",
        (),
        None,
        ("* * allow", "bash * deny", "task * allow"),
        ("edit *", "external_directory *", "webfetch *", "websearch *", "doom_loop *", "* *"),
    ),
    ("a task rule is judged when it is used", (), None, ("task * allow",), ()),
    ("an upstream tool is new", (), None, ("git__push * allow",), ("git__push *",)),
]


@pytest.mark.parametrize(("name", "caller", "mode", "child", "new"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_new_is_listed(name: str, caller: tuple[str, ...], mode: Mode | None, child: tuple[str, ...], new: tuple[str, ...]):
    assert widening((member(0, *caller, mode=mode),), member(1, *child), GUARDED) == new


def test_what_settings_give_a_childs_agent_over_what_they_say_for_all_is_new():
    everyone = replace(GUARDED, person=rules("bash * ask"))
    freed = rules("bash make allow")
    child = replace(member(1), rules=freed, person=freed)
    assert widening((member(0, "bash * allow"),), child, everyone) == ("bash make",)
    assert decide(authority((member(0, "bash * allow"), child), everyone), asks_for("bash", command("make"))).action is Action.ALLOW


def test_a_shared_ban_leaves_nothing_new():
    barred = replace(GUARDED, managed=rules("bash * ask"), person=rules("edit * deny"))
    assert widening((member(0),), member(1, "bash * allow", "edit * allow"), barred) == ()


def test_what_narrowing_takes_away_is_not_new():
    child = replace(member(1, "bash * allow", "edit * allow"), narrowed=("edit",))
    assert widening((member(0),), child, GUARDED) == ("edit *",)


# ---- the promise --------------------------------------------------------------------------------


def plain_values() -> list[tuple[str, Value]]:
    """Links and peeled wrappers left out: what is done is compared, not how it is spelled."""
    return [
        (permission, value) for permission, value in VALUES if not (isinstance(value, PathValue) and value.unresolved != value.resolved)
    ]


def call(permission: str, value: Value) -> tuple[Request, ...]:
    """As a tool raises it: with the folder, where a path lies outside."""
    outside = isinstance(value, PathValue) and not value.inside and permission != "external_directory"
    return (*asks_for(permission, value), *(asks_for("external_directory", value) if outside else ()))


@st.composite
def spawns(draw: st.DrawFn) -> tuple[tuple[Member, ...], Member, Commons, tuple[Request, ...]]:
    shared = draw(commons())
    depth = draw(st.integers(1, 3))
    settings_ = st.sampled_from([(), (), *[rules(text) for text in ("edit src/* allow", "bash * allow", "read * ask")]])

    def session(place: int) -> Member:
        person: tuple[Rule, ...] = draw(settings_)
        made = member_at(
            place, (*draw(AGENT_RULES), *person), draw(MODES), draw(settings_), draw(st.sampled_from([None, None, ("edit", "bash")]))
        )
        return replace(made, person=person)

    chain = tuple(session(i) for i in range(depth))
    asked = draw(st.sampled_from([*plain_values(), ("edit", path("/srv/x.py"))]))
    return chain, session(depth), shared, call(*asked)


@search(600)
@given(spawns())
def test_a_child_whose_spawn_widens_nothing_can_do_nothing_unasked_that_its_caller_could_not(
    spawn: tuple[tuple[Member, ...], Member, Commons, tuple[Request, ...]],
):
    caller, child, shared, requests = spawn
    if widening(caller, child, shared) or any(isinstance(each, CommandValue) and each.opaque for each in requests[0].values):
        return
    below = decide(authority((*caller, child), shared), requests)
    above = decide(authority(caller, shared), requests)
    assert below.action is not Action.ALLOW or above.action is Action.ALLOW or requests[0].permission == "task"
