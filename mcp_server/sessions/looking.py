"""One look at a call under the rules as they are now: where its session stands, its prompts, and the authority that follows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_server.policy.chain import Authority
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, CallId, Reach, Request, ToolCall
from mcp_server.policy.verdicts import Step, Verdict
from mcp_server.records import AuditEvent, CallEnded, Prompt, RulingRecord, SessionRecord
from mcp_server.sessions import events
from mcp_server.sessions.deployment import Deployment, Told
from mcp_server.sessions.digests import call_digest
from mcp_server.sessions.prompting import Prompting
from mcp_server.sessions.standing import Standing, authority_for, standing_of
from mcp_server.sessions.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Made afresh for each decision, never kept."""

    at: float
    standing: Standing
    digest: str
    told: Told
    """What the audit holds of arguments."""
    prompts: tuple[Prompt, ...]
    """Every prompt of that very call, oldest first."""
    authority: Authority

    def verdict(self, requests: Sequence[Request], *, by_ownership: bool) -> Verdict:
        """What the rules say of these requests. A tool that reaches only what is its caller's own raises none."""
        if not requests and by_ownership:
            return Verdict(action=Action.ALLOW, step=Step.ALLOW, parts=(), requests=())
        return decide(self.authority, requests, digest=self.digest)

    def decision(self, call: ToolCall, verdict: Verdict, trace: str = "") -> AuditEvent:
        """The audit's word on it. `trace`: the span that tells of it."""
        given = {record.id: record.given_by for record in self.standing.rulings}
        by = ", ".join(dict.fromkeys(given[ruling] for ruling in verdict.rulings if ruling in given))
        session, path, told = self.standing.session, self.standing.path, self.told(call.arguments)
        return events.decision(self.at, session, path, call, self.digest, told, verdict, by, trace)

    def again(self, event: AuditEvent, verdict: Verdict, lapsed: Sequence[RulingRecord]) -> AuditEvent:
        """A decision to ask, with the word on what answered it until that expired."""
        standing = replace(self.standing, rulings=lapsed)
        held = authority_for(standing, CallId(event.ref), self.digest, ())
        before = decide(held, verdict.requests, digest=self.digest).rulings
        return replace(event, outcome=f"asks again: {', '.join(before)} is over") if before else event

    def outcome(self, work: Work, ended: CallEnded, at: float, ran: str = "") -> AuditEvent:
        """The audit's word on what became of it."""
        return events.outcome(at, work.session, self.standing.path, work.call, self.digest, ended, ran)


async def expired(deployment: Deployment, seen: Look) -> tuple[RulingRecord, ...]:
    """What was allowed for a session of the chain until its time was up, or nobody could tell any more."""
    ids = [record.id for record in seen.standing.records]
    known = await deployment.store.rulings(principal=seen.standing.session.principal, session_ids=ids)
    standing = {record.id for record in seen.standing.rulings}
    return tuple(record for record in known if record.id not in standing and record.reach is not Reach.ONCE and record.revoked_at is None)


async def look(deployment: Deployment, prompting: Prompting, work: Work) -> Look:
    """Look at the call now."""
    digest = _digest(work.session, work.call)
    return await look_at(deployment, work.session, work.call, await prompting.for_digest(work.session.id, digest))


async def look_at(deployment: Deployment, session: SessionRecord, call: ToolCall, prompts: tuple[Prompt, ...]) -> Look:
    """Likewise, with what was asked about it."""
    standing, digest = await standing_of(deployment, session), _digest(session, call)
    authority = authority_for(standing, call.id, digest, prompts)
    return Look(
        at=deployment.clock(), standing=standing, digest=digest, told=deployment.arguments_told, prompts=prompts, authority=authority
    )


def _digest(session: SessionRecord, call: ToolCall) -> str:
    return call_digest(session.principal, session.id, call.tool, call.arguments)
