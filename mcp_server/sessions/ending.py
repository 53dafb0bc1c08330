"""Ending what goes on, for whoever may say so: a run with all below it, or a root session with everything of its tree.

Works on the store alone. Servers that hold any of it see it there: runs by `watch`, a client's own calls by `ended_elsewhere`. It only
takes authority away, so that it needs no proof of a person.
"""

from collections.abc import Sequence
from dataclasses import replace

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import AuditEvent, PromptState, RunRecord, SessionRecord
from mcp_server.sessions import events
from mcp_server.sessions.prompting import tool_of
from mcp_server.store.protocol import ENDED_BY, Store

MOST = 100_000
"""Roots of one principal: more than any has."""


async def end_runs(store: Store, top: SessionId, by: str, *, at: float, ruled_by: str = "") -> tuple[RunRecord, ...]:
    """Ask every unfinished run from there down to end. Those that were asked before count as well.

    Args:
        store: Where they are.
        top: The session that they begin at.
        by: Who asks, in words for people and models.
        at: Seconds since the epoch.
        ruled_by: Who asks, for the audit, where that is not whose runs they are.
    """
    asked: list[RunRecord] = []
    told: list[AuditEvent] = []
    for run_id in await store.request_cancel_below(top, by):
        run = await store.run(run_id)
        if run is None:
            continue
        asked.append(run)
        if run.cancel_requested == by:
            path = tuple(one.agent for one in await store.chain(run.session_id))
            told.append(replace(events.ran(at, run, path, f"asked to end by {by}"), ruled_by=ruled_by))
    await store.audit(told)
    return tuple(asked)


async def end_session(store: Store, root: SessionRecord, by: str, *, at: float, ruled_by: str = "") -> tuple[RunRecord, ...]:
    """End a root: its calls, what they wait for, and every run of its tree, which are returned. As `end_runs`."""
    await store.set_state(root.id, ENDED_BY, by)
    asked = await end_runs(store, root.id, by, at=at, ruled_by=ruled_by)
    for promised in await store.promised_open(principal=root.principal):
        if promised.root_id == root.id:
            await store.cancel_promised(promised.id, root.principal, by, now=at)
    for prompt in await store.prompts(root_id=root.id, state=PromptState.OPEN):
        reason = f"its session was ended by {by}"
        told = events.prompted(at, prompt, tool_of(prompt), f"withdrawn: {reason}", by=ruled_by)
        await store.close_prompt(prompt.id, PromptState.WITHDRAWN, reason=reason, events=(told,))
    if root.ended_at is None:
        await store.update_session(replace(root, ended_at=at))
        await store.audit((replace(events.rooted(at, root, f"ended by {by}"), ruled_by=ruled_by),))
    return asked


async def end_all_of(store: Store, principals: Sequence[str], by: str, *, at: float, ruled_by: str = "") -> tuple[int, int]:
    """End every root of these principals that is open, or below which something goes on. How many those were, and how many runs."""
    roots = runs = 0
    for principal in principals:
        goes_on = {run.root_id for run in await store.unfinished_runs() if run.principal == principal}
        for root in await store.sessions(principal, roots=True, limit=MOST):
            if root.ended_at is None or root.id in goes_on:
                roots += 1
                runs += len(await end_session(store, root, by, at=at, ruled_by=ruled_by))
    return roots, runs
