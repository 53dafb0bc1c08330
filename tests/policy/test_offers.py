from dataclasses import replace

from mcp_server.policy.chain import Commons
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.offers import OfferKind, limits, offers, roles
from mcp_server.policy.values import PlainValue, Reach, Request, SpawnValue
from mcp_server.records import Choice
from tests.policy.universe import HOME, TARGET, WORKSPACE, asks_for, command, member, path, rule, ruling, verdict_of

GUARDED = Commons(workspace=WORKSPACE, guard=guard_rules(WORKSPACE, HOME, f"{HOME}/state"))
ALL = list(OfferKind)
ONCE = [OfferKind.ALLOW_ONCE, OfferKind.DENY]


def offered(requests: tuple[Request, ...], commons: Commons = GUARDED) -> dict[OfferKind, list[str]]:
    return {each.choice: list(map(str, each.rules)) for each in offers(verdict_of((member(0),), requests, commons))}


def test_the_words_are_those_that_prompts_are_stored_with():
    assert [kind.value for kind in OfferKind] == [choice.value for choice in Choice]


def test_each_answer_names_the_very_rule_it_would_create():
    found = offered(asks_for("bash", command("make test"), command("git push")))
    both = ["bash make test allow", "bash git push allow"]
    assert found == {
        OfferKind.ALLOW_ONCE: [],
        OfferKind.ALLOW_SESSION: both,
        OfferKind.ALLOW_TREE: both,
        OfferKind.DENY: [],
        OfferKind.DENY_SESSION: ["bash make test deny", "bash git push deny"],
    }


def test_what_is_offered_answers_the_call_it_was_offered_for_and_no_neighbour():
    chain = (member(0),)
    for requests, neighbour in (
        (TARGET, asks_for("edit", path("src/b.py"))),
        (asks_for("bash", command("git push")), asks_for("bash", command("git push --force"))),
        (asks_for("git__merge", PlainValue(text="*")), asks_for("git__close", PlainValue(text="*"))),
        (
            asks_for("task", SpawnValue(text="writer", widening=("edit *",))),
            asks_for("task", SpawnValue(text="other", widening=("edit *",))),
        ),
    ):
        verdict = verdict_of(chain, requests)
        (session,) = [each for each in offers(verdict) if each.choice is OfferKind.ALLOW_SESSION]
        kept = tuple(replace(ruling(0, Reach.SESSION, verdict.asks), rule=made) for made in session.rules)
        assert verdict_of(chain, requests, rulings=kept).action.word == "allow"
        assert verdict_of(chain, neighbour, rulings=kept).action.word == "ask"


def test_only_values_that_ask_get_a_rule():
    mixed = (*asks_for("read", path("a")), *TARGET)
    assert offered(mixed)[OfferKind.ALLOW_SESSION] == ["edit src/a.py allow"]


def test_protected_paths_take_once_only():
    assert list(offered(asks_for("edit", path(".git/config")))) == [OfferKind.ALLOW_ONCE, OfferKind.DENY, OfferKind.DENY_SESSION]
    verdict = verdict_of((member(0),), (*TARGET, *asks_for("edit", path(".git/config"))), GUARDED)
    assert [each.choice for each in offers(verdict) if each.choice in ALL[1:3]] == []
    assert limits(verdict) == ("`.git/config` is protected: each write of it is asked for",)


def test_what_cannot_be_read_takes_once_only():
    assert list(offered(asks_for("bash", command("git $X", opaque=True)))) == [OfferKind.ALLOW_ONCE, OfferKind.DENY, OfferKind.DENY_SESSION]


def test_a_value_that_holds_a_wildcard_takes_once_only():
    for requests in (asks_for("bash", command("rm *.o")), asks_for("webfetch", PlainValue(text="*")), asks_for("edit", path("a?b"))):
        assert list(offered(requests)) == ONCE


def test_the_operators_reach_caps_what_is_offered_and_the_role_is_named():
    for cap, last in ((Reach.ONCE, 1), (Reach.SESSION, 2), (Reach.TREE, 3)):
        asking = replace(rule("edit * ask"), reach=cap, answer_by="approver")
        verdict = verdict_of((member(0),), TARGET, Commons(workspace=WORKSPACE, managed=(asking,)))
        assert [each.choice for each in offers(verdict)][:last] == ALL[:last]
        assert len(offers(verdict)) == last + 2
        assert roles(verdict) == ("approver",)


def test_nothing_is_offered_where_nothing_asks():
    for texts in (("edit * allow",), ("edit * deny",)):
        verdict = verdict_of((member(0, *texts),))
        assert (offers(verdict), limits(verdict), roles(verdict)) == ((), (), ())
