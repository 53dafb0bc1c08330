"""What a request that waits for a call is shown: the prompts and turns it may carry, and the words to leave with."""

from collections.abc import Sequence

from mcp_server.elicited import ElicitationSubject
from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import SessionId
from mcp_server.records import Prompt
from mcp_server.sessions.carrying import Carrying
from mcp_server.sessions.clientcalls import ClientCall, subject_of
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Open
from mcp_server.sessions.reports import report_of, task_text, unborn
from mcp_server.sessions.roots import Roots
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.trees import prompts_below

ORPHANS = "orphans"
"""The bell for prompts that no request holds: whoever may carry them looks."""

CARRIERS = ("task", "task_status")
"""The tools whose calls carry the prompts that no other request shows: those of background children and of cancelled calls."""


FOLLOWED = 30.0
"""Seconds after a look by its handle for which a promised call's prompts are left to whoever looks so. Then others may show them too."""


class Views:
    """Looks at calls; changes nothing."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor, roots: Roots) -> None:
        self._deployment = deployment
        self._ways = deployment.ways
        self._supervisor = supervisor
        self._roots = roots
        self.calls: dict[CallId, ClientCall] = {}
        """Every client's call of this process, by id."""
        self._by_child: dict[SessionId, ClientCall] = {}
        self.carrying = Carrying(deployment, roots, self.calls, self.holder_of, CARRIERS)

    def parked_on(self, call: ClientCall, child: SessionId) -> None:
        """The call waits for this child: the prompts below it are the call's."""
        self._by_child[child] = call

    def gone(self, call: ClientCall) -> None:
        """The call holds nothing any more."""
        for child in [child for child, holder in self._by_child.items() if holder is call]:
            del self._by_child[child]

    async def prompts(self, call: ClientCall) -> tuple[Prompt, ...]:
        """The open prompts that this call's request may show, oldest first. Its client's person cannot answer what somebody else must."""
        return tuple(prompt for prompt in await self._held(call) if not prompt.asked_of)

    async def _held(self, call: ClientCall) -> tuple[Prompt, ...]:
        """Every open prompt that is this call's to tell of, oldest first."""
        held = [(prompt, self.holder(prompt)) for prompt in self._supervisor.prompting.open_ones.values()]
        orphans = call.call.tool in CARRIERS and any(holder is None for _, holder in held)
        roots = frozenset(root.id for root in await self._roots.of_caller(call.root)) if orphans else frozenset[SessionId]()
        return tuple(prompt for prompt, holder in held if holder is call or (holder is None and prompt.root_id in roots))

    def holder(self, prompt: Prompt) -> ClientCall | None:
        """The attached call whose own prompt it is, itself or through its child. None: no request holds it."""
        return self.holder_of(prompt.chain, prompt.calls)

    def holder_of(self, chain: Sequence[SessionId], calls: Sequence[CallId] = ()) -> ClientCall | None:
        """The attached call that is one of `calls`, or waits for a session of this path."""
        own = (self.calls.get(call_id) for call_id in calls)
        above = (self._by_child.get(session_id) for session_id in chain)
        return next((call for call in (*own, *above) if call is not None and self._shows(call)), None)

    def shows_what_waits(self, call: ClientCall) -> bool:
        """Is there a prompt, or a turn of the client's own model, that is this call's to show, and others' once it is gone?"""
        asks = self._deployment.asks
        prompted = any(self.holder(prompt) is call for prompt in self._supervisor.prompting.open_ones.values())
        return prompted or any(self.holder_of(ask.chain) is call or asks.out_with(ask.id) == call.call.id for ask in asks.asks)

    def lasts(self, prompt: Prompt) -> bool:
        """A call that needs no request waits for it."""
        calls = (self.calls.get(call_id) for call_id in prompt.calls)
        return any(call is not None and call.promised for call in calls)

    def _shows(self, call: ClientCall) -> bool:
        """Somebody looks at it: through a request that is attached, or by its handle not long ago."""
        return call.attached > 0 or (call.promised and self._deployment.clock() - call.followed_at < FOLLOWED)

    async def open(self, call: ClientCall) -> Open:
        """The call goes on; these are the words to leave with."""
        prompts, turns = await self.prompts(call), await self.carrying.turns(call)
        subject = await subject_of(self._deployment.store, call)
        if subject is None:
            mine = tuple(prompt for prompt in await self._held(call) if call.call.id in prompt.calls)
            report = unborn(call.root.id, call.call, self._ways.lines(mine)).model_dump(mode="json") if call.call.tool == "task" else None
            words = waiting_words(call, self._ways.lines(mine), begun=any(isinstance(one.subject, ElicitationSubject) for one in mine))
            return Open(call_id=call.call.id, prompts=prompts, turns=turns, text=words, structured=report)
        session, run = subject
        asked = self._deployment.asks.below(session.id)
        below = prompts_below(self._supervisor.prompting.open_ones, session.id)
        report = report_of(session, run, self._ways.lines(below), asked)
        words = f"{task_text(report)}\n{carry_on(report.task_id, by_itself=not asked.lines)}"
        return Open(call_id=call.call.id, prompts=prompts, turns=turns, text=words, structured=report.model_dump(mode="json"))

    def progress(self, call: ClientCall) -> str:
        """Where the call is now: what its own child, or one below that, was last heard of; for one that polls, any of the caller's."""
        child = next((session_id for session_id, holder in self._by_child.items() if holder is call), None)
        whose = call.root.id if call.call.tool == "task_status" else child
        return call.steps.words or (self._supervisor.heard(whose) if whose is not None else "") or call.call.tool


def waiting_words(call: ClientCall, waiting_for: Sequence[str], *, begun: bool) -> str:
    """For a call of the client's own that has to leave unfinished. `waiting_for`: its own prompts, a line each. `begun`: it is under way,
    and another server asks.
    """
    if not waiting_for:
        return f"`{call.call.tool}` is not done yet. The same call again, with the same arguments, continues it."
    lines = "\n".join(f"- {line}" for line in waiting_for)
    waits = "is under way, and waits for what its server asks a person" if begun else "waits for a person and has done nothing yet"
    return (
        f"`{call.call.tool}` {waits}. This client cannot show the question, or nobody has answered:\n"
        f"{lines}\n"
        "Tell the person where to answer. Then make the same call again, with the same arguments: it continues."
    )


def carry_on(task_id: str, *, by_itself: bool) -> str:
    """How the model goes on from a task that has not ended."""
    poll = f'task_status(task_id="{task_id}", wait_seconds=30)'
    if by_itself:
        return f"It goes on by itself. Poll it with {poll}, or make the same call again."
    return f"It goes on only while such a call is open, which carries its turns to this client's own model: call {poll} until it has ended."
