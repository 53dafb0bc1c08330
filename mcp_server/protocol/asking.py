"""What one request can carry to a person, whatever the era: put prompts, and pass the replies on.

`asking_forms` is the way up to 2025-11-25 (the server calls the client), `asking_rounds` the way from 2026-07-28 on
(the call returns and comes back). Which one, if any, is told by what this very request declares.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, assert_never

import anyio
from mcp_types import InputRequiredResult

from mcp_server.policy.values import CallId
from mcp_server.principal import Principal
from mcp_server.protocol.replies import Answered, PutOff, Reply, Unusable
from mcp_server.protocol.showing import Showing
from mcp_server.protocol.timing import Timing
from mcp_server.records import Answer, Prompt, PromptId, SessionRecord
from mcp_server.sessions.front import Ended, Front, Open


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """One request, as far as it passes on what a person answers."""

    front: Front
    principal: Principal
    timing: Timing
    showing: Showing
    clock: Callable[[], float]
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Asker):
    """One request's stay with one call. The call outlives it."""

    root: SessionRecord
    call_id: CallId


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAgain:
    """Something was put, or was closed meanwhile; the call may have moved on."""

    put_off: frozenset[PromptId] = frozenset()
    """Prompts that the person closed without a choice: still open, not to be put again by this call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """The request must leave with this, and comes back with the replies."""

    result: InputRequiredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """Nothing more can be carried by this request."""


Put = LookAgain | Suspend | Exhausted | Ended
"""`Ended`: the call came to its end meanwhile, and there is nothing to look for again."""


class Channel(Protocol):
    """The way to a person that one request has, and from 2026-07-28 on to the client's own model."""

    def carries(self, still: Open, put_off: frozenset[PromptId]) -> bool:
        """Is something open that can be put?"""
        ...

    async def put(self, still: Open, put_off: frozenset[PromptId]) -> Put:
        """Put what is open: at least the first prompt, more where the channel can. None of what is in `put_off`."""
        ...


def fresh(still: Open, put_off: frozenset[PromptId]) -> tuple[Prompt, ...]:
    """The open prompts but for those that the person closed without a choice."""
    return tuple(prompt for prompt in still.prompts if prompt.id not in put_off)


async def pass_on(visit: Asker, prompt: Prompt, reply: Reply, *, channel: str) -> bool:
    """Tell the sessions what came back. True: the prompt was put off and stays open. What a person can put right they are asked once more.

    Not interrupted by a client that leaves: what a person answered counts.
    """
    with anyio.fail_after(visit.timing.begin, shield=True):
        match reply:
            case Answered(choice=choice, words=words):
                answer = Answer(choice=choice, words=words, by=visit.principal.key, channel=channel, at=visit.clock())
                # Not taken: closed by somebody else, or not to be answered so. Either way it is not put again by this call.
                return not await visit.front.answer(prompt.id, answer, visit.principal)
            case Unusable(amiss=amiss) if amiss and prompt.id not in visit.showing.amiss:
                visit.showing.amiss.add(prompt.id, amiss)
                return False
            case Unusable(reason=reason):
                await visit.front.unaskable(prompt.id, reason)
                return False
            case PutOff():
                return True
            case _:
                assert_never(reply)
