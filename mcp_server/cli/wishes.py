"""What a person types to answer one prompt, by what it is about: a choice, the answers to a question, a form's values."""

from dataclasses import dataclass

from mcp_server.cli.asked import put_questions
from mcp_server.cli.fields import accepted, put_fields
from mcp_server.cli.terminal import Terminal
from mcp_server.elicited import Action, ElicitationSubject, Replied
from mcp_server.errors import RemitError
from mcp_server.records import ApprovalSubject, BudgetSubject, Choice, Prompt, QuestionSubject
from mcp_server.sessions.elicited_words import deeds
from mcp_server.sessions.fitting import Misfit, kept
from mcp_server.sessions.offered import choices_of


class NotAnswered(RemitError):
    """The answer did not count. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was typed on the command line of an answer."""

    typed: str
    choices: tuple[Choice, ...]
    """Those that this command may give."""
    reach: Choice | None
    words: str

    @property
    def refuses(self) -> bool:
        """It is `deny`."""
        return self.reach in (Choice.DENY, Choice.DENY_SESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """An answer, confirmed."""

    choice: Choice | None
    words: str
    done: str
    """What it does, as a deed."""


def put(person: Terminal, prompt: Prompt, wish: Wish) -> Typed:
    """Have it typed and confirmed.

    Raises:
        NotAnswered: What was typed is no answer to it.
        NotConfirmed: The code was not typed back.
    """
    match prompt.subject:
        case ApprovalSubject() | BudgetSubject():
            choice = _choice(person, prompt, wish)
            typed = Typed(choice=choice, words=wish.words, done=choices_of(prompt)[choice])
            person.confirm(f"to {typed.done}")
        case QuestionSubject() as subject:
            if wish.refuses:
                raise NotAnswered("this is a question, which cannot be denied; answer it with approve, or let it lapse")
            typed = Typed(choice=None, words=put_questions(person, subject), done="answer the question")
            person.confirm("to send this answer")
        case ElicitationSubject() as subject:
            action: Action = "decline" if wish.refuses else "accept"
            words = kept(Replied(action=action)) if wish.refuses else _filled_in(person, subject)
            typed = Typed(choice=None, words=words, done=deeds(subject)[action])
            person.confirm(f"to {typed.done}")
    return typed


def _filled_in(person: Terminal, subject: ElicitationSubject) -> str:
    try:
        return accepted(subject, put_fields(person, subject))
    except Misfit as misfit:
        raise NotAnswered(f"this does not fit what was asked, and nothing was sent: {misfit}") from None


def _choice(person: Terminal, prompt: Prompt, wish: Wish) -> Choice:
    offered = [choice for choice in choices_of(prompt) if choice in wish.choices]
    if wish.reach is not None:
        if wish.reach not in offered:
            raise NotAnswered("this prompt does not offer that answer; `remit approvals show` lists those it does")
        return wish.reach
    if len(offered) == 1:
        return offered[0]
    words = choices_of(prompt)
    for number, choice in enumerate(offered, 1):
        person.say(f"  {number}  {words[choice]}")
    typed = person.ask(f"Which? 1 to {len(offered)}: ")
    if typed not in {str(number) for number in range(1, len(offered) + 1)}:
        raise NotAnswered("none of the answers was chosen; nothing was changed")
    return offered[int(typed) - 1]
