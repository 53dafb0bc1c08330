"""What another server asks, as a card has it: its words marked as its own, a field for each value, or its link, its host in plain sight.

And back: what such a form sent, as the answer that is kept.
"""

from collections.abc import Iterator, Mapping, Sequence

from mcp_server.elicited import (
    AnyField,
    BooleanField,
    ChoiceField,
    ChoicesField,
    ElicitationSubject,
    FormAsked,
    LinkAsked,
    NumberField,
    Replied,
    TextField,
)
from mcp_server.gateway.html import Child, Html, el, exact, join, said
from mcp_server.records import Prompt
from mcp_server.sessions.elicited_words import about, caution, fields_of
from mcp_server.sessions.fitting import MOST_TYPED, Misfit, fitted, kept, read

ACTION = "action"
"""The name of a card's buttons."""

KEYS: Mapping[str, str] = {"accept": "a", "decline": "d"}

Sent = Mapping[str, Sequence[str]]


def wants(subject: ElicitationSubject) -> Html:
    """Behind the path of agents in a card's title."""
    verb = " wants you to open a link" if isinstance(subject.asked, LinkAsked) else " asks you"
    return join(" uses ", said(subject.tool), ": the MCP server ", said(subject.server), verb)


def evidence(subject: ElicitationSubject, *, panel: bool) -> Iterator[Child]:
    """What it says, and where its link leads. `panel`: in a frame that opens nothing by itself."""
    lines = (el("p", None, said(line)) for line in subject.asked.message.splitlines()[:100])
    yield el("section", None, el("h3", None, "The server's words"), el("div", {"class": "box words-of-server", "tabindex": "0"}, *lines))
    if isinstance(subject.asked, LinkAsked):
        link = subject.asked
        button = el("button", {"type": "button", "data-link": link.url}, "Open ", said(link.host))
        anchor = el("a", {"href": link.url, "target": "_blank", "rel": "noopener noreferrer external"}, "Open ", said(link.host))
        yield el(
            "section",
            None,
            el("h3", None, "Its link leads to ", said(link.host)),
            el("p", None, exact(link.url)),
            el("p", None, button if panel else anchor),
        )
    yield el("p", {"class": "note"}, caution(subject))


def answers(prompt: Prompt, subject: ElicitationSubject) -> Iterator[Child]:
    """Fields and buttons."""
    yield from (_field(prompt, number, field) for number, field in enumerate(fields_of(subject)))
    link = isinstance(subject.asked, LinkAsked)
    titles = {
        "accept": "I have opened it" if link else f"Send it to {subject.server}",
        "decline": "Refuse to open it" if link else "Refuse to answer",
        "cancel": "Close it without an answer",
    }
    buttons = (_button(action, title) for action, title in titles.items())
    yield el("div", {"class": "buttons", "role": "group", "aria-label": "Answers"}, *buttons)


def _button(action: str, title: str) -> Html:
    key = KEYS.get(action)
    attributes = {"type": "submit", "name": ACTION, "value": action, "class": "allow" if action == "accept" else "deny"}
    if key is None:
        return el("div", {"class": "answer"}, el("button", attributes, title))
    keyed = {**attributes, "data-key": key, "aria-keyshortcuts": key}
    return el("div", {"class": "answer"}, el("button", keyed, title, " ", el("kbd", {"aria-hidden": "true"}, key)))


def _field(prompt: Prompt, number: int, field: AnyField) -> Html:
    name, identity = f"field_{number}", f"field-{number}-{prompt.id}"
    more = [words for words in (about(field), "" if field.required else "may be left out") if words]
    legend = el("legend", None, said(field.label), f" ({', '.join(more)})" if more else None)
    described = el("p", None, said(field.description)) if field.description else None
    return el("fieldset", None, legend, described, *_inputs(name, identity, field))


def _inputs(name: str, identity: str, field: AnyField) -> Iterator[Child]:
    match field:
        case TextField() | NumberField():
            default = "" if field.default is None else f"{field.default:g}" if isinstance(field, NumberField) else str(field.default)
            most = str(MOST_TYPED if isinstance(field, NumberField) or field.most is None else min(field.most, MOST_TYPED))
            box = {"id": identity, "name": name, "type": "text", "maxlength": most, "autocomplete": "off", "value": default}
            yield el("p", {"class": "words"}, el("label", {"for": identity}, said(field.label)), el("input", box))
        case BooleanField(default=default):
            yield _option(f"{identity}-yes", name, "radio", "yes", "Yes", chosen=default is True)
            yield _option(f"{identity}-no", name, "radio", "no", "No", chosen=default is False)
        case ChoiceField() | ChoicesField():
            several = isinstance(field, ChoicesField)
            defaults = (field.default or ()) if isinstance(field, ChoicesField) else (field.default,)
            for place, option in enumerate(field.options, 1):
                kind, chosen = "checkbox" if several else "radio", option.value in defaults
                yield _option(f"{identity}-{place}", name, kind, str(place), option.title or option.value, chosen=chosen)


def _option(identity: str, name: str, kind: str, value: str, words: str, *, chosen: bool) -> Html:
    box = el("input", {"id": identity, "name": name, "type": kind, "value": value, "checked": chosen})
    return el("p", {"class": "option"}, box, " ", el("label", {"for": identity}, said(words)))


# ---- what was sent ------------------------------------------------------------------------------


def words_in(subject: ElicitationSubject, sent: Sent) -> str:
    """The answer as it is kept.

    Raises:
        Misfit: It is none that the card offers.
    """
    match list(sent.get(ACTION, ())):
        case ["accept"] if isinstance(subject.asked, FormAsked):
            given = {field.name: read(field, sent.get(f"field_{number}", ())) for number, field in enumerate(subject.asked.fields)}
            return kept(Replied(action="accept", content=fitted(subject.asked, given)))
        case ["accept"]:
            return kept(Replied(action="accept"))
        case ["decline"]:
            return kept(Replied(action="decline"))
        case ["cancel"]:
            return kept(Replied(action="cancel"))
        case _:
            raise Misfit("this prompt does not offer that answer")
