"""Asking from 2026-07-28 on: the call returns with all that is open, prompts and turns of the client's own model, and is called again
with the replies.

What must survive the round travels with the client in the request state, which the SDK seals and binds to the principal,
the tool and the arguments. It names the call, so that a retry, even after a restart, finds it and starts nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_types import ElicitResult, InputRequest, InputRequiredResult, InputResponse
from pydantic import TypeAdapter, ValidationError

from mcp_server.errors import NoSuchHandle
from mcp_server.protocol.asking import Exhausted, LookAgain, Put, Suspend, Visit, fresh, pass_on
from mcp_server.protocol.replies import Reply, Unusable, read_opened, read_reply
from mcp_server.protocol.sampling import request_of, said_by
from mcp_server.protocol.showing import Shape, agreed_in, link_key, open_key
from mcp_server.protocol.timing import MAX_ROUNDS
from mcp_server.records import Prompt, PromptId
from mcp_server.sessions.front import Ended, Open

_GATHERINGS = 10
"""How often a round may wait once more because yet another prompt came. A bound, not a wish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundState:
    """What a suspended call carries from one round to the next."""

    call: str
    round: int = 0
    """How many times the client has been asked so far."""
    put_at: float = 0.0
    asked: tuple[str, ...] = ()
    """Keys of prompts and of turns."""
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
    """Pass on what came back for prompts and turns that were asked and are still open; later than that it counts for nothing. Of links
    it is only kept whether the person agreed to open them.

    Returns the prompts put off so far, or the end of the call.
    """
    settled = await visit.front.settle(visit.root, visit.call_id, seconds=0)
    if isinstance(settled, Ended):
        return settled
    put_off = set(state.put_off)
    came = {key: response for key, response in responses.items() if key in state.asked}
    for prompt in settled.prompts:
        if await _taken(visit, state, prompt, came):
            put_off.add(prompt.id)
    for ask in settled.turns:
        if ask.id in state.asked and ask.id in responses:
            visit.front.turn_said(visit.call_id, ask.id, said_by(responses[ask.id]))
    return frozenset(put_off)


async def _taken(visit: Visit, state: RoundState, prompt: Prompt, came: Mapping[str, InputResponse]) -> bool:
    """True: the person put it off."""
    if prompt.id in came:
        return await pass_on(visit, prompt, _reply(visit, state, prompt, came[prompt.id]), channel="input_required")
    if (key := open_key(prompt.id)) in came:
        return await pass_on(visit, prompt, _opened(came[key]), channel="input_required")
    if (key := link_key(prompt.id)) in came:
        if not agreed_in(came[key]):
            return True
        visit.showing.agreed.add(prompt.id)
    return False


def _reply(visit: Visit, state: RoundState, prompt: Prompt, response: InputResponse) -> Reply:
    if not isinstance(response, ElicitResult):
        return Unusable(reason="the client's answer is not one that a form can have")
    return read_reply(prompt, response, seconds=visit.clock() - state.put_at, reflex=visit.timing.reflex)


def _opened(response: InputResponse) -> Reply:
    if not isinstance(response, ElicitResult):
        return Unusable(reason="the client's answer is not one that a link can have")
    return read_opened(response)


class RoundChannel:
    """One more round of one call."""

    def __init__(self, visit: Visit, state: RoundState, shape: Shape | None, *, opens: bool) -> None:
        self._visit = visit
        self._state = state
        self._shape: Shape | None = shape
        """How this client is given prompts; None: it is given none."""
        self._opens = opens
        """It opens another server's links."""

    def carries(self, still: Open, put_off: frozenset[PromptId]) -> bool:
        """Turns, and prompts where the client is given them."""
        return bool(still.turns or self._new(still, put_off))

    def _new(self, still: Open, put_off: frozenset[PromptId]) -> tuple[Prompt, ...]:
        return self._visit.showing.puttable(fresh(still, put_off), self._shape, opens=self._opens)

    async def put(self, still: Open, put_off: frozenset[PromptId]) -> Put:
        """All that is open, and what opens in the same breath."""
        if self._state.round >= MAX_ROUNDS:
            return Exhausted()
        gathered = await self._gathered(still)
        if isinstance(gathered, Ended):
            return gathered
        requests, unputtable = await self._requests(gathered, put_off)
        if not requests:
            return LookAgain(put_off=unputtable)
        state = RoundState(
            call=self._visit.call_id,
            round=self._state.round + 1,
            put_at=self._visit.clock(),
            asked=tuple(requests),
            put_off=tuple(sorted(put_off)),
        )
        return Suspend(result=InputRequiredResult(input_requests=requests, request_state=_STATE.dump_json(state).decode()))

    async def _requests(self, still: Open, put_off: frozenset[PromptId]) -> tuple[dict[str, InputRequest], frozenset[PromptId]]:
        """What to ask by key, and the prompts for which there is no way any more: the console was closed meanwhile."""
        requests, unputtable = dict[str, InputRequest](), set[PromptId]()
        for prompt in self._new(still, put_off):
            request = self._visit.showing.request(prompt, self._shape, opens=self._opens)
            if request is None:
                unputtable.add(prompt.id)
            elif await self._visit.front.show(prompt.id) is not None:
                requests[request[0]] = request[1]
        for ask in still.turns:
            if await self._visit.front.put_turn(self._visit.call_id, ask.id):
                requests[ask.id] = request_of(ask)
        return requests, frozenset(unputtable)

    async def _gathered(self, still: Open) -> Open | Ended:
        visit = self._visit
        for _ in range(_GATHERINGS):
            seen = still.ids
            settled = await visit.front.settle(visit.root, visit.call_id, seconds=visit.timing.gather, shown=tuple(seen))
            if isinstance(settled, Ended):
                return settled
            still = settled
            if still.ids <= seen:
                break
        return still
