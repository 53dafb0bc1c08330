"""From what a host sends back to what it means. An answer counts only if a person can have given it to this very form."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never, cast

from mcp_types import ElicitResult

from mcp_server.elicited import CANCELLED, ElicitationSubject, Replied
from mcp_server.protocol.elicited_forms import accepted, opened
from mcp_server.protocol.forms import DECISION, WORDS, field_of, own_field_of
from mcp_server.records import ApprovalSubject, BudgetSubject, Choice, Prompt, Question, QuestionSubject
from mcp_server.sessions.fitting import Misfit, kept

Content = dict[str, str | int | float | bool | list[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The person decided. For a question `choice` is None and `words` are JSON: of a model's a list of answers for each, where an empty
    list is no answer, and of a server's what it is told.
    """

    choice: Choice | None
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """No person's decision can be read from it: *nobody could be asked*."""

    reason: str
    amiss: str = ""
    """What of it did not fit, where a person can put that right. Not in Remit's own words alone: a field has its name from its server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOff:
    """The person closed the form without a choice. The prompt stays open."""


Reply = Answered | Unusable | PutOff


def read_reply(prompt: Prompt, result: ElicitResult, *, seconds: float, reflex: float) -> Reply:
    """What a form's result means. `seconds`: from putting the form to its result."""
    match result.action:
        case "accept":
            return _accepted(prompt, result.content or {})
        case "decline":
            if seconds < reflex:
                return Unusable(reason="the client declined by itself, before anybody can have read the form")
            return _declined(prompt)
        case "cancel":
            return _closed(prompt, seconds, reflex)
        case _:
            assert_never(result.action)


def read_opened(result: ElicitResult) -> Reply:
    """What a host says that was to open a server's link."""
    return _told(opened(result))


def _told(reply: Replied) -> Answered:
    return Answered(choice=None, words=kept(reply))


def _closed(prompt: Prompt, seconds: float, reflex: float) -> Reply:
    """Our own questions stay open for another way. A server is told: that is an answer of its protocol, where a person gave it."""
    if isinstance(prompt.subject, ElicitationSubject) and seconds >= reflex:
        return _told(CANCELLED)
    return PutOff()


def _declined(prompt: Prompt) -> Reply:
    match prompt.subject:
        case ApprovalSubject() | BudgetSubject():
            return Answered(choice=Choice.DENY)
        case QuestionSubject(questions=questions):
            return Answered(choice=None, words=json.dumps([[] for _ in questions]))
        case ElicitationSubject():
            return _told(Replied(action="decline"))
        case _:
            assert_never(prompt.subject)


def _accepted(prompt: Prompt, content: Content) -> Reply:
    match prompt.subject:
        case ApprovalSubject() as subject:
            return _decision([offer.choice for offer in subject.offers], content)
        case BudgetSubject():
            return _decision([Choice.ALLOW_ONCE, Choice.DENY], content)
        case QuestionSubject() as subject:
            return _answers(subject, content)
        case ElicitationSubject() as subject:
            return _filled_in(subject, content)
        case _:
            assert_never(prompt.subject)


def _filled_in(subject: ElicitationSubject, content: Content) -> Reply:
    try:
        return _told(accepted(subject, content))
    except Misfit as misfit:
        return Unusable(reason=f"the client accepted the form with what it does not take: {misfit}", amiss=str(misfit))


def _decision(offered: Sequence[Choice], content: Content) -> Reply:
    given = content.get(DECISION)
    if given is None:
        return Unusable(reason="the client accepted the form without a decision in it, which is not consent")
    words = content.get(WORDS)
    for choice in offered:
        if choice.value == given:
            return Answered(choice=choice, words=words if isinstance(words, str) else "")
    return Unusable(reason="the client answered with a decision that the form did not offer")


def _answers(subject: QuestionSubject, content: Content) -> Reply:
    answers = [_answer(question, content.get(field_of(i)), content.get(own_field_of(i))) for i, question in enumerate(subject.questions)]
    if not all(answers):
        return Unusable(reason="the client accepted the form without an answer to every question")
    return Answered(choice=None, words=json.dumps(answers, ensure_ascii=False))


def _answer(question: Question, given: object, own: object) -> list[str]:
    """Labels and words; empty where there is no answer that the question allows."""
    if not question.options:
        return [given] if isinstance(given, str) and given.strip() else []
    written = [own.strip()] if isinstance(own, str) and own.strip() else []
    chosen = _chosen(question, given)
    return [] if chosen is None else [*chosen, *written]


def _chosen(question: Question, given: object) -> list[str] | None:
    """The labels; None where something is chosen that is not on offer."""
    labels = {option.label for option in question.options}
    if given is None or given == "":
        return []
    if isinstance(given, list):
        many = [str(label) for label in cast(list[object], given)]
        return many if question.multiple and set(many) <= labels else None
    if given in labels:
        return [str(given)]
    # Hosts whose forms have no lists send the labels in one line.
    line = [part.strip() for part in str(given).split(",")] if question.multiple else []
    return line if line and set(line) <= labels else None
