"""The words of every kind of verdict, whole."""

from dataclasses import replace

from mcp_server.policy.chain import Authority, Commons, Member, authority
from mcp_server.policy.decide import decide
from mcp_server.policy.explain import changes_of, reasons, sentence
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, Mode, PlainValue, Reach, Request, SpawnValue
from mcp_server.policy.verdicts import Verdict
from tests.policy.universe import HOME, TARGET, WORKSPACE, asks_for, asks_in, command, member, path, rules, ruling

GUARDED = Commons(workspace=WORKSPACE, guard=guard_rules(WORKSPACE, HOME, f"{HOME}/state"))
PLAN = member(0, "edit * deny", agent="plan")
GENERAL = member(1, "edit * allow", agent="general")
BUILD = member(0, agent="build")


def decided(*chain: Member, requests: tuple[Request, ...] = TARGET, commons: Commons = GUARDED) -> tuple[Verdict, Authority]:
    held = authority(chain, commons)
    return decide(held, requests), held


def told(*chain: Member, requests: tuple[Request, ...] = TARGET, commons: Commons = GUARDED) -> str:
    verdict, held = decided(*chain, requests=requests, commons=commons)
    return sentence(verdict, held.mode)


def test_a_denial_by_an_ancestor():
    assert told(PLAN, GENERAL) == (
        "denied: `edit src/a.py` matches `edit *` deny of agent plan, an ancestor; lift it there or send another agent"
    )


def test_a_denial_by_the_sessions_own_agent():
    assert told(PLAN) == (
        "denied: `edit src/a.py` matches `edit *` deny of agent plan; change it in the agent's definition or use another agent"
    )


def test_a_denial_says_why_and_where_the_rule_stands():
    (banned,) = rules("edit * deny")
    shared = Commons(workspace=WORKSPACE, person=(replace(banned, reason="a freeze", origin="settings.yaml:3"),))
    assert told(BUILD, commons=shared) == (
        "denied: `edit src/a.py` matches `edit *` deny of user settings [settings.yaml:3] (a freeze); "
        "lift it in the person's settings; no allow elsewhere does"
    )


def test_a_denial_because_a_subagent_was_not_made_to_spawn():
    spawn = asks_for("task", SpawnValue(text="explore"))
    assert told(BUILD, GENERAL, requests=spawn) == (
        "denied: `task explore` matches `task *` deny of limits of general as a subagent "
        "(a subagent has `task` only where its own definition names it); name `task` in the agent's definition, or leave it to the caller"
    )


def test_an_ask_by_the_guard():
    assert told(BUILD, requests=asks_for("edit", path(".git/config"))) == (
        "asks: `edit .git/config` matches `edit */.git/*` ask of the built-in guard (what lies in it can run programs); a person is asked"
    )


def test_an_ask_from_silence_and_the_rule_that_would_change_it():
    verdict, held = decided(BUILD)
    assert sentence(verdict, held.mode) == "asks: no rule speaks of `edit src/a.py`, and mode default asks; a person is asked"
    assert changes_of(verdict.parts[0]) == (
        "a person is asked",
        "a rule `edit src/a.py allow` of the agent, the person's settings or a trusted workspace would let it run",
    )


def test_an_ask_for_what_a_spawn_would_widen():
    spawn = asks_for("task", SpawnValue(text="writer", widening=("edit *",)))
    assert told(BUILD, requests=spawn) == (
        "asks: `task writer` would widen: it may `edit *` without asking, its caller may not; a person is asked"
    )


def test_an_ask_that_a_mode_turned_into_a_denial():
    assert told(replace(BUILD, mode=Mode.DONT_ASK)) == (
        "denied: no rule speaks of `edit src/a.py`, and mode dontAsk turns what would ask into a denial; "
        "a rule `edit src/a.py allow` of the agent, the person's settings or a trusted workspace would let it run"
    )


def test_an_ask_that_nobody_could_be_asked():
    assert told(replace(BUILD, may_ask=False), requests=asks_for("question", PlainValue(text="*"))) == (
        "denied: `question` needs a person, and nobody may be asked in this session (`prompts: deny`); "
        "run it in a session that may ask (`prompts: bubble`)"
    )
    assert "nobody may be asked in this session" in told(replace(BUILD, may_ask=False))


def test_an_allow_that_does_not_vouch_is_named():
    hidden = asks_for("bash", command("git $X", opaque=True))
    assert told(member(0, "bash git * allow", agent="build"), requests=hidden) == (
        "asks: no rule speaks of `bash git $X`, and mode default asks "
        "(bash git * allow: this allow does not vouch for the parts that cannot be read); a person is asked"
    )


def test_effects_that_are_not_known_are_named_with_the_rule_that_could_apply():
    make = asks_for("bash", command("make", effects_known=False))
    assert told(member(0, "edit * deny", agent="plan"), requests=make) == (
        "denied: `bash make` may do what meets `edit *` deny of agent plan (what the command would do is not known); "
        "change it in the agent's definition or use another agent"
    )


def test_allows_name_their_ground():
    assert told(member(0, "edit * allow", agent="build")) == "allowed: `edit src/a.py` matches `edit *` allow of agent build"
    assert told(BUILD, requests=asks_for("read", path("a"))) == "allowed: no rule speaks of `read a`, and mode default allows it"
    chain = (member(0, "edit * ask"),)
    answered = decide(authority(chain, GUARDED, (ruling(0, Reach.SESSION, asks_in(chain)),)), TARGET)
    assert sentence(answered) == "allowed: a person allowed `edit src/a.py` (ruling r0)"


def test_what_the_person_denied_is_said_to_be_the_persons():
    denied = ruling(0, Reach.SESSION, (), "edit src/* deny")
    verdict = decide(authority((BUILD, GENERAL), GUARDED, (denied,)), TARGET)
    assert sentence(verdict) == (
        "denied: `edit src/a.py` matches `edit src/*` deny of the person; the person can revoke it: `remit rulings`"
    )


def test_a_malformed_call_says_what_is_wrong():
    assert told(BUILD, requests=()) == (
        "denied: the call asks for nothing that can be decided; this is a fault of the tool or the call, no rule allows it"
    )


def test_the_reasons_of_a_prompt_name_every_ask_and_why_no_wider_answer_is_offered():
    verdict, held = decided(member(0, "edit * ask", agent="build"), requests=asks_for("edit", path(".git/config")))
    assert reasons(verdict, held.mode) == (
        "`edit .git/config` matches `edit */.git/*` ask of the built-in guard (what lies in it can run programs)",
        "`edit .git/config` matches `edit *` ask of agent build",
        "`.git/config` is protected: each write of it is asked for",
    )


def test_every_verdict_that_is_not_an_allow_says_what_would_change_it():
    for chain in ((PLAN,), (PLAN, GENERAL), (BUILD,), (replace(BUILD, may_ask=False),), (replace(BUILD, mode=Mode.DONT_ASK),)):
        verdict, _ = decided(*chain)
        assert verdict.action is not Action.ALLOW
        assert changes_of(verdict.parts[0])
