"""A prompt as the terminal inbox shows it: whole, line by line, with what an edit changes and the parts of a line of shell.

Every line is ours up to its indent; what a model or a file chose stands behind one, and nothing in it is obeyed or hides.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_server.cli.asked import deed_of
from mcp_server.cli.fields import lines_of_field
from mcp_server.cli.table import plain
from mcp_server.elicited import ElicitationSubject, LinkAsked
from mcp_server.gateway.cards import KEYS, Shown
from mcp_server.gateway.details import Part
from mcp_server.records import ApprovalSubject, BudgetSubject, Prompt, PromptState, QuestionSubject
from mcp_server.sessions.elicited_words import MARK, caution, deeds, fields_of, head
from mcp_server.sessions.offered import choices_of
from mcp_server.sessions.wants import amount
from mcp_server.sessions.wording import time_of

MOST_CHARS = 200_000
"""Of one argument. The longest that tools take in practice fit; what is cut is counted."""

Kind = Literal["head", "over", "text", "added", "removed", "place"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line, not wrapped yet."""

    kind: Kind
    text: str


def lines_of(shown: Shown) -> tuple[Line, ...]:
    """The whole prompt."""
    return tuple(_lines(shown))


def _lines(shown: Shown) -> Iterator[Line]:
    prompt = shown.prompt
    if prompt.state is not PromptState.OPEN:
        yield Line("over", plain(ended_words(prompt)))
        yield Line("text", "")
    match prompt.subject:
        case ApprovalSubject() as subject:
            yield Line("head", plain(f"{_path(prompt)} wants to use {subject.tool}"))
            yield from _when(prompt)
            yield from _approval(shown, subject)
        case QuestionSubject() as subject:
            yield Line("head", plain(f"{_path(prompt)} asks you"))
            yield from _when(prompt)
            yield from _questions(subject)
        case BudgetSubject() as subject:
            whose = "the whole tree below this connection" if subject.scope == "tree" else "this session"
            yield Line("head", plain(f"{_path(prompt)} has used up a budget and waits"))
            yield from _when(prompt)
            yield Line("text", f"  Allowed to {whose}: {amount(subject.resource, subject.allowed)}")
            yield Line("text", f"  Used so far: {amount(subject.resource, subject.spent)}")
        case ElicitationSubject() as subject:
            yield Line("head", plain(head(prompt, subject)))
            yield from _when(prompt)
            yield from _elicited(subject)
    yield from _answers(prompt)


def _path(prompt: Prompt) -> str:
    return " › ".join(prompt.session_path)


def _when(prompt: Prompt) -> Iterator[Line]:
    lapses = f", lapses at {time_of(prompt.deadline)}" if prompt.deadline is not None and prompt.state is PromptState.OPEN else ""
    yield Line("text", f"asked at {time_of(prompt.created_at)}{lapses}, {prompt.id}")


def _approval(shown: Shown, subject: ApprovalSubject) -> Iterator[Line]:
    yield from _section("Needs", subject.wants)
    yield from _section("Asked because", subject.because)
    yield from _section("Note", subject.notes)
    if len(shown.prompt.calls) > 1:
        yield Line("text", f"{len(shown.prompt.calls)} calls, all the same, wait for this answer.")
    yield Line("head", "The call")
    for name, value in subject.arguments.items():
        yield from _argument(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if not subject.arguments:
        yield Line("text", "  no arguments")
    if shown.parts:
        yield Line("head", "Its parts")
        for part in shown.parts:
            yield from _part(part)
    if shown.diff:
        yield Line("head", "What it changes")
        yield from _diff(shown.diff)


def _section(title: str, texts: Sequence[str]) -> Iterator[Line]:
    if texts:
        yield Line("head", title)
        yield from (Line("text", f"  {plain(_cut(text))}") for text in texts)


def _argument(name: str, value: str) -> Iterator[Line]:
    lines = _cut(value).split("\n")
    if len(lines) == 1:
        yield Line("text", f"  {plain(name)}: {plain(lines[0])}")
        return
    yield Line("text", f"  {plain(name)}: {len(value):,} characters, {value.count(chr(10)) + 1:,} lines")
    yield from (Line("text", f"    │ {plain(line)}") for line in lines)


def _part(part: Part) -> Iterator[Line]:
    traits = f" ({', '.join(part.traits)})" if part.traits else ""
    yield Line("text", f"  {plain(part.text or 'the line as a whole')}{plain(traits)}")
    yield from (Line("text", f"    {deed} {plain(what)}") for deed, what in part.touches)


def _diff(diff: str) -> Iterator[Line]:
    for line in _cut(diff).split("\n"):
        kind: Kind = "text"
        if not line.startswith(("+++", "---")):
            kind = "added" if line.startswith("+") else "removed" if line.startswith("-") else "place" if line.startswith("@") else "text"
        yield Line(kind, f"  {plain(line)}")


def _questions(subject: QuestionSubject) -> Iterator[Line]:
    for number, question in enumerate(subject.questions, 1):
        yield Line("text", f"  {number}. {plain(_cut(question.question))}")
        for place, option in enumerate(question.options, 1):
            about = f": {plain(option.description)}" if option.description else ""
            yield Line("text", f"       {place}  {plain(option.label)}{about}")


def _elicited(subject: ElicitationSubject) -> Iterator[Line]:
    yield from (Line("text", f"{MARK}{plain(line)}") for line in _cut(subject.asked.message).splitlines())
    if isinstance(subject.asked, LinkAsked):
        yield Line("head", plain(f"Its link leads to {subject.asked.host}"))
        yield Line("text", f"{MARK}{plain(subject.asked.url)}")
    yield from (Line("text", f"  {plain(line)}") for field in fields_of(subject) for line in lines_of_field(field))
    yield Line("text", plain(caution(subject)))


def _answers(prompt: Prompt) -> Iterator[Line]:
    if prompt.state is not PromptState.OPEN:
        return
    yield Line("head", "Answers")
    if isinstance(prompt.subject, QuestionSubject):
        yield Line("text", "  a  answer, question by question")
    if isinstance(prompt.subject, ElicitationSubject):
        accept, decline, _ = deeds(prompt.subject).values()
        yield Line("text", f"  a  {'fill it in, and ' if fields_of(prompt.subject) else ''}{accept}")
        yield Line("text", f"  d  {decline}")
    yield from (Line("text", f"  {KEYS[choice]}  {plain(deed)}") for choice, deed in choices_of(prompt).items())


def _cut(text: str) -> str:
    left = len(text) - MOST_CHARS
    return text if left <= 0 else f"{text[: MOST_CHARS * 2 // 3]}\n[… {left:,} characters are not shown …]\n{text[-(MOST_CHARS // 3) :]}"


# ---- afterwards ---------------------------------------------------------------------------------

_WHERE = {"console": "in the console", "approvals": "in a terminal", "form": "in the client", "input_required": "in the client"}
_ENDS = {
    PromptState.OPEN: "open",
    PromptState.ANSWERED: "answered",
    PromptState.EXPIRED: "nobody answered in time",
    PromptState.WITHDRAWN: "withdrawn",
    PromptState.UNASKABLE: "nobody could be asked",
}


def ended_words(prompt: Prompt) -> str:
    """How a prompt came to its end, in one line. Not escaped yet."""
    answer = prompt.answer
    if prompt.state is not PromptState.ANSWERED or answer is None:
        return f"{_ENDS[prompt.state]}: {prompt.reason}" if prompt.reason else _ENDS[prompt.state]
    deed = deed_of(prompt, answer.choice)
    words = f", with the words: {answer.words}" if answer.words and answer.choice is not None else ""
    return f"answered {_WHERE.get(answer.channel, 'elsewhere')} at {time_of(answer.at)}: {deed}{words}"
