"""A prompt as a person reads it in a terminal, and a model's questions put there one by one."""

import json

from mcp_server.cli.terminal import Terminal
from mcp_server.protocol.forms import message_of
from mcp_server.records import ApprovalSubject, BudgetSubject, Prompt, Question, QuestionSubject
from mcp_server.sessions.offered import choices_of, shown
from mcp_server.sessions.wording import time_of


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
