"""Single decisions that no shared case spells out."""

from dataclasses import replace

from mcp_server.policy.chain import Commons, authority
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, AskRef, Condition, Mode, PlainValue, Reach, Request, Rule, SpawnValue
from mcp_server.policy.verdicts import Step
from tests.policy.universe import BARE, TARGET, WORKSPACE, asks_for, asks_in, command, member, path, rule, rules, ruling, verdict_of

QUESTION = asks_for("question", PlainValue(text="*"))


def test_a_question_needs_somebody_to_ask_whatever_allows_it():
    for texts in ((), ("question * allow",)):
        assert verdict_of((member(0, *texts),), QUESTION).action is Action.ALLOW
        quiet = verdict_of((member(0, *texts, may_ask=False),), QUESTION)
        assert (quiet.action, quiet.step) == (Action.DENY, Step.CHANNEL)
    assert verdict_of((member(0, mode=Mode.DONT_ASK),), QUESTION).action is Action.ALLOW


def test_a_session_that_may_not_disturb_keeps_its_descendants_from_it():
    chain = (member(0), member(1, may_ask=False), member(2))
    assert [verdict_of(chain[:length]).step for length in (1, 2, 3)] == [Step.MODE, Step.CHANNEL, Step.CHANNEL]


def test_a_folder_that_is_allowed_counts_as_inside_for_reading_alone():
    chain = (member(0, "external_directory /srv/* allow", mode=Mode.ACCEPT_EDITS),)
    outside = path("/srv/a")
    assert verdict_of(chain, asks_for("read", outside)).action is Action.ALLOW
    assert verdict_of(chain, asks_for("edit", outside)).action is Action.ASK
    assert verdict_of(chain, asks_for("read", path("/opt/a"))).action is Action.ASK
    barred = (member(0, "external_directory /srv/* ask"), member(1, "external_directory /srv/* allow"))
    assert verdict_of(barred, asks_for("read", outside)).action is Action.ASK


def test_a_superseded_deny_of_task_does_not_speak_for_it():
    """Else a deny put before `* allow` would open what is closed without it."""
    spawn = asks_for("task", SpawnValue(text="explore"))
    for texts, action in (
        (("* * allow",), Action.DENY),
        (("task * deny", "* * allow"), Action.DENY),
        (("task explore allow",), Action.ALLOW),
        (("task explore ask",), Action.ASK),
        (("task * deny", "task explore allow"), Action.ALLOW),
        (("t* * allow",), Action.DENY),
    ):
        assert verdict_of((member(0), member(1, *texts)), spawn).action is action, texts


def test_a_subagents_own_limits_bind_its_children_too():
    chain = (member(0), member(1, "task writer allow"), member(2, "task explore allow", "todowrite * allow"))
    assert verdict_of(chain, asks_for("task", SpawnValue(text="explore"))).action is Action.DENY
    assert verdict_of(chain, asks_for("todowrite", PlainValue(text="*"))).action is Action.DENY


def test_an_exception_for_itself_lets_a_subagent_spawn_and_not_its_children():
    spawn = asks_for("task", SpawnValue(text="explore"))
    chain = (member(0), member(1, "task explore allow self"), member(2, "task explore allow"))
    assert verdict_of(chain[:2], spawn).action is Action.ALLOW
    assert verdict_of(chain, spawn).action is Action.DENY


def test_narrowing_leaves_the_named_tools_and_binds_all_below():
    narrowed = replace(member(1, "* * allow"), narrowed=("write", "bash"))
    for chain in ((member(0), narrowed), (member(0), narrowed, member(2, "* * allow"))):
        assert verdict_of(chain, asks_for("edit", path("a"))).action is Action.ALLOW
        assert verdict_of(chain, asks_for("read", path("a"))).action is Action.DENY
        assert verdict_of(chain, asks_for("webfetch", PlainValue(text="https://a/"))).action is Action.DENY


def test_narrowing_lends_no_folder_to_anybody():
    narrowed = replace(member(1), narrowed=("read",))
    folder = asks_for("external_directory", path("/srv"))
    assert [verdict_of(chain, folder).action for chain in ((member(0), narrowed), (member(0), narrowed, member(2)))] == [Action.ASK] * 2


def test_tools_of_primary_agents_are_denied_under_their_permissions_name():
    shared = Commons(workspace=WORKSPACE, primary_tools=("write",))
    chain = (member(0, "edit * allow"), member(1, "edit * allow"))
    assert verdict_of(chain[:1], TARGET, shared).action is Action.ALLOW
    assert verdict_of(chain, TARGET, shared).action is Action.DENY


def test_what_the_operator_forbids_an_agent_is_forbidden_to_its_children():
    parent = replace(member(0), managed=rules("edit * deny"))
    assert verdict_of((parent, member(1, "edit * allow"))).action is Action.DENY


def test_the_persons_and_the_operators_rules_for_an_agent_end_their_layers():
    shared = Commons(workspace=WORKSPACE, person=rules("edit * ask"), managed=rules("edit * ask"))
    freed = replace(member(0), person=rules("edit src/* allow"), managed=rules("edit src/* allow"))
    assert verdict_of((member(0),), TARGET, shared).action is Action.ASK
    assert verdict_of((freed,), TARGET, shared).action is Action.ALLOW


# ---- spawns -------------------------------------------------------------------------------------

WIDE = asks_for("task", SpawnValue(text="writer", widening=("edit *",)))


def spawn_under(mode: Mode, *texts: str, person: tuple[str, ...] = ()) -> tuple[Action, Step]:
    found = verdict_of((member(0, *texts, mode=mode),), WIDE, Commons(workspace=WORKSPACE, person=rules(*person)))
    return found.action, found.step


def test_a_spawn_that_widens_is_answered_by_the_mode_unless_the_person_allowed_it_in_so_many_words():
    for texts in ((), ("task writer allow",)):
        assert spawn_under(Mode.DONT_ASK, *texts) == (Action.DENY, Step.DONT_ASK)
        assert spawn_under(Mode.DEFAULT, *texts) == (Action.ASK, Step.MODE)
        assert spawn_under(Mode.ACCEPT_EDITS, *texts) == (Action.ASK, Step.MODE)
        assert spawn_under(Mode.BYPASS, *texts)[0] is Action.ALLOW
    assert spawn_under(Mode.DEFAULT, person=("task writer allow",)) == (Action.ALLOW, Step.ALLOW)
    assert spawn_under(Mode.DEFAULT, person=("* * allow",)) == (Action.ASK, Step.MODE)


def test_what_a_spawn_widens_is_shown_beside_the_rule_that_asks():
    (part,) = verdict_of((member(0, "task * ask"),), WIDE).parts
    assert part.asks == (AskRef(owner="agent agent0", rule="task * ask"), AskRef(owner="widening", rule="task writer: edit *"))


def test_a_ruling_for_a_spawn_lifts_what_its_prompt_listed_and_nothing_that_came_since():
    chain = (member(0),)
    shown = verdict_of(chain, WIDE).asks
    standing = ruling(0, Reach.SESSION, shown, "task writer allow")
    assert verdict_of(chain, WIDE, rulings=(standing,)).step is Step.RULING
    more = asks_for("task", SpawnValue(text="writer", widening=("edit *", "bash *")))
    assert verdict_of(chain, more, rulings=(standing,)).action is Action.ASK


def test_rulings_that_are_handed_down_are_asked_for_in_every_mode_and_whatever_allows_the_spawn():
    handing = asks_for("task", SpawnValue(text="writer", handed=("bash make allow",)))
    shared = Commons(workspace=WORKSPACE, person=rules("task * allow"))
    for mode in (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.BYPASS):
        assert verdict_of((member(0, mode=mode),), handing, shared).action is Action.ASK
    assert verdict_of((member(0, mode=Mode.DONT_ASK),), handing, shared).action is Action.DENY


# ---- rulings ------------------------------------------------------------------------------------


def test_a_once_ruling_answers_its_own_call_alone_and_every_value_of_it():
    chain = (member(0, "edit * ask"),)
    both = (*TARGET, *asks_for("edit", path("b.py")))
    once = ruling(0, Reach.ONCE, asks_in(chain), "edit src/a.py allow")
    held = authority(chain, BARE, (once,))
    assert decide(held, both, "digest").step is Step.RULING
    assert decide(held, both, "another").action is Action.ASK
    assert decide(held, both).action is Action.ASK


def test_a_standing_ruling_is_used_before_one_for_a_single_call():
    chain = (member(0, "edit * ask"),)
    once = ruling(0, Reach.ONCE, asks_in(chain), number=1)
    session = ruling(0, Reach.SESSION, asks_in(chain), number=2)
    assert verdict_of(chain, rulings=(once, session)).rulings == ("r2",)


def test_rulings_of_several_prompts_are_not_added_up_for_one_value():
    """Each of their givers saw one ask, and none of them the two together."""
    chain = (member(0, "edit * ask"), member(1, "edit src/* ask"))
    shown = verdict_of(chain).asks
    apart = tuple(ruling(1, Reach.SESSION, (ask,), number=i) for i, ask in enumerate(shown))
    assert len(shown) == 2
    assert verdict_of(chain, rulings=apart).action is Action.ASK
    assert verdict_of(chain, rulings=(ruling(1, Reach.SESSION, shown),)).step is Step.RULING


def test_an_operators_reach_caps_the_ruling_that_may_answer():
    for cap, lifted in ((Reach.ONCE, [Reach.ONCE]), (Reach.SESSION, [Reach.ONCE, Reach.SESSION]), (Reach.TREE, list(Reach))):
        asking = replace(rule("edit * ask"), reach=cap)
        shared = Commons(workspace=WORKSPACE, managed=(asking,))
        shown = (AskRef(owner="managed settings", rule="edit * ask"),)
        found = [r for r in Reach if verdict_of((member(0),), TARGET, shared, (ruling(0, r, shown),)).action is Action.ALLOW]
        assert found == lifted


def test_a_standing_ruling_never_answers_for_what_cannot_be_read():
    from_prompt = ruling(0, Reach.SESSION, (AskRef(owner="silence", rule="bash"),), "bash * allow")
    hidden = asks_for("bash", command("git $X", opaque=True))
    assert verdict_of((member(0),), hidden, rulings=(from_prompt,)).action is Action.ASK
    once = ruling(0, Reach.ONCE, (AskRef(owner="silence", rule="bash"),), "bash * allow")
    assert verdict_of((member(0),), hidden, rulings=(once,)).action is Action.ALLOW


def test_rules_of_the_same_text_and_other_conditions_are_different_asks():
    def asking(base: str) -> Rule:
        return Rule(permission="git__merge", pattern="*", action=Action.ASK, when=(Condition(path=("base",), equals=base),))

    def merge(base: str) -> tuple[Request, ...]:
        return (Request(permission="git__merge", values=(PlainValue(text="*"),), arguments={"base": base}),)

    chain = (replace(member(0), rules=(asking("next"), asking("main"))),)
    shown = verdict_of(chain, merge("next")).asks
    standing = ruling(0, Reach.SESSION, shown, "git__merge * allow")
    assert verdict_of(chain, merge("next"), rulings=(standing,)).action is Action.ALLOW
    assert verdict_of(chain, merge("main"), rulings=(standing,)).action is Action.ASK


def test_a_ruling_from_silence_lifts_silence_for_its_tree_and_not_a_descendants_own_ask():
    standing = ruling(0, Reach.TREE, (AskRef(owner="silence", rule="edit"),))
    assert verdict_of((member(0), member(1)), rulings=(standing,)).step is Step.RULING
    assert verdict_of((member(0), member(1, "edit * ask")), rulings=(standing,)).action is Action.ASK
