"""Which requests carry turns to their client's own model: those that hold the run, else whoever calls `task` or `task_status`."""

from collections.abc import Callable, Mapping, Sequence

from mcp_server.policy.values import CallId
from mcp_server.policy.verdicts import SessionId
from mcp_server.sessions.clientcalls import ClientCall
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Sampling
from mcp_server.sessions.models.asks import ModelAsk
from mcp_server.sessions.roots import Roots

HolderOf = Callable[[Sequence[SessionId]], ClientCall | None]


class Carrying:
    """Finds the turns for a call, and tells those that wait in vain."""

    def __init__(
        self, deployment: Deployment, roots: Roots, calls: Mapping[CallId, ClientCall], holder: HolderOf, carriers: Sequence[str]
    ) -> None:
        self._deployment = deployment
        self._calls = calls
        self._roots = roots
        self._holder = holder
        self._carriers = carriers

    async def turns(self, call: ClientCall) -> tuple[ModelAsk, ...]:
        """The turns that this call's request may put now. One that only it could, and it cannot, is ended: nobody else would come."""
        asks, found = self._deployment.asks, list[ModelAsk]()
        if call.sampling is None or not asks.asks:
            return ()
        for ask in await self._near(call):
            lack = lacking(ask, call.sampling)
            if not lack:
                found += [ask] if self._free(ask, call) else []
            elif self._holder(ask.chain) is call:
                asks.fail(ask.id, lack)
            else:
                asks.cannot(ask.id, lack)
        return tuple(found)

    async def put(self, call_id: CallId, ask_id: str) -> bool:
        """See `Front.put_turn`."""
        asks, call = self._deployment.asks, self._calls.get(call_id)
        if call is None or not await asks.stands(ask_id, self._deployment.store):
            return False
        if call.promised and asks.out_with(ask_id) == call_id:
            return True  # shown at each look by its handle, until it is answered
        ask = next((ask for ask in asks.asks if ask.id == ask_id), None)
        return ask is not None and self._free(ask, call) and asks.put(ask_id, call_id)

    def _free(self, ask: ModelAsk, call: ClientCall) -> bool:
        """No other request has it, or none is there any more and this one names the very task: then the client has given up the other."""
        out = self._deployment.asks.out_with(ask.id)
        if out is None or out == call.call.id:
            return True
        other = self._calls.get(out)
        return (other is None or not other.attached) and call.call.arguments.get("task_id") in ask.chain

    async def _near(self, call: ClientCall) -> Sequence[ModelAsk]:
        """Those that are the call's own, and for a carrier those of its caller that no request holds."""
        held = [(ask, self._holder(ask.chain)) for ask in self._deployment.asks.asks]
        orphans = call.call.tool in self._carriers and any(holder is None for _, holder in held)
        roots = frozenset(root.id for root in await self._roots.of_caller(call.root)) if orphans else frozenset[SessionId]()
        return [ask for ask, holder in held if holder is call or (holder is None and ask.chain[0] in roots)]


def lacking(ask: ModelAsk, sampling: Sampling) -> str:
    """Why a client that lends so much of its model cannot answer; empty: it can."""
    agent = ask.request.agent
    instead = f"a provider's model, `agents: {{{agent}: {{model: provider:name}}}}` in the user settings"
    if sampling is Sampling.NONE:
        return (
            f"agent `{agent}` is to use the client's own model, and this client lends none: take one that does (`sampling`), or {instead}"
        )
    if sampling is Sampling.TEXT and ask.needs_tools:
        return (
            f"agent `{agent}` has tools, and this client's own model cannot use any (`sampling.tools`): "
            f"take another client, or {instead}; an agent with `tools: []` works"
        )
    return ""
