"""What the two usual ways of handing permissions to a subagent get wrong, one row each, and what this way says.

*Full inheritance*: the child's list is the parent's with its own behind it, the last match wins.
*Full isolation*: the child has its own list and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from mcp_server.policy import matching
from mcp_server.policy.chain import Member
from mcp_server.policy.values import Action, PlainValue, Reach, Request, Rule, SpawnValue
from mcp_server.policy.verdicts import Ruling
from tests.policy.universe import asks_for, asks_in, command, member, path, ruling, verdict_of


def last_word(rules: Sequence[Rule], request: Request) -> Action:
    """The last rule that matches; where none does, ask."""
    (value,) = request.values
    said = [rule.action for rule in rules if matching.matches(rule, request.permission, value, request.arguments)]
    return said[-1] if said else Action.ASK


def full_inheritance(chain: Sequence[Member], request: Request, rulings: Sequence[Ruling] = ()) -> Action:
    """Everything flows down, standing answers too, in one list."""
    flat = [rule for each in chain for rule in each.rules]
    return last_word([*flat, *(ruling.rule for ruling in rulings)], request)


def full_isolation(chain: Sequence[Member], request: Request, rulings: Sequence[Ruling] = ()) -> Action:
    """Each session for itself."""
    own = [ruling.rule for ruling in rulings if ruling.session_id == chain[-1].session_id]
    return last_word([*chain[-1].rules, *own], request)


def governed(chain: Sequence[Member], request: Request, rulings: Sequence[Ruling] = ()) -> Action:
    return verdict_of(chain, (request,), rulings=rulings).action


(EDIT,) = asks_for("edit", path("src/a.py"))
(MAKE,) = asks_for("bash", command("make install"))
(GIT,) = asks_for("bash", command("git status"))
(FETCH,) = asks_for("webfetch", PlainValue(text="https://example.org/"))
(SPAWN,) = asks_for("task", SpawnValue(text="explore"))
(FOLDER,) = asks_for("external_directory", path("/srv/cache/a"))

ALLOW, ASK, DENY = Action


@dataclass(frozen=True)
class Row:
    shows: str
    texts: tuple[tuple[str, ...], ...]
    """Each session's own rules, root first."""
    asked: Request
    inherited: Action
    isolated: Action
    right: Action


READER = ("* * deny", "read * allow", "task * allow")
LEAD = ("edit * deny", "task * allow")
BAR_GIT = ("bash * deny", "bash git * allow")
CACHE = ("external_directory /srv/cache/* allow",)

ROWS = [
    Row("a writer's own allow undoes the plan's ban", (("edit * deny",), ("edit * allow",)), EDIT, ALLOW, ALLOW, DENY),
    Row("a grandchild never hears of the ban", (LEAD, ("task * allow",), ("edit * allow",)), EDIT, ALLOW, ALLOW, DENY),
    Row("a ban is forgotten by a child without rules", (("edit * deny",), ()), EDIT, DENY, ASK, DENY),
    Row("what the parent may do flows down", (("bash * allow",), ("read * allow",)), MAKE, ALLOW, ASK, ASK),
    Row("an ask of the parent is softened below", (("webfetch * ask",), ("webfetch * allow",)), FETCH, ALLOW, ALLOW, ASK),
    Row("a ban for itself alone stops the writer it sends", (("edit * deny self",), ()), EDIT, DENY, ASK, ASK),
    Row("an exception for itself leaks", (("edit * deny", "edit src/* allow self"), ()), EDIT, ALLOW, ASK, DENY),
    Row("a caller's bound is lost but for its exception", (BAR_GIT, ("bash * allow",)), MAKE, ALLOW, ALLOW, DENY),
    Row("a caller's exception spreads to a child that has none", (BAR_GIT, ()), GIT, ALLOW, ASK, ASK),
    Row("a reader sends a runner", (READER, ("bash * allow",)), MAKE, ALLOW, ALLOW, DENY),
    Row("the right to send agents spreads by itself", (("task * allow",), ("read * allow",)), SPAWN, ALLOW, ASK, DENY),
    Row("a shared folder is lost", (CACHE, ("read * allow",)), FOLDER, ALLOW, ASK, ALLOW),
    Row("all that the parent may do is no folder lent", (("* * allow",), ()), FOLDER, ALLOW, ASK, ASK),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.shows)
def test_a_row_of_the_comparison(row: Row):
    chain = tuple(member(place, *own) for place, own in enumerate(row.texts))
    assert (full_inheritance(chain, row.asked), full_isolation(chain, row.asked)) == (row.inherited, row.isolated)
    assert governed(chain, row.asked) is row.right
    assert row.right not in (row.inherited, row.isolated) or row.inherited is not row.isolated


def test_each_of_the_two_is_wrong_in_both_directions():
    """Neither is merely strict or merely lax: no one knob mends it."""
    assert any(row.inherited < row.right for row in ROWS)
    assert any(row.inherited > row.right for row in ROWS)
    assert any(row.isolated < row.right for row in ROWS)
    assert any(row.isolated > row.right for row in ROWS)


def test_standing_answers_leak_downwards_by_inheritance_and_here_only_if_the_person_said_so():
    chain = (member(0, "bash * ask"), member(1))
    kept = replace(ruling(0, Reach.SESSION, asks_in(chain)), rule=ruling(0, Reach.SESSION, (), "bash * allow").rule)
    assert full_inheritance(chain, MAKE, (kept,)) is Action.ALLOW
    assert governed(chain, MAKE, (kept,)) is Action.ASK
    assert governed(chain, MAKE, (replace(kept, reach=Reach.TREE),)) is Action.ALLOW


def test_what_the_person_denied_is_lost_by_isolation_and_here_it_stands():
    chain = (member(0), member(1, "bash * allow"))
    denied = ruling(0, Reach.SESSION, (), "bash make * deny")
    assert full_isolation(chain, MAKE, (denied,)) is Action.ALLOW
    assert governed(chain, MAKE, (denied,)) is Action.DENY
