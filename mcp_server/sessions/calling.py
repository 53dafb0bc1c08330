"""The calls of one model turn, all at once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from mcp_server.policy.values import CallId, ToolCall
from mcp_server.records import CallEnded, Ending
from mcp_server.sessions.gate import Gate
from mcp_server.sessions.halting import Halt
from mcp_server.sessions.hold import Hold
from mcp_server.sessions.pulse import Pulse
from mcp_server.sessions.refusals import refused
from mcp_server.sessions.transcripts import MOST_CALLS, NeedsCalls
from mcp_server.sessions.work import Parked, Work, key_of
from mcp_server.tools.base import Step


@dataclass(frozen=True, slots=True)
class _Attempted:
    call: ToolCall
    result: CallEnded | Parked


class _Woken:
    """Something that a parked call waits for is over."""


_Signal = _Attempted | _Woken


def beyond(call: ToolCall, path: tuple[str, ...]) -> CallEnded:
    """What the model is told of a call too many."""
    reason = f"more than {MOST_CALLS} calls in one turn"
    return refused(
        call, path, Ending.DENIED_BY_RULE, reason, f"Nothing was done. Make at most {MOST_CALLS} at a time; this one may come next."
    )


class Calling:
    """Takes the calls of a run through the gate."""

    def __init__(self, gate: Gate, pulse: Pulse, hold: Hold) -> None:
        self._gate = gate
        self._pulse = pulse
        self._hold = hold

    async def make(self, needed: NeedsCalls, looping: frozenset[CallId], within: anyio.CancelScope) -> tuple[Parked, ...]:
        """All open calls at once. A parked call is tried again when what it waits for is over, even while others still run. `within` ends
        with the run's working time.
        """
        halt = Halt(self._hold, within)
        parked: dict[CallId, tuple[ToolCall, Parked]] = {}
        send, receive = anyio.create_memory_object_stream[_Signal](float("inf"))
        with send, receive, self._pulse.hearing(lambda: send.send_nowait(_Woken())):
            async with anyio.create_task_group() as group:
                flying = len(needed.calls)
                for call in needed.calls:
                    group.start_soon(self._try, call, needed, looping, halt, send)
                while flying:
                    await halt.flying(flying)
                    signal = await receive.receive()
                    if isinstance(signal, _Attempted):
                        flying -= 1
                        if not isinstance(signal.result, CallEnded):
                            parked[signal.call.id] = (signal.call, signal.result)
                            self._pulse.watch([key_of(wait) for _, wait in parked.values()])
                        continue
                    for call, _ in parked.values():
                        group.start_soon(self._try, call, needed, looping, halt, send)
                    flying += len(parked)
                    parked.clear()
        await halt.flying(0)
        return tuple(result for _, result in parked.values())

    async def _try(
        self, call: ToolCall, needed: NeedsCalls, looping: frozenset[CallId], halt: Halt, send: MemoryObjectSendStream[_Signal]
    ) -> None:
        work = Work(
            session=self._hold.session,
            call=call,
            journal=self._hold,
            run=self._hold.run,
            lease=self._hold.lease,
            looping=call.id in looping,
            background=self._hold.run.background,
            progress=self._progress_of(call),
            halted=halt.asking,
            trace=self._hold.trace,
        )
        if call.id in needed.beyond:
            result = beyond(call, self._hold.path)
            await self._hold.ended(result, ())
        elif call.id in needed.interrupted:
            result = await self._gate.rejoin(work)
        else:
            result = await self._gate.attempt(work)
        send.send_nowait(_Attempted(call, result))

    def _progress_of(self, call: ToolCall) -> Callable[[Step], Awaitable[None]]:
        async def tell(step: Step) -> None:
            self._pulse.tell(f"{' › '.join(self._hold.path)}: {call.tool}: {step.words}")

        return tell
