"""A prompt as a person reads it in a terminal, and a model's questions put there one by one."""

import json
from typing import Any

from mcp_server.cli.fields import lines_of_field
from mcp_server.cli.terminal import Terminal
from mcp_server.elicited import ElicitationSubject
from mcp_server.protocol.forms import message_of
from mcp_server.records import ApprovalSubject, BudgetSubject, Choice, Prompt, Question, QuestionSubject
from mcp_server.sessions.elicited_words import deeds, fields_of
from mcp_server.sessions.offered import choices_of, shown
from mcp_server.sessions.visible import json_line
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import age_of, path_of, short, time_of


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
        case ElicitationSubject() as subject:
            lines += [f"  - {line}" for field in fields_of(subject) for line in lines_of_field(field)]
            lines += ["Answers:", *(f"  {words}" for words in deeds(subject).values())]
    return "\n".join(lines)


def row_of(prompt: Prompt) -> tuple[str, str, str, str]:
    """A line of the list: id, age, who, what."""
    return (short(prompt.id), age_of(prompt.created_at), path_of(prompt.session_path), wanted(prompt))


def json_of(prompt: Prompt) -> str:
    """The same for programs, as one line of JSON."""
    said: dict[str, Any] = {
        "id": prompt.id,
        "created_at": prompt.created_at,
        "deadline": prompt.deadline,
        "path": list(prompt.session_path),
        "kind": prompt.subject.kind,
        "wants": wanted(prompt),
        "calls": len(prompt.calls),
    }
    return json_line(said)


def deed_of(prompt: Prompt, choice: Choice | None) -> str:
    """What an answer did."""
    return "the question was answered" if choice is None else choices_of(prompt).get(choice, choice.value)


def put_questions(person: Terminal, subject: QuestionSubject) -> str:
    """Each question's answer as the transcript keeps it: JSON, a list of labels or words a question."""
    return json.dumps([_put(person, question) for question in subject.questions], ensure_ascii=False)


def _put(person: Terminal, question: Question) -> list[str]:
    person.say(shown(question.question))
    for number, option in enumerate(question.options, 1):
        person.say(f"  {number}  {shown(option.label)}" + (f": {shown(option.description)}" if option.description else ""))
    return answer_in(question, person.ask(question_line(question)))


def question_line(question: Question) -> str:
    """What stands before the place where the answer is typed."""
    if question.multiple:
        return "Numbers with commas between, or your own words: "
    return "Number, or your own words: " if question.options else "Your answer: "


def answer_in(question: Question, typed: str) -> list[str]:
    """The labels whose numbers were typed, or what was typed as it is; empty where nothing was."""
    parts = [part.strip() for part in typed.split(",")] if question.multiple else [typed]
    numbers = {str(number): option.label for number, option in enumerate(question.options, 1)}
    if parts and all(part in numbers for part in parts):
        return [numbers[part] for part in parts]
    return [typed] if typed else []
