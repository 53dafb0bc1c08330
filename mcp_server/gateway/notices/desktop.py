"""Notices on the person's desktop: one a prompt, taken back when it is over. Many at once become one that counts them."""

import math
from collections.abc import Sequence

import anyio
import structlog

from mcp_server.gateway.notices.notice import Notice
from mcp_server.gateway.notices.popups import NoPopups, Popup, Popups
from mcp_server.records import PromptId

log = structlog.get_logger(__name__)

GATHER = 1.0
"""Seconds that a new prompt waits for others, and for an answer in the client's own form: what is answered at once needs no notice."""

GAP = 3.0
"""Seconds between two notices at least."""

MOST_ALONE = 3
"""Notices of single prompts on the screen. The next one counts the others."""

MOST_LINES = 3
"""Prompts that the counting one names."""

LONGEST_LINE = 90
"""Characters of each of these lines."""

LAST = 1.0
"""Seconds that taking back what is shown may take when the server ends."""


class Desktop:
    """A `Notifier`."""

    def __init__(self, popups: Popups, *, gather: float = GATHER, gap: float = GAP) -> None:
        self._popups = popups
        self._gather = gather
        self._gap = gap
        self._open: dict[PromptId, Notice] = {}
        self._fresh: set[PromptId] = set()
        """Open, and not on the screen yet."""
        self._alone: dict[PromptId, int] = {}
        """Shown by a notice of their own, and its number."""
        self._gathered: set[PromptId] = set()
        """Shown by the notice that counts."""
        self._counting = 0
        """Its number; 0: there is none, or it cannot be taken back."""
        self._due = math.inf
        """By the loop's clock, when something may be shown next. Endless: there is nothing to show."""
        self._shown_at = -math.inf
        self._told = False
        """A fault was logged, and nothing was shown since."""
        self._bell = anyio.Event()
        self._acting = anyio.Lock()

    def opened(self, notice: Notice) -> None:
        """See `Notifier`."""
        self._open[notice.prompt_id] = notice
        self._fresh.add(notice.prompt_id)
        self._want()

    def over(self, notice: Notice) -> None:
        """See `Notifier`."""
        self._open.pop(notice.prompt_id, None)
        self._fresh.discard(notice.prompt_id)
        self._bell.set()

    async def run(self) -> None:
        """Until cancelled; then what is shown is taken back, since nobody would do so later."""
        async with self._popups.at_hand():
            try:
                while True:
                    with anyio.move_on_after(max(0.0, self._due - anyio.current_time())):
                        await self._bell.wait()
                    self._bell = anyio.Event()
                    async with self._acting:
                        await self._take_back()
                        if anyio.current_time() >= self._due:
                            await self._show()
            finally:
                with anyio.move_on_after(LAST, shield=True):
                    self._open.clear()
                    await self._take_back()

    async def at_rest(self) -> None:
        """See `Notifier`. What is not shown yet is not worth it any more; of what just goes up the number is needed to take it back."""
        async with self._acting:
            return

    @property
    def pending(self) -> bool:
        """There is something that is to be shown, in its time."""
        return not math.isinf(self._due)

    def _want(self) -> None:
        """Something is to be shown, in its time."""
        if math.isinf(self._due):
            self._due = max(anyio.current_time() + self._gather, self._shown_at + self._gap)
        self._bell.set()

    async def _take_back(self) -> None:
        for prompt_id in [one for one in self._alone if one not in self._open]:
            await self._popups.close(self._alone.pop(prompt_id))
        left = self._gathered & self._open.keys()
        if left == self._gathered:
            return
        self._gathered = left
        if left:
            self._want()
        else:
            await self._popups.close(self._counting)
            self._counting = 0

    async def _show(self) -> None:
        """The new ones: by itself where it is one, else counted together with those that are counted already."""
        self._due = math.inf
        fresh, self._fresh = self._fresh, set()
        if not fresh and not self._gathered:
            return
        self._shown_at = anyio.current_time()
        try:
            if len(fresh) == 1 and not self._gathered and len(self._alone) < MOST_ALONE:
                (prompt_id,) = fresh
                self._alone[prompt_id] = await self._popups.show(single(self._open[prompt_id]))
            else:
                self._gathered |= fresh
                notices = [self._open[one] for one in self._open if one in self._gathered]
                self._counting = await self._popups.show(counting(notices), instead_of=self._counting)
            self._told = False
        except NoPopups as error:
            if not self._told:
                log.warning("no notice could be shown on the desktop; prompts wait as ever", reason=str(error))
            self._told = True


def single(notice: Notice) -> Popup:
    """One prompt's notice."""
    whose = (f"Only somebody in the role {' or '.join(notice.answer_by)} may allow it.",) if notice.answer_by else ()
    return Popup(
        title=f"{notice.who}: {_asks(notice)}", lines=(notice.line, *whose, _where(notice.console, notice.prompt_id)), link=notice.console
    )


def counting(notices: Sequence[Notice]) -> Popup:
    """The notice of several."""
    named = [_cut(f"{notice.who}: {notice.line}") for notice in notices[:MOST_LINES]]
    more = len(notices) - len(named)
    console = notices[-1].console
    return Popup(
        title="1 prompt waits" if len(notices) == 1 else f"{len(notices)} prompts wait",
        lines=(*named, *([f"and {more} more"] if more else ()), _where(console, None)),
        link=console,
    )


def _asks(notice: Notice) -> str:
    match notice.kind:
        case "approval":
            return f"may it use {notice.tool}?"
        case "question":
            return "it has a question"
        case "budget":
            return "its budget is used up"
        case "elicitation":
            return f"the MCP server behind {notice.tool} asks something"


def _where(console: str | None, prompt_id: PromptId | None) -> str:
    if console is not None:
        return f"Answer in the console: {console}"
    return f"Answer by: remit approvals show {prompt_id}" if prompt_id else "Answer by: remit approvals, or remit console"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"
