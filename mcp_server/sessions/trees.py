"""Which open prompts belong to which part of a tree."""

from collections.abc import Iterable

from mcp_server.policy.verdicts import SessionId
from mcp_server.records import Prompt, PromptState, SessionRecord
from mcp_server.store.protocol import Store


async def prompts_below(store: Store, session: SessionRecord) -> tuple[Prompt, ...]:
    """Open prompts of a session and of every session below it, oldest first."""
    prompts = await store.prompts(root_id=session.root_id, state=PromptState.OPEN)
    return tuple([prompt for prompt in prompts if session.id in await ancestry(store, prompt.session_id)])


async def ancestry(store: Store, session_id: SessionId) -> frozenset[SessionId]:
    """The session and all its ancestors."""
    return frozenset(record.id for record in await store.chain(session_id))


async def prompts_of_roots(store: Store, roots: Iterable[SessionRecord]) -> tuple[Prompt, ...]:
    """Open prompts of whole trees, oldest first."""
    found = [prompt for root in roots for prompt in await store.prompts(root_id=root.id, state=PromptState.OPEN)]
    return tuple(sorted(found, key=lambda prompt: prompt.created_at))
