"""From a prompt to the form that a host shows: a message and a flat schema with a required choice.

What a person is shown is what is asked, whole or marked as cut; no value of a model's can pass for a line of ours.
"""

import json
from typing import Any, assert_never

from mcp_server.elicited import ElicitationSubject
from mcp_server.protocol import elicited_forms
from mcp_server.records import ApprovalSubject, BudgetSubject, Choice, Offer, Prompt, Question, QuestionSubject
from mcp_server.sessions.offered import budget_choices, lasting, shown
from mcp_server.sessions.wants import amount

DECISION = "decision"
WORDS = "words"
_TITLE_CHARS = 160
"""Of one choice's title; longer rules are written out in the message instead."""
_WORDS_CHARS = 2000


def message_of(prompt: Prompt) -> str:
    """What the person reads above the form."""
    match prompt.subject:
        case ApprovalSubject() as subject:
            return _approval_message(prompt, subject)
        case QuestionSubject() as subject:
            return _question_message(prompt, subject)
        case BudgetSubject() as subject:
            return _budget_message(prompt, subject)
        case ElicitationSubject() as subject:
            return elicited_forms.message_of(prompt, subject)
        case _:
            assert_never(prompt.subject)


def schema_of(prompt: Prompt, *, titled: bool) -> dict[str, Any]:
    """The form's fields. `titled`: the host knows `oneOf` with titles (from 2025-11-25 on)."""
    match prompt.subject:
        case ApprovalSubject() as subject:
            return _approval_schema(prompt, subject, titled=titled)
        case QuestionSubject() as subject:
            return _question_schema(subject, titled=titled)
        case BudgetSubject() as subject:
            return _decision_schema(list(budget_choices(subject).items()), titled=titled)
        case ElicitationSubject() as subject:
            return elicited_forms.schema_of(subject, titled=titled)
        case _:
            assert_never(prompt.subject)


def field_of(index: int) -> str:
    """The field that answers the question at `index`, from 0."""
    return f"answer_{index + 1}"


def own_field_of(index: int) -> str:
    """The field for the person's own words where the question offers options."""
    return f"answer_{index + 1}_own"


# ---- approvals ----------------------------------------------------------------------------------


def _approval_message(prompt: Prompt, subject: ApprovalSubject) -> str:
    lines = [f"{_path(prompt)} wants to use {shown(subject.tool)}:"]
    lines += [f"  {shown(name, 80)}: {_argument(value)}" for name, value in subject.arguments.items()]
    lines += [f"Needs: {shown(want)}" for want in subject.wants]
    lines += [f"Asked because: {shown(reason)}" for reason in subject.because]
    lines += [f"Note: {shown(note)}" for note in subject.notes]
    if len(prompt.calls) > 1:
        lines.append(f"{len(prompt.calls)} calls, all the same, wait for this answer.")
    lines += [line for offer in subject.offers if _too_long(offer) for line in _written_out(prompt, offer)]
    lines += [ending] if (ending := lasting(prompt)) else []
    return "\n".join(lines)


def _argument(value: object) -> str:
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _path(prompt: Prompt) -> str:
    return " › ".join(shown(agent, 80) for agent in prompt.session_path)


def _too_long(offer: Offer) -> bool:
    return len(_rules(offer)) > _TITLE_CHARS


def _rules(offer: Offer) -> str:
    return ", ".join(f"`{shown(rule)}`" for rule in offer.rules)


def _written_out(prompt: Prompt, offer: Offer) -> list[str]:
    return [f"“{_choice_words(prompt, offer.choice)}” means:", *(f"  {shown(rule)}" for rule in offer.rules)]


def _choice_words(prompt: Prompt, choice: Choice) -> str:
    mine = "this subagent" if len(prompt.session_path) > 1 else "this session"
    match choice:
        case Choice.ALLOW_ONCE:
            return "Allow once"
        case Choice.ALLOW_SESSION:
            return f"Allow for {mine}"
        case Choice.ALLOW_TREE:
            return "Allow for it and its subagents"
        case Choice.DENY:
            return "Deny"
        case Choice.DENY_SESSION:
            return "Deny for this session"
        case _:
            assert_never(choice)


def _choice_title(prompt: Prompt, offer: Offer) -> str:
    words = _choice_words(prompt, offer.choice)
    if not offer.rules:
        return words
    if _too_long(offer):
        return (
            f"{words}: the {len(offer.rules)} rules written out above" if len(offer.rules) > 1 else f"{words}: the rule written out above"
        )
    return f"{words}: {_rules(offer)}"


def _approval_schema(prompt: Prompt, subject: ApprovalSubject, *, titled: bool) -> dict[str, Any]:
    return _decision_schema([(offer.choice.value, _choice_title(prompt, offer)) for offer in subject.offers], titled=titled)


def _decision_schema(options: list[tuple[str, str]], *, titled: bool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            DECISION: {"type": "string", "title": "Decision", **_one_of(options, titled=titled)},
            WORDS: {"type": "string", "title": "Words to the model (optional)", "maxLength": _WORDS_CHARS},
        },
        "required": [DECISION],
    }


def _one_of(options: list[tuple[str, str]], *, titled: bool) -> dict[str, Any]:
    if titled:
        return {"oneOf": [{"const": value, "title": title} for value, title in options]}
    return {"enum": [value for value, _ in options], "enumNames": [title for _, title in options]}


# ---- budgets ------------------------------------------------------------------------------------


def _budget_message(prompt: Prompt, subject: BudgetSubject) -> str:
    whose = "the whole tree below this connection" if subject.scope == "tree" else "this session"
    return "\n".join(
        [
            f"{_path(prompt)} has used up a budget and waits:",
            f"Allowed to {whose}: {amount(subject.resource, subject.allowed)}",
            f"Used so far: {amount(subject.resource, subject.spent)}",
        ]
    )


# ---- questions ----------------------------------------------------------------------------------


def _question_message(prompt: Prompt, subject: QuestionSubject) -> str:
    lines = [f"{_path(prompt)} asks you:"]
    lines += [f"{number}. {shown(question.question)}" for number, question in enumerate(subject.questions, 1)]
    return "\n".join(lines)


def _question_schema(subject: QuestionSubject, *, titled: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for index, question in enumerate(subject.questions):
        properties[field_of(index)] = {**_question_title(question), **_question_field(question, titled=titled)}
        if question.options:
            properties[own_field_of(index)] = {
                "type": "string",
                "title": "In your own words, beside or instead of the choice (optional)",
                "maxLength": _WORDS_CHARS,
            }
    # Where there are options the person may leave them and write; that something was answered is checked on the reply.
    required = [field_of(index) for index, question in enumerate(subject.questions) if not question.options]
    return {"type": "object", "properties": properties, "required": required}


def _question_title(question: Question) -> dict[str, str]:
    asked = shown(question.question)
    return {"title": shown(question.header, 80), "description": asked} if question.header else {"title": asked}


def _question_field(question: Question, *, titled: bool) -> dict[str, Any]:
    options = [(option.label, _option_title(option.label, option.description)) for option in question.options]
    if not options:
        return {"type": "string", "maxLength": _WORDS_CHARS}
    if not question.multiple:
        return {"type": "string", **_one_of(options, titled=titled)}
    if titled:
        return {"type": "array", "minItems": 1, "items": {"anyOf": [{"const": value, "title": title} for value, title in options]}}
    # Before 2025-11-25 a form has no lists: the labels are written into one line.
    labels = ", ".join(shown(label, 80) for label, _ in options)
    return {"type": "string", "maxLength": _WORDS_CHARS, "description": f"One or more of, with commas between: {labels}"}


def _option_title(label: str, description: str) -> str:
    return shown(f"{label}: {description}" if description else label, _TITLE_CHARS)
