"""Ids for calls, where their own are of no use."""

import re
from collections.abc import Sequence

from mcp_server.policy.values import CallId
from mcp_server.records import ModelTurn
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.store.ids import derive


def call_id(request: TurnRequest, place: int) -> CallId:
    """The id of the turn's call at `place`: unlike any other of any session, and the same when the turn is asked for again."""
    turns = sum(1 for stored in request.transcript if isinstance(stored.entry, ModelTurn))
    return CallId(derive("call", f"{request.session_id} {turns} {place}".encode()))


def fresh_ids(wanted: Sequence[str], request: TurnRequest) -> tuple[CallId, ...]:
    """Ids for the calls of one turn: those that came with it where they are of use, else new ones. Unlike any other of the session."""
    turns = [stored.entry for stored in request.transcript if isinstance(stored.entry, ModelTurn)]
    taken = {call.id for turn in turns for call in turn.calls}
    ids: list[CallId] = []
    for place, text in enumerate(wanted):
        id = CallId(text)
        if id in taken or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id):
            id = call_id(request, place)
        taken.add(id)
        ids.append(id)
    return tuple(ids)
