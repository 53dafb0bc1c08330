"""Whose is it? Handles of child sessions, checked against who asks. Foreign, unknown and malformed are one answer."""

from mcp_server.errors import NoSuchHandle
from mcp_server.records import RunRecord, SessionRecord
from mcp_server.store.ids import is_id
from mcp_server.store.protocol import Store


async def child_of(store: Store, caller: SessionRecord, task_id: str) -> tuple[SessionRecord, RunRecord]:
    """The child that `caller` may poll, cancel or resume, and its newest run.

    A root reaches the children of every root of the same caller; below the root only the very parent does.

    Raises:
        NoSuchHandle: It is not `caller`'s.
    """
    if not is_id("ses", task_id):
        raise NoSuchHandle("task")
    session = await store.session(task_id, caller.principal)
    if session is None or session.parent_id is None or not await _reaches(store, caller, session):
        raise NoSuchHandle("task")
    run = await store.latest_run(session.id)
    if run is None:
        raise NoSuchHandle("task")
    return session, run


async def _reaches(store: Store, caller: SessionRecord, child: SessionRecord) -> bool:
    if child.parent_id == caller.id:
        return True
    if caller.parent_id is not None or child.parent_id is None:
        return False
    parent = await store.session(child.parent_id, caller.principal)
    return parent is not None and parent.parent_id is None and same_caller(caller, parent)


def same_caller(one: SessionRecord, other: SessionRecord) -> bool:
    """Two roots of one top-level caller: principal, workspace and root agent."""
    mine = (one.principal, one.workspace, one.agent)
    return mine == (other.principal, other.workspace, other.agent)
