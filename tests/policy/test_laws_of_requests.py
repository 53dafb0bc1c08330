"""Laws that the small universe's one request does not show: folders that are lent below, and doubts about a request."""

from dataclasses import replace
from itertools import product

import pytest

from mcp_server.policy.values import Action, Layer, LayerKind, Mode, PlainValue, Request
from mcp_server.policy.verdicts import Step
from tests.policy.universe import asks_for, command, member, path, rules, verdict_of

FOLDERS = {
    "silent": (),
    "allow": rules("external_directory /srv/* allow"),
    "ask": rules("external_directory * ask"),
    "deny": rules("external_directory /srv/* deny"),
    "allow everything": rules("* * allow"),
    "allow itself": rules("external_directory /srv/* allow self"),
}


def test_only_an_ancestors_allow_of_a_folder_crosses_a_spawn_and_any_deny_or_ask_beats_it():
    folder = asks_for("external_directory", path("/srv/cache"))
    for length in range(1, 5):
        for names in product(FOLDERS, repeat=length):
            chain = tuple(replace(member(i), rules=FOLDERS[name]) for i, name in enumerate(names))
            *above, own = names
            heard = {*above, own} & {"ask", "deny"} or {"allow"} & set(above) or {own}
            action = verdict_of(chain, folder).action
            if "deny" in heard:
                assert action is Action.DENY, names
            elif "ask" in heard or not {*heard, own} & {"allow", "allow everything", "allow itself"}:
                assert action is Action.ASK, names
            else:
                assert action is Action.ALLOW, names


def brought(*texts: str, may_allow: bool = False) -> Layer:
    """A layer that a request brings along."""
    return Layer(kind=LayerKind.GUARD, owner="pin", rules=rules(*texts), may_allow=may_allow)


@pytest.mark.parametrize("own", ["play__say * allow", "play__say * ask", "play__say * deny", "read * allow"])
@pytest.mark.parametrize("mode", list(Mode))
def test_a_layer_that_a_request_brings_along_only_ever_makes_it_stricter(own: str, mode: Mode):
    bare = Request(permission="play__say", values=(PlainValue(text="*"),))
    chain = (member(0, own, mode=mode),)
    before = verdict_of(chain, (bare,)).action
    for texts, least in (
        ((), Action.ALLOW),
        (("play__* * ask",), Action.ASK),
        (("* * deny",), Action.DENY),
        (("* * allow",), Action.ALLOW),
    ):
        after = verdict_of(chain, (replace(bare, guards=(brought(*texts),)),)).action
        assert after >= max(before, least)


DOUBTS: dict[str, tuple[Request, ...]] = {
    "no requests": (),
    "no values": (Request(permission="edit", values=()),),
    "one of two without values": (Request(permission="edit", values=(path("a"),)), Request(permission="read", values=())),
    "no permission": (Request(permission="", values=(PlainValue(text="*"),)),),
    "a wildcard for a permission": (Request(permission="e*", values=(PlainValue(text="*"),)),),
    "a path that is plain text": (Request(permission="read", values=(PlainValue(text="src/a.py"),)),),
    "a command that is plain text": (Request(permission="bash", values=(PlainValue(text="ls"),)),),
    "a spawn that is plain text": (Request(permission="task", values=(PlainValue(text="explore"),)),),
    "a path that is not absolute": (Request(permission="read", values=(replace(path("a"), resolved="a"),)),),
    "a layer of its own that may allow": (
        Request(permission="play__say", values=(PlainValue(text="*"),), guards=(brought("* * allow", may_allow=True),)),
    ),
    "a path with a NUL": asks_for("read", path("a\0b")),
    "a command with a NUL": asks_for("bash", command("ls\0; rm a")),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_every_doubt_about_a_request_closes(name: str):
    chain = (member(0, "* * allow opaque", mode=Mode.BYPASS),)
    verdict = verdict_of(chain, DOUBTS[name])
    assert (verdict.action, verdict.step) == (Action.DENY, Step.MALFORMED)
    assert verdict.problem
