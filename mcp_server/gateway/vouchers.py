"""Secrets that let one answer through: each good for one prompt, once, and not for long. Kept as digests, in memory alone.

A secret proves that an answer comes from where a result's `_meta` went, which no model is shown. It does not prove a person.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import Prompt, PromptId

LIVES = 600.0
"""Seconds: as long as a person has for a prompt in the usual settings."""

MOST_A_PROMPT = 8
"""Secrets of one prompt at once: each result and each panel that shows it has one of its own. The oldest gives way."""

MOST = 5000
"""Of all prompts together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What one secret is good for."""

    principal: str
    root_id: SessionId
    """Of the caller to whom it was handed."""
    prompt_id: PromptId
    session_id: SessionId
    digest: str
    """Of the call: principal, session, tool and arguments."""
    revision: str
    """Of the settings and agents under which it was shown."""


@dataclass(slots=True, kw_only=True)
class Vouchers:
    """All that are out."""

    clock: Callable[[], float]
    _out: dict[str, tuple[Bound, float]] = field(default_factory=dict[str, tuple[Bound, float]])

    def issue(self, bound: Bound) -> str:
        """A new secret."""
        mine = [key for key, (other, _) in self._out.items() if other.prompt_id == bound.prompt_id]
        for key in mine[: max(0, len(mine) - MOST_A_PROMPT + 1)]:
            del self._out[key]
        while len(self._out) >= MOST:
            del self._out[next(iter(self._out))]
        secret = secrets.token_urlsafe(32)
        self._out[_digest(secret)] = (bound, self.clock() + LIVES)
        return secret

    def take(self, secret: str) -> Bound | None:
        """What it is good for; it is dead from then on, whatever comes of it. None: it never lived, was used, or is too old."""
        found = self._out.pop(_digest(secret), None)
        return None if found is None or found[1] <= self.clock() else found[0]

    def forget(self, prompt_id: PromptId) -> None:
        """The prompt is over: so are its secrets."""
        for key in [key for key, (bound, _) in self._out.items() if bound.prompt_id == prompt_id]:
            del self._out[key]


def bound_to(prompt: Prompt, principal: str, root_id: SessionId, revision: str) -> Bound:
    """The binding of an answer to this prompt by this caller, as things stand now."""
    return Bound(
        principal=principal,
        root_id=root_id,
        prompt_id=prompt.id,
        session_id=prompt.session_id,
        digest=prompt.digest,
        revision=revision,
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
