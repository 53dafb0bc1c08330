"""What the terminal inbox holds: prompts in their order, which one has the focus, what was typed for it. Draws nothing, reads nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mcp_server.elicited import ElicitationSubject
from mcp_server.gateway.cards import KEYS, Shown
from mcp_server.records import Choice, PromptId, PromptState, QuestionSubject
from mcp_server.sessions.offered import choices_of

CHOICES: Mapping[str, Choice] = {key: choice for choice, key in KEYS.items()}
"""Key to answer, as in the console."""


_ANSWERS = {"question": "a", "elicitation": "ad"}
"""The keys of what is asked in words."""

_HINTS = {"question": "this is a question: a answers it", "elicitation": "another MCP server asks this: a answers it, d refuses to"}


@dataclass(slots=True)
class Held:
    """Prompts oldest first. One that is over keeps its place until it is cleared, so that no key means another prompt of a sudden."""

    items: list[Shown] = field(default_factory=list[Shown])
    focus: PromptId | None = None
    scroll: int = 0
    note: str = ""
    """What was just found out, until the next key."""
    words: dict[PromptId, str] = field(default_factory=dict[PromptId, str])
    """Words to the model, typed and not sent yet."""
    seen: PromptId | None = None
    """The prompt that is on the screen: only what was seen can be answered."""

    @property
    def ids(self) -> tuple[PromptId, ...]:
        """All that are held, in order."""
        return tuple(item.prompt.id for item in self.items)

    @property
    def waiting(self) -> int:
        """How many are open."""
        return sum(item.prompt.state is PromptState.OPEN for item in self.items)

    @property
    def focused(self) -> Shown | None:
        """The prompt that keys act on."""
        return next((item for item in self.items if item.prompt.id == self.focus), None)

    def take(self, now: Sequence[Shown]) -> bool:
        """The prompts as they are now: held ones are replaced in their places, new ones come last. True: there is a new one."""
        known = {item.prompt.id: item for item in now}
        new = [item for item in now if item.prompt.id not in self.ids]
        self.items = [*(known.get(item.prompt.id, item) for item in self.items), *new]
        if self.focused is None and self.items:
            self._look_at(self.items[0].prompt.id)
        return bool(new)

    def move(self, steps: int) -> None:
        """Give the focus to another one; at either end it stays."""
        if self.items and self.focus is not None:
            place = min(max(self.ids.index(self.focus) + steps, 0), len(self.items) - 1)
            self._look_at(self.items[place].prompt.id)

    def clear(self) -> None:
        """Take away what is over."""
        before = self.ids
        self.items = [item for item in self.items if item.prompt.state is PromptState.OPEN]
        if self.focus not in self.ids:
            place = before.index(self.focus) if self.focus is not None else 0
            left = [identity for identity in before[place:] if identity in self.ids] or list(reversed(self.ids))
            self._look_at(left[0] if left else None)

    def answerable(self, key: str) -> tuple[Shown, Choice | None] | None:
        """The focused prompt and the answer that a key means for it. None: it means none, and `note` says why."""
        item = self.focused
        if item is None:
            return None
        if item.prompt.state is not PromptState.OPEN:
            self.note = "this prompt is over; j and k lead to others, c clears what is over"
        elif self.seen != item.prompt.id:
            self.note = "look at it first, then answer"
        elif isinstance(item.prompt.subject, QuestionSubject | ElicitationSubject):
            if key in _ANSWERS[item.prompt.subject.kind]:
                return item, None
            self.note = _HINTS[item.prompt.subject.kind]
        elif CHOICES[key] in choices_of(item.prompt):
            return item, CHOICES[key]
        else:
            self.note = f"this prompt does not offer what `{key}` means; its answers stand at its end"
        return None

    def _look_at(self, identity: PromptId | None) -> None:
        self.focus, self.scroll = identity, 0
