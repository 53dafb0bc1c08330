"""Shortens what a model is given of a long transcript. The transcript itself stays as it is: an entry is added, none is taken away.

Not a place where anything is decided: the gate, prompts and rulings read the store, never a summary.
"""

from collections.abc import Sequence
from dataclasses import replace

import anyio
import structlog

from mcp_server.errors import ModelError, ProviderFailed
from mcp_server.records import Compacted, ModelTurn, SessionRecord, StoredEntry
from mcp_server.sessions.condensed import CHARACTERS, FULL, Cut, cut, is_full, material, window_of
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.smalljobs import job_turn

log = structlog.get_logger(__name__)

BOUND = 180.0
"""Seconds for one try: a model reads a whole window and writes a page."""

PATIENCE = 5
"""Model turns until it is tried again after it failed: the run goes on meanwhile, and each try costs a whole window."""


class Compaction:
    """One run's. Remembers only how its last try went."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self.failure = ""
        """Why the last try came to nothing; empty: it did not."""
        self._failed_at = 0

    async def due(self, session: SessionRecord, entries: Sequence[StoredEntry], trace: str = "") -> Compacted | None:
        """The entry to store now, at the model's turn. None: it is not time, or it could not be had, and the run goes on as it is.
        `trace`: as in `TurnRequest`.

        Raises:
            AnswerAwaited: A client's own model is asked for the summary.
        """
        limit = self._deployment.limits.context_tokens
        if not is_full(entries, limit) or self._waits(entries):
            return None
        window = window_of(entries, limit)
        parts = cut(entries, window) if window is not None else None
        if window is None or parts is None:
            return None
        try:
            compacted = await self._condensed(session, parts, window, entries[-1].seq, trace)
        except ModelError as error:
            self.failure, self._failed_at = str(error), _turns(entries)
            log.warning("a long transcript could not be shortened; the run goes on with all of it", session=session.id, error=str(error))
            return None
        self.failure = ""
        return compacted

    def _waits(self, entries: Sequence[StoredEntry]) -> bool:
        return bool(self.failure) and _turns(entries) < self._failed_at + PATIENCE

    async def _condensed(self, session: SessionRecord, parts: Cut, window: int, seq: int, trace: str) -> Compacted:
        text = material(parts, int(FULL * window) * CHARACTERS)
        chain = tuple(record.id for record in await self._deployment.store.chain(session.id))
        try:
            with anyio.fail_after(BOUND):
                turn = await job_turn(self._deployment, "compaction", session, text, seq=seq, chain=chain, trace=trace)
        except TimeoutError:
            raise ProviderFailed(f"no summary in {BOUND:g} s") from None
        summary = turn.text.strip()
        if not summary:
            raise ProviderFailed(f"the summary of {turn.model} was empty")
        if len(summary) >= len(text):
            raise ProviderFailed(f"the summary of {turn.model} was no shorter than what it stands for")
        return Compacted(summary=summary, through=parts.through, model=turn.model, usage=replace(turn.usage, turns=0, tool_calls=0))


def _turns(entries: Sequence[StoredEntry]) -> int:
    return sum(1 for stored in entries if isinstance(stored.entry, ModelTurn))
