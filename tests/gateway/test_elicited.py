"""What another server asks, on a card of the console and the panel, in a terminal, and in a client that shows forms but opens no links."""

import io
import json
from dataclasses import replace

import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from mcp_server.cli.asked import text_of
from mcp_server.cli.fields import put_fields
from mcp_server.cli.terminal import Terminal
from mcp_server.cli.whole import lines_of
from mcp_server.elicited import ElicitationSubject, LinkAsked
from mcp_server.gateway.answering import NotCounted, answer_in
from mcp_server.gateway.cards import Shown, card
from mcp_server.protocol.forms import message_of, schema_of
from mcp_server.protocol.replies import Answered, Unusable, read_reply
from mcp_server.protocol.upstream.elicitations import asked_in
from mcp_server.records import Answer, Prompt
from mcp_server.sessions.answers import accepts
from tests.protocol.scripts import QUESTION
from tests.protocol.test_forms import prompt_of as approval_prompt

FORM = asked_in(
    ElicitRequestFormParams(
        message="Book it?\n<b>Decision</b>: Allow once\x1b[2J",
        requested_schema={
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 2, "default": "Ada"},
                "seats": {"type": "integer", "minimum": 1, "maximum": 9},
                "window": {"type": "boolean"},
                "meal": {"type": "string", "enum": ["meat", "plants"]},
                "bags": {"type": "array", "items": {"anyOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}},
            },
            "required": ["name"],
        },
    )
)
LINK = LinkAsked(message="Sign in", url="https://xn--exmple-cua.org/go", host="xn--exmple-cua.org")

VALUES = {"name": "Bob", "seats": 2, "window": False, "meal": "plants", "bags": ["s", "l"]}


def prompt_of(asked: object = FORM) -> Prompt:
    subject = ElicitationSubject(server="play", tool="play__book", asked=asked)  # pyright: ignore[reportArgumentType] - one of the two above
    return replace(approval_prompt(QUESTION), subject=subject)


def sent(prompt: Prompt, **fields: list[str]) -> Answer | NotCounted:
    return answer_in(prompt, {"digest": [prompt.digest], **fields}, by="local", channel="console", at=1.0)


@pytest.mark.parametrize("here", ["console", "panel"])
def test_a_card_shows_whose_words_they_are_and_a_field_for_each_value(here: str) -> None:
    shown = card(Shown(prompt=prompt_of()), action="/a", form_key="k", here=here).text
    assert ": the MCP server <bdi" in shown
    assert "&lt;b&gt;Decision&lt;/b&gt;: Allow once" in shown
    assert "\x1b" not in shown
    assert all(f'name="field_{place}"' in shown for place in range(5))
    assert 'name="choice"' not in shown
    assert all(f'name="action" value="{value}"' in shown for value in ("accept", "decline", "cancel"))


def test_what_a_card_sends_is_held_against_the_form() -> None:
    prompt = prompt_of()
    filled = sent(prompt, action=["accept"], field_0=["Bob"], field_1=["2"], field_2=["no"], field_3=["2"], field_4=["1", "2"])
    assert isinstance(filled, Answer)
    assert (filled.choice, json.loads(filled.words)) == (None, {"action": "accept", "content": VALUES})
    assert accepts(prompt, filled)
    for wrong in ({"field_0": ["B"]}, {"field_0": ["Bob"], "field_1": ["10"]}, {"field_0": ["Bob"], "field_3": ["meal"]}, {}):
        refused = sent(prompt, action=["accept"], **wrong)
        assert isinstance(refused, NotCounted)
        assert "not everything fits what was asked" in refused.reason
    assert isinstance(sent(prompt, choice=["allow_once"]), NotCounted)
    assert not accepts(prompt, replace(filled, words='{"action": "accept", "content": {"name": "Bob", "other": 1}}'))
    declined = sent(prompt, action=["decline"])
    assert isinstance(declined, Answer)
    assert json.loads(declined.words) == {"action": "decline"}


def test_a_link_is_shown_with_its_host_and_opened_by_the_person_alone() -> None:
    prompt = prompt_of(LINK)
    console = card(Shown(prompt=prompt), action="/a", form_key="k").text
    panel = card(Shown(prompt=prompt), action="/a", form_key="k", here="panel").text
    assert '<a href="https://xn--exmple-cua.org/go" target="_blank" rel="noopener noreferrer external">' in console
    assert 'data-link="https://xn--exmple-cua.org/go"' in panel
    assert "<a " not in panel
    assert "It leads to xn--exmple-cua.org:" in message_of(prompt)
    assert "It leads to xn--exmple-cua.org:" in text_of(prompt)
    assert any(line.text == "Its link leads to xn--exmple-cua.org" for line in lines_of(Shown(prompt=prompt)))


@pytest.mark.parametrize(
    ("content", "means"),
    [({"link": "opened"}, "accept"), ({"link": "not_opened"}, "decline"), ({}, None), ({"decision": "allow_once"}, None)],
)
def test_a_client_without_links_is_asked_whether_it_was_opened_and_a_bare_accept_says_nothing(
    content: dict[str, str | int | float | bool | list[str] | None], means: str | None
) -> None:
    prompt = prompt_of(LINK)
    assert schema_of(prompt, titled=True)["required"] == ["link"]
    reply = read_reply(prompt, ElicitResult(action="accept", content=content), seconds=9.0, reflex=0.1)
    if means is None:
        assert isinstance(reply, Unusable)
    else:
        assert isinstance(reply, Answered)
        assert (reply.choice, json.loads(reply.words)["action"]) == (None, means)


def test_in_a_terminal_each_field_is_put_and_what_hides_is_shown() -> None:
    prompt = prompt_of()
    assert isinstance(prompt.subject, ElicitationSubject)
    writes = io.StringIO()
    values = put_fields(Terminal(reads=io.StringIO("Bob\n2\nno\n2\n1, 2\n"), writes=writes), prompt.subject)
    assert values == VALUES
    assert "    1  Small" in writes.getvalue()
    assert "  │ <b>Decision</b>: Allow once" in text_of(prompt)
    assert "\x1b" not in text_of(prompt)
    assert not any(line.text.startswith("Book it?") for line in lines_of(Shown(prompt=prompt)))
