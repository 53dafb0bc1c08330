"""What a caller is given of that which other servers offer: by the deployment's own list of tools, and by their team's."""

from dataclasses import replace

from mcp_server.errors import NoSuchHandle
from mcp_server.policy.silence import KINDS
from mcp_server.policy.wildcards import listed
from mcp_server.records import SessionRecord
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.front import Caller
from mcp_server.sessions.toolset.shelves import RESOURCES, is_reader, reader_named
from mcp_server.sessions.watching import OneWatch
from mcp_server.sessions.work import SessionTool
from mcp_server.tools.base import SEPARATOR, ToolSpec
from mcp_server.tools.foreign import Whose
from mcp_server.tools.shelves import Shelf


def whose_calls(caller: Caller) -> Whose:
    """For whom a caller asks, before there is a session."""
    return Whose(principal=caller.principal.key, workspace=caller.workspace)


def given_to(caller: Caller, name: str) -> bool:
    """Does their team have it?"""
    tools = None if caller.membership is None else caller.membership.tools
    return tools is None or listed(name, tools)


def offered(deployment: Deployment, name: str) -> bool:
    """Has this deployment it?"""
    return deployment.tools is None or listed(name, deployment.tools)


def reader_at(deployment: Deployment, name: str) -> SessionTool | None:
    """What reads from another server, by the name that a call of it has."""
    if not is_reader(name) or not offered(deployment, name):
        return None
    return reader_named(name, deployment.upstreams.names, deployment.upstreams.shelves)


def reader_for(deployment: Deployment, caller: Caller, server: str, kind: str) -> ToolSpec | None:
    """See `Front.reader`."""
    name = f"{server}{SEPARATOR}{kind}"
    found = reader_at(deployment, name) if given_to(caller, name) else None
    return None if found is None else found.spec


async def watch_for(deployment: Deployment, caller: Caller, root: SessionRecord, server: str, own: str) -> OneWatch:
    """See `Front.watch`."""
    spec = reader_for(deployment, caller, server, RESOURCES)
    if spec is None:
        raise NoSuchHandle("session")
    watch = OneWatch(deployment, root, spec.name, server, own)
    await watch.begin()
    return watch


async def shelves_for(deployment: Deployment, caller: Caller, server: str | None) -> tuple[Shelf, ...]:
    """See `Front.shelves_for`."""
    shelves, whose = deployment.upstreams.shelves, whose_calls(caller)
    if server is None:
        found = await shelves.every(whose) if deployment.upstreams.names else ()
    else:
        one = await shelves.shelf(whose, server)
        found = () if one is None else (one,)
    return tuple(_left(deployment, caller, shelf) for shelf in found)


def _left(deployment: Deployment, caller: Caller, shelf: Shelf) -> Shelf:
    """What the caller is given of it."""
    resources, prompts = (reader_for(deployment, caller, shelf.server, kind) is not None for kind in KINDS)
    if not resources:
        shelf = replace(shelf, resources=(), templates=(), readable=False)
    return shelf if prompts else replace(shelf, prompts=())
