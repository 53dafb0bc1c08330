"""One prompt as a page shows it: who asks for what, why, the exact call, and a button for each answer with the rules it would create."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mcp_server.elicited import ElicitationSubject
from mcp_server.gateway import elicited_cards
from mcp_server.gateway.details import Part
from mcp_server.gateway.html import Child, Html, el, exact, join, lined, said
from mcp_server.records import Answer, ApprovalSubject, BudgetSubject, Choice, Prompt, PromptState, Question, QuestionSubject
from mcp_server.sessions.offered import budget_choices, choices_of, lasting
from mcp_server.sessions.wants import amount
from mcp_server.sessions.wording import time_of

KEYS: Mapping[Choice, str] = {
    Choice.ALLOW_ONCE: "a",
    Choice.ALLOW_SESSION: "s",
    Choice.ALLOW_TREE: "t",
    Choice.DENY: "d",
    Choice.DENY_SESSION: "x",
}
"""The key that gives each answer, on the card that has the focus."""

LONG = 120
"""Characters past which an argument gets a box of its own."""

WORDS_CHARS = 2000
"""Of a person's own words; as in the client's form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A prompt with what is shown beside it."""

    prompt: Prompt
    diff: str = ""
    parts: tuple[Part, ...] = ()
    whose: str = ""
    """Whose it is, where it is somebody else's."""
    roles: tuple[str, ...] = ()
    """By which who looks may answer somebody else's."""

    @property
    def offered(self) -> Prompt:
        """The prompt with what whoever looks may choose from."""
        subject, answer = self.prompt.subject, self.prompt.answer
        by_role = bool(self.roles or (answer is not None and answer.roles))
        if not by_role or not isinstance(subject, ApprovalSubject):
            return self.prompt
        return replace(self.prompt, subject=replace(subject, offers=subject.role_offers))

    @property
    def answerable(self) -> bool:
        """May whoever looks answer it at all?"""
        return not self.whose or bool(self.roles)


def card(shown: Shown, *, action: str, form_key: str, note: str = "", here: str = "console") -> Html:
    """The whole card. `action`: where its answers are sent. `note`: what was just found out. `here`: the channel it is shown in."""
    prompt = shown.offered
    state = "open" if prompt.state is PromptState.OPEN else "over"
    attributes = {"class": f"card {state}", "id": f"card-{prompt.id}", "data-prompt": prompt.id, "data-state": state, "tabindex": "-1"}
    labelled = {**attributes, "aria-labelledby": f"title-{prompt.id}"}
    body = _evidence(shown, here)
    return el(
        "article",
        labelled,
        _head(prompt, shown.whose),
        el("p", {"class": "note", "role": "status"}, note) if note else None,
        _over(prompt, here) if state == "over" else None,
        el("div", {"class": "evidence"}, *body),
        *_below(shown, action, form_key, state),
    )


def _below(shown: Shown, action: str, form_key: str, state: str) -> Iterator[Child]:
    if state != "open":
        return
    if shown.roles:
        yield el("p", {"class": "note"}, f"You may answer it as {' and '.join(shown.roles)}, for this once.")
    yield (
        _answers(shown.offered, action, form_key) if shown.answerable else el("p", {"class": "note"}, "You may read it, and not answer it.")
    )


def path(prompt: Prompt) -> Html:
    """`build › explore`."""
    return agents(prompt.session_path)


def agents(names: Sequence[str]) -> Html:
    """A path of agents."""
    return join(*(join(" › " if place else None, said(name)) for place, name in enumerate(names)))


def moment(at: float, mode: str = "") -> Html:
    """A time; `mode` lets the page's script write it as an age (`age`) or as what is left (`left`)."""
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    return el("time", {"datetime": stamp, **({"data-as": mode} if mode else {})}, time_of(at))


# ---- what is asked ------------------------------------------------------------------------------


def _head(prompt: Prompt, whose: str) -> Html:
    match prompt.subject:
        case ApprovalSubject() as subject:
            wants: Html = join(" wants to use ", said(subject.tool))
        case QuestionSubject():
            wants = join(" asks you")
        case BudgetSubject():
            wants = join(" has used up a budget")
        case ElicitationSubject() as subject:
            wants = elicited_cards.wants(subject)
    lapses = (
        join(" · lapses at ", moment(prompt.deadline, "left")) if prompt.deadline is not None and prompt.state is PromptState.OPEN else None
    )
    return el(
        "header",
        None,
        el("h2", {"id": f"title-{prompt.id}"}, path(prompt), wants),
        el("p", {"class": "whose"}, said(whose)) if whose else None,
        el("p", {"class": "when"}, "asked ", moment(prompt.created_at, "age"), lapses, " · ", el("span", {"class": "id"}, prompt.id)),
    )


def _evidence(shown: Shown, here: str) -> list[Child]:
    match shown.prompt.subject:
        case ApprovalSubject() as subject:
            return [*_approval(shown, subject)]
        case QuestionSubject():
            return []
        case ElicitationSubject() as subject:
            return [*elicited_cards.evidence(subject, panel=here == "panel")]
        case BudgetSubject() as budget:
            whose = "the whole tree below this connection" if budget.scope == "tree" else "this session"
            return [
                _facts(
                    (
                        (f"Allowed to {whose}", amount(budget.resource, budget.allowed)),
                        ("Used so far", amount(budget.resource, budget.spent)),
                    )
                )
            ]


def _approval(shown: Shown, subject: ApprovalSubject) -> Iterator[Child]:
    if shown.diff:
        yield _section("What it changes", lined(shown.diff, of="What it changes", diff=True))
    yield _section("The call", el("dl", {"class": "arguments"}, *_arguments(subject)))
    if shown.parts:
        yield _section("Its parts", el("ol", {"class": "box parts", "tabindex": "0"}, *map(_part, shown.parts)))
    needs = _section("Needs", _list("wants", map(exact, subject.wants)))
    because = _section("Asked because", _list("because", map(said, subject.because)))
    yield el("div", {"class": "why"}, needs, because)
    if subject.notes:
        yield _section("Note", _list("notes", map(said, subject.notes)))
    calls = len(shown.prompt.calls)
    if calls > 1:
        yield el("p", {"class": "note"}, f"{calls} calls, all the same, wait for this answer.")


def _section(title: str, body: Child) -> Html:
    return el("section", None, el("h3", None, title), body)


def _list(kind: str, items: Iterator[Html]) -> Html:
    return el("ul", {"class": f"box {kind}", "tabindex": "0"}, *(el("li", None, item) for item in items))


def _facts(facts: Sequence[tuple[str, str]]) -> Html:
    return el("dl", None, *(join(el("dt", None, name), el("dd", None, value)) for name, value in facts))


def _arguments(subject: ApprovalSubject) -> Iterator[Child]:
    if not subject.arguments:
        yield el("dd", None, "no arguments")
    for name, value in subject.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield el("dt", None, said(name))
        if "\n" in text or len(text) > LONG:
            yield el("dd", None, lined(text, of="The value of an argument", diff=subject.tool == "apply_patch"))
        else:
            yield el("dd", None, exact(text) if text else el("em", None, "empty"))


def _part(part: Part) -> Html:
    name = exact(part.text) if part.text else el("em", None, "the line as a whole")
    traits = (el("span", {"class": "trait"}, said(trait)) for trait in part.traits)
    touches = [el("li", None, f"{deed} ", exact(what)) for deed, what in part.touches]
    return el("li", None, name, " ", *traits, el("ul", None, *touches) if touches else None)


# ---- answers ------------------------------------------------------------------------------------


def _answers(prompt: Prompt, action: str, form_key: str) -> Html:
    # Enter in a line of words presses a form's first button: let that be one that does nothing.
    hidden = [
        _hidden("key", form_key),
        _hidden("digest", prompt.digest),
        el("button", {"type": "submit", "disabled": True, "hidden": True}),
    ]
    match prompt.subject:
        case ApprovalSubject() as subject:
            deeds = choices_of(prompt)
            rules = {offer.choice: offer.rules for offer in subject.offers}
            buttons = [_button(prompt, choice, rules[choice]) for choice in deeds]
        case BudgetSubject() as budget:
            words = budget_choices(budget)
            buttons = [_plain_button(Choice(value), title) for value, title in words.items()]
        case QuestionSubject() as subject:
            asked = [_question(prompt, number, question) for number, question in enumerate(subject.questions)]
            send = el("button", {"type": "submit", "class": "allow"}, "Send the answer")
            return el("form", {"method": "post", "action": action, "class": "answers"}, *hidden, *asked, send)
        case ElicitationSubject() as subject:
            fields = elicited_cards.answers(prompt, subject)
            return el("form", {"method": "post", "action": action, "class": "answers"}, *hidden, *fields)
    return el(
        "form",
        {"method": "post", "action": action, "class": "answers"},
        *hidden,
        el("div", {"class": "buttons", "role": "group", "aria-label": "Answers"}, *buttons),
        el("p", {"class": "when"}, ending) if (ending := lasting(prompt)) else None,
        _words(prompt),
    )


def _button(prompt: Prompt, choice: Choice, rules: Sequence[str]) -> Html:
    whose = "this subagent" if len(prompt.session_path) > 1 else "this session"
    titles = {
        Choice.ALLOW_ONCE: "Allow once",
        Choice.ALLOW_SESSION: f"Allow for {whose}",
        Choice.ALLOW_TREE: f"Allow for {whose} and its subagents",
        Choice.DENY: "Deny",
        Choice.DENY_SESSION: f"Deny for {whose}",
    }
    ruled = el("ul", {"class": "box rules"}, *(el("li", None, exact(rule)) for rule in rules)) if rules else None
    return el("div", {"class": "answer"}, _plain_button(choice, titles[choice]), ruled)


def _plain_button(choice: Choice, title: str) -> Html:
    kind = "deny" if choice in (Choice.DENY, Choice.DENY_SESSION) else "allow"
    attributes = {"type": "submit", "name": "choice", "value": choice.value, "class": kind, "data-key": KEYS[choice]}
    return el("button", {**attributes, "aria-keyshortcuts": KEYS[choice]}, title, " ", el("kbd", {"aria-hidden": "true"}, KEYS[choice]))


def _words(prompt: Prompt) -> Html:
    identity = f"words-{prompt.id}"
    field = {"id": identity, "name": "words", "type": "text", "maxlength": str(WORDS_CHARS), "autocomplete": "off"}
    return el("p", {"class": "words"}, el("label", {"for": identity}, "Words to the model (optional)"), el("input", field))


def _question(prompt: Prompt, number: int, question: Question) -> Html:
    kind = "checkbox" if question.multiple else "radio"
    own = f"own-{number}-{prompt.id}"
    field = {"id": own, "name": f"own_{number}", "type": "text", "maxlength": str(WORDS_CHARS), "autocomplete": "off"}
    options: list[Html] = []
    for place, option in enumerate(question.options):
        identity = f"option-{number}-{place}-{prompt.id}"
        words = [said(option.label), join(": ", said(option.description)) if option.description else None]
        box = el("input", {"id": identity, "name": f"answer_{number}", "type": kind, "value": str(place)})
        options.append(el("p", {"class": "option"}, box, " ", el("label", {"for": identity}, *words)))
    title = "In your own words, beside or instead of the choice (optional)" if options else "Your answer"
    legend = el("legend", None, join(said(question.header), ": ") if question.header else None, said(question.question))
    return el("fieldset", None, legend, *options, el("p", {"class": "words"}, el("label", {"for": own}, title), el("input", field)))


def _hidden(name: str, value: str) -> Html:
    return el("input", {"type": "hidden", "name": name, "value": value})


# ---- afterwards ---------------------------------------------------------------------------------


def _over(prompt: Prompt, here: str) -> Html:
    return el("p", {"class": "over", "role": "status"}, *ending(prompt, here))


def ending(prompt: Prompt, here: str = "console") -> Iterator[Child]:
    """How a prompt that is open no more came to its end."""
    answer = prompt.answer
    match prompt.state:
        case PromptState.OPEN:
            yield "It is open."
        case PromptState.ANSWERED if answer is not None:
            yield from _answered(prompt, answer, here)
        case PromptState.ANSWERED | PromptState.EXPIRED | PromptState.WITHDRAWN | PromptState.UNASKABLE:
            words = {
                PromptState.ANSWERED: "It was answered",
                PromptState.EXPIRED: "Nobody answered in time",
                PromptState.WITHDRAWN: "It was withdrawn",
                PromptState.UNASKABLE: "Nobody could be asked",
                PromptState.OPEN: "",
            }
            yield words[prompt.state]
            yield join(": ", said(prompt.reason)) if prompt.reason else "."


def _answered(prompt: Prompt, answer: Answer, here: str) -> Iterator[Child]:
    where = {
        "console": "in the console",
        "approvals": "in a terminal",
        "form": "in the client",
        "input_required": "in the client",
        "panel": "in the client's panel",
    }
    deed = choices_of(prompt).get(answer.choice, answer.choice.value) if answer.choice is not None else "answered"
    yield f"Answered {'here ' if answer.channel == here else ''}{where.get(answer.channel, 'elsewhere')} at "
    yield moment(answer.at)
    yield ": "
    yield said(deed)
    if answer.words and answer.choice is not None:
        yield join(", with the words ", said(answer.words))
