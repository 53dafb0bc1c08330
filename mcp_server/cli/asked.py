"""A prompt as a person reads it in a terminal, and a model's questions put there one by one."""

import json
from collections.abc import Mapping

from mcp_server.cli.shown import time_of
from mcp_server.cli.terminal import Terminal
from mcp_server.protocol.forms import budget_choices, message_of, shown
from mcp_server.records import ApprovalSubject, BudgetSubject, Choice, Offer, Prompt, Question, QuestionSubject


def text_of(prompt: Prompt) -> str:
    """The form's own words, then every answer with the very rules it would create."""
    lines = [message_of(prompt), ""]
    if prompt.deadline is not None:
        lines.append(f"Lapses at {time_of(prompt.deadline)}.")
    match prompt.subject:
        case ApprovalSubject() | BudgetSubject():
            lines += ["Answers:", *(f"  {words}" for words in choices_of(prompt).values())]
        case QuestionSubject() as subject:
            lines += [f"  - {shown(o.label)}: {shown(o.description)}" for question in subject.questions for o in question.options]
    return "\n".join(lines)


def choices_of(prompt: Prompt) -> Mapping[Choice, str]:
    """What each offered answer does, as a deed: `allow it once`."""
    match prompt.subject:
        case BudgetSubject() as budget:
            extends, ends = budget_choices(budget).values()
            return {Choice.ALLOW_ONCE: lowered(extends), Choice.DENY: lowered(ends)}
        case QuestionSubject():
            return {}
        case ApprovalSubject():
            pass
    child = len(prompt.session_path) > 1
    return {offer.choice: _words(offer, "this subagent" if child else "this session") for offer in prompt.subject.offers}


def _words(offer: Offer, whose: str) -> str:
    rules = ", ".join(f"`{shown(rule)}`" for rule in offer.rules)
    ruled = f": {rules}" if rules else ""
    match offer.choice:
        case Choice.ALLOW_ONCE:
            return "allow it once"
        case Choice.ALLOW_SESSION:
            return f"allow it for {whose}{ruled}"
        case Choice.ALLOW_TREE:
            return f"allow it for {whose} and its subagents{ruled}"
        case Choice.DENY:
            return "deny it"
        case Choice.DENY_SESSION:
            return f"deny it for {whose}{ruled}"


def lowered(title: str) -> str:
    """A title as a deed in mid-sentence."""
    return title[:1].lower() + title[1:]


def put_questions(person: Terminal, subject: QuestionSubject) -> str:
    """Each question's answer as the transcript keeps it: JSON, a list of labels or words a question."""
    return json.dumps([_put(person, question) for question in subject.questions], ensure_ascii=False)


def _put(person: Terminal, question: Question) -> list[str]:
    person.say(shown(question.question))
    for number, option in enumerate(question.options, 1):
        person.say(f"  {number}  {shown(option.label)}" + (f": {shown(option.description)}" if option.description else ""))
    how = "Number, or your own words: " if question.options else "Your answer: "
    typed = person.ask("Numbers with commas between, or your own words: " if question.multiple else how)
    parts = [part.strip() for part in typed.split(",")] if question.multiple else [typed]
    numbers = {str(number): option.label for number, option in enumerate(question.options, 1)}
    if parts and all(part in numbers for part in parts):
        return [numbers[part] for part in parts]
    return [typed] if typed else []
