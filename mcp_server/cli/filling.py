"""What is asked in words, answered line by line at the foot of the terminal inbox: a model's questions, another server's fields."""

import json
from collections.abc import Callable, Mapping, Sequence

from mcp_server.cli.asked import answer_in, deed_of, question_line
from mcp_server.cli.fields import accepted, field_line, value_in
from mcp_server.cli.held import Held
from mcp_server.elicited import ElicitationSubject, Replied
from mcp_server.gateway.cards import Shown
from mcp_server.records import Choice, Prompt, QuestionSubject
from mcp_server.sessions.elicited_words import fields_of
from mcp_server.sessions.fitting import Misfit, kept


def done(prompt: Prompt, choice: Choice | None) -> str:
    """What an answer that counted did."""
    return f"done: {deed_of(prompt, choice)}"


class Filling:
    """Puts one line after the other, and then sends the whole."""

    def __init__(self, held: Held, ask: Callable[[str, Callable[[str], None]], None], send: Callable[[Shown, str], None]) -> None:
        self._held = held
        self._line = ask
        self._send = send

    def begun(self, item: Shown, key: str) -> bool:
        """False: it is not asked in words."""
        match item.prompt.subject:
            case QuestionSubject() as subject:
                self._ask(item, subject, ())
            case ElicitationSubject() if key == "d":
                self._send(item, kept(Replied(action="decline")))
            case ElicitationSubject() as subject:
                self._fill(item, subject, {})
            case _:
                return False
        return True

    def _ask(self, item: Shown, subject: QuestionSubject, answers: Sequence[list[str]]) -> None:
        """The next question; after the last one the answers are sent."""
        if len(answers) == len(subject.questions):
            self._send(item, json.dumps(answers, ensure_ascii=False))
            return
        question = subject.questions[len(answers)]

        def typed(text: str) -> None:
            answer = answer_in(question, text.strip())
            if answer:
                self._ask(item, subject, (*answers, answer))
            else:
                self._held.note = "nothing was typed, so nothing was answered"

        self._line(f"{len(answers) + 1} of {len(subject.questions)}: {question_line(question)}", typed)

    def _fill(self, item: Shown, subject: ElicitationSubject, values: Mapping[str, object | None]) -> None:
        """The next field; after the last one the form is sent."""
        fields = fields_of(subject)
        if len(values) == len(fields):
            try:
                self._send(item, accepted(subject, dict(values)))
            except Misfit as misfit:
                self._held.note = f"this does not fit what was asked, and nothing was sent: {misfit}"
            return
        field = fields[len(values)]

        def typed(text: str) -> None:
            self._fill(item, subject, {**values, field.name: value_in(field, text.strip())})

        self._line(f"{len(values) + 1} of {len(fields)}: {field_line(field)}", typed)
