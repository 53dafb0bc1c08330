"""Commands that hold what cannot be read, and commands whose effects are not known."""

from dataclasses import replace

import pytest

from mcp_server.policy.chain import Commons
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, Mode, Request
from mcp_server.policy.verdicts import Step
from tests.policy.universe import HOME, WORKSPACE, asks_for, command, member, verdict_of

GUARDED = Commons(workspace=WORKSPACE, guard=guard_rules(WORKSPACE, HOME, f"{HOME}/state"))
HIDDEN = asks_for("bash", command("python3 -c 'x'", opaque=True, effects_known=False))
HELD = asks_for("bash", command("python3 -c 'x'", opaque=True))
"""The same where a sandbox holds what the rules say of files and addresses."""
MAKE = asks_for("bash", command("make", effects_known=False))


def decided(*texts: str, mode: Mode = Mode.DEFAULT, requests: tuple[Request, ...] = HIDDEN) -> tuple[Action, Step]:
    found = verdict_of((member(0, *texts, mode=mode),), requests, GUARDED)
    return found.action, found.step


def test_an_allow_of_a_program_does_not_vouch_for_what_cannot_be_read():
    assert decided("bash python3 * allow") == (Action.ASK, Step.MODE)
    assert decided("* * allow") == (Action.ASK, Step.MODE)
    assert decided("bash python3 * allow opaque") == (Action.ALLOW, Step.ALLOW)


def test_a_visible_deny_beats_what_cannot_be_read():
    assert decided("bash * allow opaque", "bash python3 * deny") == (Action.DENY, Step.DENY)


def test_bypass_lets_what_cannot_be_read_pass_only_where_no_deny_or_ask_could_apply():
    assert decided(mode=Mode.BYPASS) == (Action.ALLOW, Step.MODE)
    assert decided("bash python3 * allow", mode=Mode.BYPASS) == (Action.ALLOW, Step.MODE)
    assert decided("bash git push * ask", mode=Mode.BYPASS) == (Action.ASK, Step.MODE)
    for text in ("edit secret deny", "read *.pem ask", "webfetch https://a/* deny", "e* x ask"):
        assert decided(text, mode=Mode.BYPASS) == (Action.ASK, Step.ASK), text
    assert decided("edit x deny", "edit * allow", mode=Mode.BYPASS) == (Action.ALLOW, Step.MODE)


def test_where_the_sandbox_holds_only_rules_of_the_shell_keep_bypass_from_what_cannot_be_read():
    assert decided("bash git push * ask", mode=Mode.BYPASS, requests=HELD) == (Action.ASK, Step.MODE)
    for text in ("edit secret deny", "read *.pem ask", "webfetch https://a/* deny"):
        assert decided(text, mode=Mode.BYPASS, requests=HELD) == (Action.ALLOW, Step.MODE), text
    assert decided("edit secret deny", requests=HELD) == (Action.ASK, Step.MODE)


def test_bypass_hears_an_ancestors_deny_but_not_what_it_bars_itself_from():
    for text, action in (("bash x deny", Action.ASK), ("edit * deny", Action.DENY), ("edit * deny self", Action.ALLOW)):
        chain = (member(0, text, mode=Mode.BYPASS), member(1))
        assert verdict_of(chain, HIDDEN).action is action


def test_effects_that_are_not_known_ask_where_a_rule_could_speak_of_them():
    assert decided("bash * allow", requests=MAKE) == (Action.ALLOW, Step.ALLOW)
    assert decided("edit secret/* deny", mode=Mode.BYPASS, requests=MAKE) == (Action.ASK, Step.ASK)
    assert decided("read *.pem ask", mode=Mode.BYPASS, requests=MAKE) == (Action.ASK, Step.ASK)
    assert decided("edit x deny", "edit * allow", mode=Mode.BYPASS, requests=MAKE) == (Action.ALLOW, Step.MODE)


def test_effects_that_are_not_known_are_denied_where_the_permission_is_denied_wholly():
    assert decided("edit * deny", requests=MAKE) == (Action.DENY, Step.DENY)
    assert decided("edit * deny", "edit docs/* deny", requests=MAKE) == (Action.DENY, Step.DENY)
    assert decided("edit * deny", "edit docs/* allow", requests=MAKE)[0] is Action.ASK
    assert decided("* * deny", "bash * allow", requests=MAKE) == (Action.DENY, Step.DENY)
    shown = replace(command("git diff", effects_known=False), unseen=("read",))
    assert decided("* * deny", "bash * allow", requests=asks_for("bash", shown)) == (Action.ALLOW, Step.ALLOW)


def test_a_layer_that_allows_the_command_vouches_against_its_own_asks_only():
    parent, child = member(0, "edit * ask"), member(1, "bash make allow")
    assert verdict_of((parent, child), MAKE).action is Action.ASK
    trusting = member(0, "edit * ask", "bash make allow")
    assert verdict_of((trusting, child), MAKE).action is Action.ALLOW
    denying = member(0, "edit secret deny", "bash make allow")
    assert verdict_of((denying, child), MAKE).action is Action.ASK


def test_the_rule_that_could_apply_is_named_with_the_reason():
    (part,) = verdict_of((member(0, "edit secret/* deny"),), MAKE).parts
    (said,) = [each for each in part.opinions if each.action is Action.ASK]
    assert str(said.rule) == "edit secret/* deny"
    assert "not known" in said.note
    assert [str(ask) for ask in part.asks] == ["agent agent0: edit secret/* deny"]


@pytest.mark.parametrize("mode", list(Mode))
def test_the_guards_own_rules_do_not_make_every_command_ask(mode: Mode):
    assert decided("bash make allow", mode=mode, requests=MAKE) == (Action.ALLOW, Step.ALLOW)


def test_a_read_only_command_is_allowed_at_silence_and_not_where_a_rule_could_speak_of_it():
    ls = asks_for("bash", command("ls", read_only=True))
    assert verdict_of((member(0),), ls).step is Step.MODE
    assert verdict_of((member(0),), ls).action is Action.ALLOW
    assert verdict_of((member(0, "bash ls ask"),), ls).action is Action.ASK
    assert verdict_of((member(0),), asks_for("bash", command("ls", read_only=True, opaque=True))).action is Action.ASK


def test_an_ask_for_the_command_itself_does_not_hide_what_else_its_layer_says():
    assert decided("edit * deny", "bash make ask", requests=MAKE) == (Action.DENY, Step.DENY)
    (part,) = verdict_of((member(0, "edit secret/* ask", "bash make ask"),), MAKE).parts
    assert [str(ask) for ask in part.asks] == ["agent agent0: bash make ask", "agent agent0: edit secret/* ask"]
