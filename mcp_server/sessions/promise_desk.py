"""The `PromisedFront`: what those may do who have a handle."""

from collections.abc import Sequence

from mcp_server.errors import NoSuchHandle
from mcp_server.policy.values import CallId
from mcp_server.records import PromptId, SessionRecord
from mcp_server.sessions.callbook import CallBook
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller
from mcp_server.sessions.promise_views import PromiseViews
from mcp_server.sessions.promised import Promised, Sampling
from mcp_server.sessions.promises import Promises
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.store.ids import is_id
from mcp_server.store.promised import PromisedCall


class PromiseDesk:
    """See `PromisedFront`."""

    def __init__(self, deployment: Deployment, supervisor: Supervisor, book: CallBook) -> None:
        self._deployment = deployment
        self._supervisor = supervisor
        self._book = book
        self._promises = Promises(deployment, supervisor, book)
        self._views = PromiseViews(deployment, supervisor, book.views)

    async def watch(self) -> None:
        """Until cancelled: see to calls that nobody carries on."""
        await self._promises.watch()

    async def promise(self, root: SessionRecord, call_id: CallId) -> Promised | None:
        call = self._book.find(root, call_id)
        if not await self._promises.make(call):
            return None
        record = await self._deployment.store.promised(call_id, root.principal)
        if record is None:
            return None
        call.handed, call.followed_at = True, self._deployment.clock()
        return await self._views.seen(record)

    async def promised(self, caller: Caller, call_id: str, sampling: Sampling | None = None) -> Promised:
        record = await self._record(caller, call_id)
        call = self._book.views.calls.get(record.id)
        if call is not None:
            call.followed_at = self._deployment.clock()
            call.sampling = call.sampling if sampling is None else sampling
        return await self._views.seen(record)

    async def put_off(self, caller: Caller, call_id: CallId, prompts: Sequence[PromptId]) -> None:
        await self._deployment.store.put_off_promised(call_id, caller.principal.key, prompts, now=self._deployment.clock())

    async def cancel_promised(self, caller: Caller, call_id: CallId) -> None:
        record = await self._record(caller, call_id)
        if record.is_over:
            return
        await self._deployment.store.cancel_promised(record.id, caller.principal.key, "its client", now=self._deployment.clock())
        self._promises.cancel_here(record.id)

    async def _record(self, caller: Caller, call_id: str) -> PromisedCall:
        record = await self._deployment.store.promised(call_id, caller.principal.key) if is_id("call", call_id) else None
        root = None if record is None else await self._deployment.store.session(record.root_id, caller.principal.key)
        if record is None or root is None or not caller.owns(root):
            raise NoSuchHandle("task")
        return record
