"""The tools of one deployment: its own, which are always the same, and those of other servers, which are asked for when they matter."""

from collections.abc import Mapping, Sequence

from mcp_server.policy.chain import Authority
from mcp_server.policy.derived import permission_of
from mcp_server.policy.shown import wholly_denied
from mcp_server.policy.wildcards import listed
from mcp_server.records import SessionRecord
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller, Shelf
from mcp_server.sessions.readers import OneWatch, Whose, given_to, offered, reader_at, reader_for, shelves_for, watch_for, whose_calls
from mcp_server.sessions.standing import Standing
from mcp_server.sessions.toolset.foreign import Foreign, whose_of
from mcp_server.sessions.work import AnyTool
from mcp_server.tools.base import SEPARATOR, ToolSpec


class Toolbox:
    """Keeps nothing: what other servers offer is theirs to say each time."""

    def __init__(self, deployment: Deployment, own: Mapping[str, AnyTool]) -> None:
        self.deployment = deployment
        self.own = own

    def specs(self) -> tuple[ToolSpec, ...]:
        """Remit's own, in the order in which they are listed."""
        return tuple(tool.spec for tool in self.own.values())

    # ---- for a session --------------------------------------------------------------------------

    async def find(self, session: SessionRecord, name: str, named: Sequence[str] | None) -> AnyTool | None:
        """The tool that a session calls by this name. `named`: the tools that its definition names; None: it names none in particular."""
        if named is not None and not listed(name, named):
            return None
        own = self.own.get(name)
        if own is not None:
            return own
        read = reader_at(self.deployment, name) if session.parent_id is None else None
        return read or await self._foreign(whose_of(session), name)

    def unknown(self, session: SessionRecord, name: str, named: Sequence[str] | None) -> str:
        """What a model is told that calls what it has not."""
        names = [*self.own, *(f"{server}{SEPARATOR}*" for server in self.deployment.upstreams.names)]
        known = ", ".join(each for each in names if named is None or listed(each, named))
        wrong = self.wrong_with(session.principal, name)
        return "\n".join((f"{session.agent} has no tool `{name}`; it has: {known or 'none'}", *wrong))

    def wrong_with(self, principal: str, name: str) -> tuple[str, ...]:
        """What is known to be wrong with the server whose tool this would be."""
        server, separator, _ = name.partition(SEPARATOR)
        return tuple(line for line in self.deployment.upstreams.notices(principal) if separator and line.startswith(f"{server}: "))

    async def shown(self, standing: Standing, current: Authority) -> Sequence[ToolSpec]:
        """Those that a session's model is shown. Being shown one permits nothing."""
        lists = (standing.definition.tools if standing.definition else (), standing.session.narrowed)
        every = (*self.specs(), *await self._foreign_specs(whose_of(standing.session)))
        specs = [spec for spec in every if all(names is None or listed(spec.name, names) for names in lists)]
        return [spec for spec in specs if spec.by_ownership or not wholly_denied(current, permission_of(spec.name))]

    # ---- for a client ---------------------------------------------------------------------------

    async def foreign_for(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Front`."""
        return tuple(spec for spec in await self._foreign_specs(whose_calls(caller)) if given_to(caller, spec.name))

    async def foreign(self, caller: Caller, name: str) -> ToolSpec | None:
        """See `Front`."""
        if not given_to(caller, name):
            return None
        found = await self._foreign(whose_calls(caller), name)
        return None if found is None else found.spec

    async def shelves_for(self, caller: Caller, server: str | None = None) -> tuple[Shelf, ...]:
        """See `Front`."""
        return await shelves_for(self.deployment, caller, server)

    async def watch(self, caller: Caller, root: SessionRecord, server: str, own: str) -> OneWatch:
        """See `Front`."""
        return await watch_for(self.deployment, caller, root, server, own)

    def reader(self, caller: Caller, server: str, kind: str) -> ToolSpec | None:
        """See `Front`."""
        return reader_for(self.deployment, caller, server, kind)

    # ---- other servers --------------------------------------------------------------------------

    async def _foreign(self, whose: Whose, name: str) -> Foreign | None:
        if SEPARATOR not in name or not self._offered(name):
            return None
        found = await self.deployment.upstreams.tool(whose, name)
        return None if found is None else Foreign(found, self.deployment.upstreams)

    async def _foreign_specs(self, whose: Whose) -> Sequence[ToolSpec]:
        if not self.deployment.upstreams.names:
            return ()
        return [one.spec for one in await self.deployment.upstreams.tools(whose) if self._offered(one.name)]

    def _offered(self, name: str) -> bool:
        return offered(self.deployment, name)
