"""Putting a question before a person: opening prompts, joining calls to them, letting them lapse.

Keeps a mirror of the open ones, so that a thousand waiting requests do not each read them from the store. This process's own
changes are in it at once, other processes' after `refresh`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import anyio

from mcp_server.elicited import DONE_WITH, ElicitationSubject, LinkAsked
from mcp_server.policy.explain import reasons
from mcp_server.policy.offers import Offered, offers, roles
from mcp_server.policy.values import Action, CallId, Mode, PlainValue
from mcp_server.policy.verdicts import SessionId, Verdict
from mcp_server.records import (
    ApprovalSubject,
    AuditEvent,
    BudgetSubject,
    Choice,
    Offer,
    Prompt,
    PromptId,
    PromptState,
    QuestionSubject,
    RunRecord,
    SessionRecord,
    Subject,
)
from mcp_server.sessions import events
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.standing import Standing
from mcp_server.sessions.work import Elicit, Work
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Lease

LAST_WORDS = 4.0
"""Seconds for taking back what is asked when the call that asks is cut short, as when the server ends."""


class Prompting:
    """Opens and lapses prompts. Answering them is `answers`."""

    def __init__(self, deployment: Deployment, changed: Callable[[Prompt], None]) -> None:
        self._deployment = deployment
        self._changed = changed
        """Told of each prompt that was opened, changed or closed."""
        self._open_ones: dict[PromptId, Prompt] = {}
        self._lapses_at = 0.0
        """Before then none of them lapses. 0: one of them may have changed since that was looked at."""
        self._stays: dict[PromptId, anyio.Event] = {}
        """Of those that a call stays with, while it is under way."""

    @property
    def open_ones(self) -> Mapping[PromptId, Prompt]:
        """Every open prompt, oldest first."""
        return self._open_ones

    async def refresh(self) -> None:
        """Read what other processes have opened and closed."""
        before, self._lapses_at = self._open_ones, 0.0
        self._open_ones = {prompt.id: prompt for prompt in await self._deployment.store.prompts(state=PromptState.OPEN)}
        for prompt_id in before.keys() ^ self._open_ones.keys():
            self._over(prompt_id)
            self._changed(before.get(prompt_id) or self._open_ones[prompt_id])

    async def note(self, prompt_id: PromptId, principal: str) -> None:
        """It was changed in this process: see how it stands now."""
        prompt = await self._deployment.store.prompt(prompt_id, principal)
        if prompt is None:
            return
        self._lapses_at = 0.0
        if prompt.state is PromptState.OPEN:
            self._open_ones[prompt_id] = prompt
        else:
            self._open_ones.pop(prompt_id, None)
            self._over(prompt_id)
        self._changed(prompt)

    def _over(self, prompt_id: PromptId) -> None:
        if prompt_id not in self._open_ones and (stay := self._stays.get(prompt_id)) is not None:
            stay.set()

    async def for_digest(self, session_id: SessionId, digest: str) -> tuple[Prompt, ...]:
        """All prompts of that very call, oldest first."""
        return await self._deployment.store.prompts(session_id=session_id, digest=digest)

    async def open_approval(self, work: Work, standing: Standing, verdict: Verdict, mode: Mode, digest: str, event: AuditEvent) -> PromptId:
        """The open prompt for this call: one that the same call of the same session waits for already, or a new one."""
        for prompt in await self.for_digest(work.session.id, digest):
            if prompt.state is PromptState.OPEN and await self._deployment.store.join_prompt(prompt.id, work.call.id):
                await self._deployment.store.audit((event,))
                await self.note(prompt.id, prompt.principal)
                return prompt.id
        return await self._open(work, standing, approval_of(work, verdict, mode), digest, (event,))

    async def open_question(self, work: Work, standing: Standing, subject: QuestionSubject, digest: str) -> PromptId:
        """A prompt for what a model wants to know. Never shared: each question is asked."""
        return await self._open(work, standing, subject, digest, ())

    def eliciting(self, work: Work, standing: Standing, digest: str, *, may_ask: bool) -> Elicit:
        """How another server may ask the person while this call is under way. `may_ask`: somebody may be asked at all."""

        async def elicit(subject: ElicitationSubject) -> Prompt | None:
            if not may_ask:
                return None
            async with work.halted():
                return await self._stay(work, standing, subject, digest)

        return elicit

    async def _stay(self, work: Work, standing: Standing, subject: ElicitationSubject, digest: str) -> Prompt:
        """Ask, and wait until that is open no more. Cutting the wait short takes it back. What was answered is kept no longer than this."""
        store, prompt_id = self._deployment.store, PromptId(mint("prm"))
        lapses = self._deployment.clock() + self._deployment.limits.foreign_seconds
        stay, done = anyio.Event(), anyio.Event()
        self._stays[prompt_id] = stay
        try:
            # Never the call's own digest: no answer to it is one about the call.
            await self._open(work, standing, subject, f"{digest}/{prompt_id}", (), prompt_id=prompt_id, deadline=lapses)
            async with anyio.create_task_group() as group:
                group.start_soon(self._done, subject, done, stay)
                while prompt_id in self._open_ones and not done.is_set():
                    await stay.wait()
                group.cancel_scope.cancel()
            if done.is_set() and (done_with := self._open_ones.get(prompt_id)) is not None:
                await self.close(done_with, PromptState.WITHDRAWN, DONE_WITH)
            closed = await store.prompt(prompt_id, work.session.principal)
        finally:
            del self._stays[prompt_id]
            with anyio.move_on_after(LAST_WORDS, shield=True):
                if (left := self._open_ones.get(prompt_id)) is not None:
                    await self.close(left, PromptState.WITHDRAWN, "the call for which it was asked has ended")
                await store.forget_words(prompt_id)
        if closed is None:
            raise AssertionError("a prompt is kept as long as its session")
        return closed

    async def _done(self, subject: ElicitationSubject, done: anyio.Event, stay: anyio.Event) -> None:
        """Ends the stay once its server says that the link is done with."""
        if isinstance(subject.asked, LinkAsked) and subject.asked.ref:
            await self._deployment.upstreams.news.until_finished(subject.asked.ref)
            done.set()
            stay.set()

    async def forsake(self, call_id: CallId) -> None:
        """Take back what was asked for a call that nobody carries on any more: its process is gone."""
        for prompt in [one for one in self._open_ones.values() if call_id in one.calls and isinstance(one.subject, ElicitationSubject)]:
            await self.close(prompt, PromptState.WITHDRAWN, "the server stopped while the call ran for which it was asked")

    async def open_budget(self, prompt_id: PromptId, session: SessionRecord, subject: BudgetSubject, digest: str, run: RunRecord) -> None:
        """A prompt about no call, but about going on at all. Its id is the asker's, so that it is opened once."""
        now, chain = self._deployment.clock(), await self._deployment.store.chain(session.id)
        prompt = Prompt(
            id=prompt_id,
            principal=session.principal,
            root_id=session.root_id,
            session_id=session.id,
            session_path=tuple(record.agent for record in chain),
            chain=tuple(record.id for record in chain),
            calls=(),
            digest=digest,
            subject=subject,
            created_at=now,
            background=run.background,
            trace=run.trace,
        )
        await self._opened(prompt, (events.prompted(now, prompt, tool_of(prompt), "opened"),))

    async def _opened(self, prompt: Prompt, happened: Sequence[AuditEvent], lease: Lease | None = None) -> None:
        await self._deployment.store.add_prompt(prompt, happened, lease=lease)
        self._lapses_at = 0.0
        self._open_ones[prompt.id] = prompt
        self._changed(prompt)
        self._deployment.herald.opened(prompt)

    async def _open(
        self,
        work: Work,
        standing: Standing,
        subject: Subject,
        digest: str,
        happened: Sequence[AuditEvent],
        *,
        prompt_id: PromptId | None = None,
        deadline: float | None = None,
    ) -> PromptId:
        now = self._deployment.clock()
        prompt = Prompt(
            id=prompt_id or PromptId(mint("prm")),
            principal=work.session.principal,
            root_id=work.session.root_id,
            session_id=work.session.id,
            session_path=standing.path,
            chain=tuple(record.id for record in standing.records),
            calls=(work.call.id,),
            digest=digest,
            subject=subject,
            created_at=now,
            deadline=deadline,
            once_seconds=self._deployment.limits.once_seconds,
            allow_seconds=self._deployment.limits.allow_seconds,
            background=work.background,
            trace=work.trace,
        )
        opened = events.prompted(now, prompt, work.call.tool, "opened")
        await self._opened(prompt, (*happened, opened), work.lease)
        return prompt.id

    async def show(self, prompt_id: PromptId) -> Prompt | None:
        """It is put before a person now: the first showing starts its deadline."""
        now = self._deployment.clock()
        shown = await self._deployment.store.mark_shown(prompt_id, at=now, deadline=now + self._deployment.limits.prompt_seconds)
        if shown is not None:
            self._lapses_at = 0.0
            self._open_ones[prompt_id] = shown
        return shown

    async def lapse(self) -> None:
        """Close what nobody answered in time."""
        now = self._deployment.clock()
        if now < self._lapses_at:
            return
        for prompt in [prompt for prompt in self._open_ones.values() if self._deadline(prompt) <= now]:
            await self.close(prompt, PromptState.EXPIRED, lapsed_words(prompt, self._deadline(prompt)))
        self._lapses_at = min(map(self._deadline, self._open_ones.values()), default=0.0)

    def _deadline(self, prompt: Prompt) -> float:
        return prompt.deadline if prompt.deadline is not None else prompt.created_at + self._deployment.limits.unshown_seconds

    async def close(self, prompt: Prompt, state: PromptState, reason: str) -> bool:
        """Close it without an answer."""
        now = self._deployment.clock()
        event = events.prompted(now, prompt, tool_of(prompt), state.value)
        closed = await self._deployment.store.close_prompt(prompt.id, state, reason=reason, events=(event,))
        if closed:
            self._deployment.telemetry.prompt(replace(prompt, state=state), tool_of(prompt), now)
        await self.note(prompt.id, prompt.principal)
        return closed


def lapsed_words(prompt: Prompt, deadline: float) -> str:
    """Why it lapsed, for the model."""
    if prompt.shown_at is None:
        return "no client ever showed the question to a person, nobody answered it elsewhere, and its time is up"
    return f"the question was shown and not answered within {round(deadline - prompt.shown_at, 1):g} s"


def tool_of(prompt: Prompt) -> str:
    """The tool that the prompt is about."""
    match prompt.subject:
        case ApprovalSubject() as approval:
            return approval.tool
        case QuestionSubject():
            return "question"
        case BudgetSubject():
            return "budget"
        case ElicitationSubject(tool=tool):
            return tool


def approval_of(work: Work, verdict: Verdict, mode: Mode) -> ApprovalSubject:
    """What the person is shown: the exact call, what of it asks and why, and the very rules each answer would create.

    Where somebody else must answer by their role, the person themselves is offered nothing but a denial, and the other one a single use.
    """
    asking = [part for part in verdict.parts if part.action is Action.ASK]
    others = roles(verdict)
    besides = [request for request in verdict.requests if any(part.permission == request.permission for part in asking)]
    made = tuple(_offer(offered) for offered in offers(verdict))
    return ApprovalSubject(
        tool=work.call.tool,
        arguments=dict(work.call.arguments),
        wants=tuple(f"{part.permission} {part.value.text}" for part in asking),
        because=reasons(verdict, mode),
        answer_by=others,
        asks=tuple(dict.fromkeys((*verdict.asks, *(ask for request in besides for ask in request.besides)))),
        offers=tuple(offer for offer in made if not others or offer.choice in (Choice.DENY, Choice.DENY_SESSION)),
        role_offers=tuple(offer for offer in made if others and offer.choice in (Choice.ALLOW_ONCE, Choice.DENY)),
        notes=(
            *dict.fromkeys(note for request in besides for note in request.notes),
            *dict.fromkeys(part.value.note for part in asking if isinstance(part.value, PlainValue) and part.value.note),
            *(f"only somebody else, in the role `{role}`, may allow it, for this once" for role in others),
        ),
    )


def _offer(offered: Offered) -> Offer:
    return Offer(choice=Choice(offered.choice.value), rules=tuple(str(rule) for rule in offered.rules), grants=offered.rules)
