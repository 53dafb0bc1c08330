"""Which open prompts and unfinished runs belong to which part of a tree."""

from collections.abc import Mapping

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import FINAL, Prompt, PromptId, RunRecord
from mcp_server.store.protocol import Store


def prompts_below(open_ones: Mapping[PromptId, Prompt], session_id: SessionId) -> tuple[Prompt, ...]:
    """Open prompts of a session and of every session below it, oldest first."""
    return tuple(prompt for prompt in open_ones.values() if session_id in prompt.chain)


async def unfinished_below(store: Store, session_id: SessionId) -> tuple[RunRecord, ...]:
    """The unfinished runs of a session and of every session below it."""
    run = await store.latest_run(session_id)
    found = [run] if run is not None and run.state not in FINAL else []
    for child in await store.children(session_id):
        found.extend(await unfinished_below(store, child.id))
    return tuple(found)
