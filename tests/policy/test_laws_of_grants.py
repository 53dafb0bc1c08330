"""Laws of what an operator gives whom: a grant only ever takes away, and an ask that names a role is lifted by that role alone, once."""

from dataclasses import replace
from itertools import product

from mcp_server.policy.chain import Commons, authority
from mcp_server.policy.decide import decide
from mcp_server.policy.derived import permission_of
from mcp_server.policy.values import Action, Mode, PlainValue, Reach, Request, SpawnValue
from mcp_server.policy.verdicts import Step
from tests.policy.universe import BARE, WORKSPACE, asks_for, command, member, path, rule, rules, ruling, verdict_of

REQUESTS: dict[str, tuple[Request, ...]] = {
    "read": asks_for("read", path("src/a.py")),
    "write": asks_for("edit", path("src/a.py")),
    "bash": asks_for("bash", command("git status", read_only=True)),
    "task": asks_for("task", SpawnValue(text="explore")),
    "question": asks_for("question", PlainValue(text="*")),
}
OWN = {
    "silent": (),
    "allows all": rules("* * allow"),
    "allows by name": rules("read * allow", "edit * allow", "bash * allow", "task * allow"),
    "asks": rules("* * ask"),
    "denies": rules("* * deny"),
}
TOOLS = (None, (), ("read",), ("write", "task"), tuple(REQUESTS))
AGENTS = (None, (), ("explore",), ("plan", "explore"), ("plan",))


def test_a_grant_never_loosens_and_what_it_leaves_out_is_denied_whoever_allows_it():
    for (tool, asked), own, mode, depth in product(REQUESTS.items(), OWN.values(), Mode, (1, 2)):
        chain = tuple(replace(member(i, mode=mode), rules=own, person=own) for i in range(depth))
        for tools, agents, managed in product(TOOLS, AGENTS, ((), own)):
            shared = replace(BARE, managed=managed)
            was = verdict_of(chain, asked, shared).action
            now = verdict_of(chain, asked, replace(shared, granted_tools=tools, granted_agents=agents)).action
            given = (tools is None or permission_of(tool) in map(permission_of, tools)) and (
                tool != "task" or agents is None or "explore" in agents
            )
            assert now is (was if given else Action.DENY), (tool, own, mode, tools, agents)


ROLES = ("approver", "operator")


def test_an_ask_that_names_roles_is_lifted_only_once_by_whoever_holds_them_all():
    named = [replace(rule("edit * ask"), answer_by=role) for role in ROLES]
    shared = (
        Commons(workspace=WORKSPACE, managed=(named[0],)),
        Commons(workspace=WORKSPACE, managed=(named[0],), person=(named[1],)),
        Commons(workspace=WORKSPACE, managed=rules("edit * ask")),
    )
    chain, asked = (member(0),), REQUESTS["write"]
    for commons, reach, held, other in product(shared, Reach, ((), ROLES[:1], ROLES[1:], ROLES), (False, True)):
        unlifted = decide(authority(chain, commons), asked)
        given = ruling(0, reach, unlifted.asks, text="edit * allow", digest="another" if other else None)
        verdict = decide(authority(chain, commons, (replace(given, roles=held),)), asked, digest="digest")
        needed = {each.answer_by for each in (*commons.managed, *commons.person) if each.answer_by}
        once = reach is Reach.ONCE
        lifts = not (once and other) and (not needed or (once and needed <= set(held)))
        assert verdict.action is (Action.ALLOW if lifts else Action.ASK), (needed, reach, held)
        assert (verdict.step is Step.RULING) is lifts
