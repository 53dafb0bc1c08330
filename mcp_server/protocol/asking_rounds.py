"""Asking from 2026-07-28 on: the call returns with all open prompts and is called again with the replies.

What must survive the round travels with the client in the request state, which the SDK seals and binds to the principal,
the tool and the arguments. It names the call, so that a retry, even after a restart, finds it and starts nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequest, InputRequiredResult, InputResponse
from pydantic import TypeAdapter, ValidationError

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.asking import Exhausted, LookAgain, Put, Suspend, Visit, pass_on
from mcp_server.protocol.forms import message_of, schema_of
from mcp_server.protocol.replies import Reply, Unusable, read_reply
from mcp_server.protocol.timing import MAX_ROUNDS
from mcp_server.records import Prompt, PromptId
from mcp_server.sessions.front import Ended

_GATHERINGS = 10
"""How often a round may wait once more because yet another prompt came. A bound, not a wish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundState:
    """What a suspended call carries from one round to the next."""

    call: str
    round: int = 0
    """How many times the client has been asked so far."""
    put_at: float = 0.0
    asked: tuple[PromptId, ...] = ()
    put_off: tuple[PromptId, ...] = ()


_STATE = TypeAdapter(RoundState)


def read_state(text: str | None) -> RoundState | None:
    """The state that a retry brings back; None: it is a first call.

    Raises:
        NoSuchHandle: Sealed by us, yet no state of this version.
    """
    if text is None:
        return None
    try:
        return _STATE.validate_json(text)
    except ValidationError:
        raise NoSuchHandle("call") from None


async def take_replies(visit: Visit, state: RoundState, responses: Mapping[str, InputResponse]) -> frozenset[PromptId] | Ended:
    """Pass on what came back for prompts that were asked and are still open; later than that it counts for nothing.

    Returns the prompts put off so far, or the end of the call.
    """
    settled = await visit.front.settle(visit.root, visit.call_id, seconds=0)
    if isinstance(settled, Ended):
        return settled
    put_off = set(state.put_off)
    for prompt in settled.prompts:
        if prompt.id in state.asked and prompt.id in responses:
            reply = _reply(visit, state, prompt, responses[prompt.id])
            if await pass_on(visit, prompt, reply, channel="input_required"):
                put_off.add(prompt.id)
    return frozenset(put_off)


def _reply(visit: Visit, state: RoundState, prompt: Prompt, response: InputResponse) -> Reply:
    if not isinstance(response, ElicitResult):
        return Unusable(reason="the client's answer is not one that a form can have")
    return read_reply(prompt, response, seconds=visit.clock() - state.put_at, reflex=visit.timing.reflex)


class RoundChannel:
    """One more round of one call."""

    def __init__(self, visit: Visit, state: RoundState) -> None:
        self._visit = visit
        self._state = state

    async def put(self, prompts: Sequence[Prompt], put_off: frozenset[PromptId]) -> Put:
        """All prompts that are open, and those that open in the same breath."""
        if self._state.round >= MAX_ROUNDS:
            return Exhausted()
        requests: dict[str, InputRequest] = {}
        gathered = await self._gathered(prompts, put_off)
        if isinstance(gathered, Ended):
            return gathered
        for prompt in gathered:
            if await self._visit.front.show(prompt.id) is not None:
                form = ElicitRequestFormParams(message=message_of(prompt), requested_schema=schema_of(prompt, titled=True))
                requests[prompt.id] = ElicitRequest(params=form)
        if not requests:
            return LookAgain()
        state = RoundState(
            call=self._visit.call_id,
            round=self._state.round + 1,
            put_at=self._visit.clock(),
            asked=tuple(PromptId(key) for key in requests),
            put_off=tuple(sorted(put_off)),
        )
        return Suspend(result=InputRequiredResult(input_requests=requests, request_state=_STATE.dump_json(state).decode()))

    async def _gathered(self, prompts: Sequence[Prompt], put_off: frozenset[PromptId]) -> Sequence[Prompt] | Ended:
        visit = self._visit
        for _ in range(_GATHERINGS):
            seen = {prompt.id for prompt in prompts}
            settled = await visit.front.settle(visit.root, visit.call_id, seconds=visit.timing.gather, shown=(*seen, *put_off))
            if isinstance(settled, Ended):
                return settled
            prompts = [prompt for prompt in settled.prompts if prompt.id not in put_off]
            if {prompt.id for prompt in prompts} <= seen:
                break
        return prompts
