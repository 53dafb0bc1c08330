"""Turns from the model of the client itself: what is asked for in this process, who has it now, and what came back.

A model that answers only while a request of its client is there to carry the question. So the run that asks does not wait for it
here: it rests, and comes again when the answer is there. Nothing is stored: after a restart the same turn is asked for anew.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mcp_server.errors import AnswerAwaited, AnswerWithheld, ModelNotConfigured, ProviderFailed
from mcp_server.policy.values import CallId, ToolCall
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import FINAL, ModelTurn
from mcp_server.sessions.models.asks import ModelAsk, NotSaid, Said
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.sessions.models.call_ids import fresh_ids
from mcp_server.sessions.models.names import CLIENT, ClientsModel
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Store

OUT_SECONDS = 300.0
"""How long an ask is left to the request that put it last, where that does not come back: a long answer, with a person who looks it
over first. Then another request may put it."""

PUTS = 3
"""How often one ask is put to clients. One that never comes back with an answer may have refused where it cannot be heard."""


@dataclass(slots=True)
class _Open:
    """One ask. Mutable: it is the live thing."""

    ask: ModelAsk
    since: float
    """When it was opened. Seconds since the epoch."""
    said: Said | NotSaid | None = None
    puts: int = 0
    out_with: CallId | None = None
    """The call whose request has put it."""
    out_until: float = 0.0
    lacking: str = ""
    """Why the last request that looked at it could not put it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """How the turns of one part of a tree stand that a client's own model is to give."""

    lines: tuple[str, ...] = ()
    stuck: bool = False
    """One of them was looked at by a request that cannot put it."""


NOTHING_ASKED = Awaited()


class ClientModel:
    """The back end for `client`. One a process, one ask a session."""

    KIND = "smp"
    """How the ids of asks begin."""

    def __init__(self, *, enabled: Callable[[], bool] = lambda: False, clock: Callable[[], float] = time.time) -> None:
        self._enabled = enabled
        self._clock = clock
        self._open: dict[SessionId, _Open] = {}
        self.changed: Callable[[ModelAsk], None] = _nobody
        """Told of each ask that was opened, put, given back, answered or dropped."""

    # ---- for runs -------------------------------------------------------------------------------

    async def turn(self, request: TurnRequest, name: ClientsModel) -> ModelTurn:
        """As `ModelBackend.turn`: the answer where it is there, else an ask."""
        self.check(request.agent)
        if not request.chain:
            raise ModelNotConfigured(
                f"the client's own model is not asked for small jobs (agent `{request.agent}`): set `small_model` to a provider's model"
            )
        found = self._open.get(request.session_id)
        if found is None or not _same(found.ask.request, request):
            self.drop(request.session_id)
            ask = ModelAsk(id=mint(self.KIND), request=request, hint=name.hint)
            found = self._open[request.session_id] = _Open(ask=ask, since=self._clock())
            self.changed(ask)
        if found.said is None:
            raise AnswerAwaited(found.ask.id)
        del self._open[request.session_id]
        return _turn_of(found.said, request)

    def check(self, agent: str) -> None:
        """May it be asked at all?

        Raises:
            ModelNotConfigured: Says what to set.
        """
        if not self._enabled():
            raise ModelNotConfigured(
                f"agent `{agent}` is to use the client's own model (`{CLIENT}`), and that is off: put `sampling: true` into the user "
                f"settings, or give the agent a provider's model, `agents: {{{agent}: {{model: provider:name}}}}`"
            )

    def drop(self, session_id: SessionId) -> None:
        """The session wants no answer any more."""
        found = self._open.pop(session_id, None)
        if found is not None:
            self.changed(found.ask)

    def lapse(self, seconds: float) -> None:
        """Give up what no client has answered for so long, and free what did not come back."""
        now = self._clock()
        for found in [found for found in self._open.values() if found.said is None]:
            if found.since + seconds <= now:
                why = found.lacking or "no client that lends its model has called `task` or `task_status`"
                self._end(found, NotSaid(reason=f"the client's own model did not answer within {seconds:g} s: {why}"))
            elif found.out_with is not None and found.out_until <= now:
                self._free(found)

    # ---- for those who wait ---------------------------------------------------------------------

    def is_open(self, ask_id: str) -> bool:
        """Is it still to be answered?"""
        return self._find(ask_id) is not None

    async def stands(self, ask_id: str, store: Store) -> bool:
        """The same, with a look at what other processes have done: where the run has gone on without it, it is dropped."""
        found = self._find(ask_id)
        if found is None:
            return False
        request = found.ask.request
        run = await store.latest_run(request.session_id)
        newer = await store.transcript(request.session_id, after=request.transcript[-1].seq)
        if run is not None and run.state not in FINAL and not newer:
            return True
        self.drop(request.session_id)
        return False

    def below(self, session_id: SessionId) -> Awaited:
        """What is open of a session and all below it."""
        mine = [found for found in self._open.values() if found.said is None and session_id in found.ask.chain]
        return Awaited(lines=tuple(_line(found) for found in mine), stuck=any(found.lacking for found in mine))

    # ---- for those who carry --------------------------------------------------------------------

    @property
    def asks(self) -> Sequence[ModelAsk]:
        """All that are to be answered, oldest first."""
        return [found.ask for found in self._open.values() if found.said is None]

    def out_with(self, ask_id: str) -> CallId | None:
        """The call whose request has it now."""
        found = self._find(ask_id)
        return None if found is None else found.out_with

    def cannot(self, ask_id: str, reason: str) -> None:
        """A request that may put it is there, and its client cannot answer."""
        found = self._find(ask_id)
        if found is not None and found.out_with is None and found.lacking != reason:
            found.lacking = reason
            self.changed(found.ask)

    def put(self, ask_id: str, call_id: CallId) -> bool:
        """See `Front.put_turn`."""
        found = self._find(ask_id)
        if found is None:
            return False
        if found.puts >= PUTS:
            self._end(found, NotSaid(reason=f"the client was asked {PUTS} times for one turn of its own model, and gave no answer"))
            return False
        found.puts += 1
        found.out_with, found.out_until, found.lacking = call_id, self._clock() + OUT_SECONDS, ""
        self.changed(found.ask)
        return True

    def answer(self, ask_id: str, call_id: CallId, said: Said | NotSaid) -> None:
        """See `Front.turn_said`."""
        found = self._find(ask_id)
        if found is not None and found.out_with == call_id:
            self._end(found, said)

    def fail(self, ask_id: str, reason: str) -> None:
        """The one request that it belongs to is there, and its client cannot answer."""
        found = self._find(ask_id)
        if found is not None:
            self._end(found, NotSaid(reason=reason))

    def back(self, ask_id: str, call_id: CallId) -> None:
        """See `Front.turn_back`."""
        found = self._find(ask_id)
        if found is not None and found.out_with == call_id:
            self._free(found)

    def _find(self, ask_id: str) -> _Open | None:
        return next((found for found in self._open.values() if found.ask.id == ask_id and found.said is None), None)

    def _end(self, found: _Open, said: Said | NotSaid) -> None:
        found.said, found.out_with = said, None
        self.changed(found.ask)

    def _free(self, found: _Open) -> None:
        found.out_with = None
        self.changed(found.ask)


def _nobody(ask: ModelAsk) -> None:
    """Before there are requests, none carries anything."""


def _same(one: TurnRequest, other: TurnRequest) -> bool:
    """Is it the same turn of the same agent? Its rules and tools may have changed since: calls are judged when they are made."""
    old, new = one.transcript[-1], other.transcript[-1]
    return (one.agent, one.model, old.seq, old.entry) == (other.agent, other.model, new.seq, new.entry)


def _line(found: _Open) -> str:
    request = found.ask.request
    state = found.lacking or ("it is being asked" if found.out_with is not None else "not asked yet")
    return f"agent {request.agent}: {state}"


def _turn_of(said: Said | NotSaid, request: TurnRequest) -> ModelTurn:
    if isinstance(said, NotSaid):
        raise AnswerWithheld(said.reason) if said.withheld else ProviderFailed(said.reason)
    ids = fresh_ids([call.id for call in said.calls], request)
    calls = tuple(ToolCall(id=id, tool=call.tool, arguments=dict(call.arguments)) for id, call in zip(ids, said.calls, strict=True))
    usage = replace(said.usage, turns=1, tool_calls=len(calls), unpriced=1)
    return ModelTurn(text=said.text, calls=calls, model=f"{CLIENT}:{said.model}", usage=usage)
