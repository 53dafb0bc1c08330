"""Which panel of a caller is the one to look at: a conversation keeps every panel that a result ever brought, and the newest shows the
prompts.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import PromptId

SIGHT = 8.0
"""Seconds since it was last heard of that a panel is taken to be before a person's eyes. One that is asks every few seconds, and waits at
most `panel_tools.LONGEST_WAIT` of them for its answer."""

MOST_ROOTS = 1000
MOST_PANELS = 500
"""Of one root, that are told from a new one. Past all reading back."""


@dataclass(slots=True, kw_only=True)
class Pane:
    """The panels of one root."""

    newest: str = ""
    """The name that the newest gave itself."""
    heard_at: float = float("-inf")
    past: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_PANELS))
    handed: set[PromptId] = field(default_factory=set[PromptId])
    """Prompts that a result or a look has brought, open or over."""
    lent: set[PromptId] = field(default_factory=set[PromptId])
    """Prompts of other trees that a request of this root may show: those of a task from before a restart."""


@dataclass(slots=True, kw_only=True)
class Panes:
    """By root."""

    clock: Callable[[], float]
    _by_root: dict[SessionId, Pane] = field(default_factory=dict[SessionId, Pane])

    def of(self, root_id: SessionId) -> Pane:
        """The root's."""
        found = self._by_root.get(root_id)
        if found is None:
            while len(self._by_root) >= MOST_ROOTS:
                del self._by_root[next(iter(self._by_root))]
            found = self._by_root[root_id] = Pane()
        return found

    def heard(self, pane: Pane, name: str) -> bool:
        """A panel asks. Is it the newest? One that was never heard of is."""
        if name in pane.past:
            return False
        if name != pane.newest:
            if pane.newest:
                pane.past.append(pane.newest)
            pane.newest = name
        pane.heard_at = self.clock()
        return True

    def in_sight(self, pane: Pane) -> bool:
        """Is one before a person's eyes, as far as can be told?"""
        return self.clock() - pane.heard_at < SIGHT
