"""What a notice of a prompt says: who wants what, and where to answer. Enough to go and look, never enough to decide."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from mcp_server.records import ApprovalSubject, Choice, Prompt, PromptId, PromptState
from mcp_server.sessions.prompting import tool_of
from mcp_server.sessions.visible import visible
from mcp_server.sessions.wants import wanted

LONGEST_LINE = 200
"""Characters of the line that says what is wanted: what a notice on a desktop shows of a text anyway."""

LONGEST_NAME = 40
"""Characters of one name in it; agents' and tools' own are not longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A prompt as it is told to those who cannot answer there. All text is on one line, shows by itself, and holds no known secret."""

    prompt_id: PromptId
    principal: str
    path: tuple[str, ...]
    """Agents, root first."""
    kind: Literal["approval", "question", "budget", "elicitation"]
    tool: str
    line: str
    """What is wanted, as lists have it, cut short."""
    answer_by: tuple[str, ...]
    """Roles, one of which must answer; empty: whoever is asked."""
    asked_at: float
    deadline: float
    """When it lapses, as far as that is known: once it is shown to a person, its time is shorter."""
    state: PromptState
    choice: Choice | None
    """What was answered; None where nothing was, and for a question."""
    channel: str
    """Through which it was answered; empty: it was not."""
    console: str | None
    """The address of a console that is open now and shows it; it opens nothing by itself."""

    @property
    def who(self) -> str:
        """`build › general`."""
        return " › ".join(self.path)


class Notifier(Protocol):
    """Takes notices, and passes them on in its own time. The calls neither wait nor raise."""

    def opened(self, notice: Notice) -> None: ...
    def over(self, notice: Notice) -> None:
        """A prompt that was told of by `opened` is open no more."""
        ...

    async def run(self) -> None:
        """Until cancelled."""
        ...

    async def at_rest(self) -> None:
        """Wait until all is passed on that can be without trying again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """Makes notices of prompts."""

    redacted: Callable[[str], str]
    """A text without secrets."""
    unshown_seconds: float
    """How long a prompt that nobody was shown stays open."""
    console: Callable[[str], str | None] = field(default=lambda _: None)
    """Of a principal: where their prompts are shown now."""

    def __call__(self, prompt: Prompt) -> Notice:
        """The prompt's, as it stands."""
        subject, answer = prompt.subject, prompt.answer
        return Notice(
            prompt_id=prompt.id,
            principal=prompt.principal,
            path=tuple(short_line(name, LONGEST_NAME) for name in prompt.session_path),
            kind=subject.kind,
            tool=short_line(tool_of(prompt), LONGEST_NAME),
            # Redacted before it is cut: a secret whose end is missing is still one, and is not known any more.
            line=short_line(self.redacted(wanted(prompt)), LONGEST_LINE),
            answer_by=subject.answer_by if isinstance(subject, ApprovalSubject) else (),
            asked_at=prompt.created_at,
            deadline=prompt.deadline if prompt.deadline is not None else prompt.created_at + self.unshown_seconds,
            state=prompt.state,
            choice=None if answer is None else answer.choice,
            channel="" if answer is None else answer.channel,
            console=self.console(prompt.principal),
        )


def short_line(text: str, longest: int) -> str:
    """The text on one line, with an escape for whatever does not show, and no longer than that."""
    plain = visible(text[: longest + 1])
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
