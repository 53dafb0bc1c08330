"""From what a page's form sent to an answer that counts. What does not count is told, and kept in the audit."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from mcp_server.elicited import ElicitationSubject
from mcp_server.gateway.cards import WORDS_CHARS
from mcp_server.gateway.elicited_cards import words_in
from mcp_server.policy.verdicts import SessionId
from mcp_server.principal import LOCAL
from mcp_server.records import Answer, ApprovalSubject, AuditEvent, BudgetSubject, Choice, Prompt, PromptState, Question, QuestionSubject
from mcp_server.sessions import events
from mcp_server.sessions.answers import close_with
from mcp_server.sessions.fitting import Misfit
from mcp_server.sessions.prompting import tool_of
from mcp_server.store.protocol import Store

log = structlog.get_logger("gateway")

CONSOLE = "console"

MOST_REFUSED = 1000
"""Refused answers that one console, or one server, writes to the audit. What is beyond is only logged: a flood must not fill the disk."""

Sent = Mapping[str, Sequence[str]]
"""A form's fields, each with all its values."""


@dataclass(frozen=True, slots=True)
class NotCounted:
    """An answer that changes nothing, and why."""

    reason: str


@dataclass(slots=True, kw_only=True)
class Answering:
    """Takes answers, and tells of those that do not count."""

    store: Store
    principal: str = LOCAL.key
    """Whose audit tells of what nobody known has sent; empty: nobody's, and it is only logged."""
    channel: str = CONSOLE
    """Where they are given."""
    close: Callable[[Prompt, Answer], Awaitable[bool]] | None = None
    """Closes a prompt with its answer, where somebody must be told of it. None: in the store alone."""
    refused: int = field(default=0)

    async def answer(self, prompt: Prompt, sent: Sent, *, by: str, at: float, roles: tuple[str, ...] = ()) -> NotCounted | None:
        """Close the prompt, as the person `by`. None: done. The first answer counts, wherever it is given.

        `roles`: by which they answer what is somebody else's.
        """
        read = answer_in(prompt, sent, by=by, channel=self.channel, at=at, roles=roles)
        if isinstance(read, Answer):
            closed = await (close_with(self.store, prompt, read) if self.close is None else self.close(prompt, read))
            if closed:
                return None
            read = NotCounted("it was not open any more; nothing was changed")
        await self.refuse(read.reason, at=at, prompt=prompt, by=by)
        return read

    async def refuse(self, reason: str, *, at: float, prompt: Prompt | None = None, ref: str = "", by: str = "", whose: str = "") -> None:
        """Keep that an answer was refused. `by` is empty where nobody knows who sent it; `whose`: whose audit tells of it all the same."""
        whose = by or whose or self.principal
        self.refused += bool(whose or prompt)
        log.warning("an answer was refused", reason=reason, ref=prompt.id if prompt else ref[:64])
        if self.refused > MOST_REFUSED or not (whose or prompt):
            return
        outcome = f"an answer through the {self.channel} was refused: {reason}"
        if prompt is not None:
            event = events.prompted(at, prompt, tool_of(prompt), outcome, by=by)
        else:
            event = AuditEvent(
                at=at,
                kind="prompt",
                principal=whose,
                session_id=SessionId(""),
                session_path=(),
                ruled_by=by,
                outcome=outcome,
                ref=ref[:64],
            )
        await self.store.audit((event,))


def answer_in(prompt: Prompt, sent: Sent, *, by: str, channel: str, at: float, roles: tuple[str, ...] = ()) -> Answer | NotCounted:
    """The answer that a form holds, if the prompt offers it."""
    if prompt.state is not PromptState.OPEN:
        return NotCounted("it was not open any more; nothing was changed")
    if _one(sent, "digest") != prompt.digest:
        return NotCounted("it answers another call than this prompt shows")
    said = _said(prompt, sent, by_role=bool(roles))
    match said:
        case NotCounted():
            return said
        case Choice():
            own = _one(sent, "words")[:WORDS_CHARS].strip()
            return Answer(choice=said, words=own, by=by, channel=channel, at=at, roles=roles)
        case str():
            return Answer(choice=None, words=said, by=by, channel=channel, at=at)


def _said(prompt: Prompt, sent: Sent, *, by_role: bool) -> Choice | str | NotCounted:
    """A choice, or what was answered in words as it is kept."""
    match prompt.subject:
        case ElicitationSubject() as subject:
            return _filled_in(subject, sent)
        case QuestionSubject() as subject:
            return _answers(subject, sent)
        case ApprovalSubject() as subject:
            return _chosen(sent, [offer.choice for offer in (subject.role_offers if by_role else subject.offers)])
        case BudgetSubject():
            return _chosen(sent, [Choice.ALLOW_ONCE, Choice.DENY])


def _answers(subject: QuestionSubject, sent: Sent) -> str | NotCounted:
    answers = [_answered(question, number, sent) for number, question in enumerate(subject.questions)]
    return json.dumps(answers, ensure_ascii=False) if all(answers) else NotCounted("not every question is answered")


def _filled_in(subject: ElicitationSubject, sent: Sent) -> str | NotCounted:
    try:
        return words_in(subject, sent)
    except Misfit as misfit:
        return NotCounted(f"not everything fits what was asked: {misfit}")


def _one(sent: Sent, name: str) -> str:
    """The field's only value; empty where it has none or several."""
    values = sent.get(name, ())
    return values[0] if len(values) == 1 else ""


def _chosen(sent: Sent, offered: Sequence[Choice]) -> Choice | NotCounted:
    given = _one(sent, "choice")
    return next((choice for choice in offered if choice.value == given), NotCounted("this prompt does not offer that answer"))


def _answered(question: Question, number: int, sent: Sent) -> list[str]:
    """Labels and own words; empty where there is no answer that the question allows."""
    places = {str(place): option.label for place, option in enumerate(question.options)}
    given = sent.get(f"answer_{number}", ())
    if any(place not in places for place in given) or (len(given) > 1 and not question.multiple):
        return []
    own = _one(sent, f"own_{number}")[:WORDS_CHARS].strip()
    return [*(places[place] for place in given), *([own] if own else [])]
