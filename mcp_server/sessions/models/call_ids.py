"""Ids for calls whose own are of no use."""

from mcp_server.policy.values import CallId
from mcp_server.records import ModelTurn
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.store.ids import derive


def call_id(request: TurnRequest, place: int) -> CallId:
    """The id of the turn's call at `place`: unlike any other of any session, and the same when the turn is asked for again."""
    turns = sum(1 for stored in request.transcript if isinstance(stored.entry, ModelTurn))
    return CallId(derive("call", f"{request.session_id} {turns} {place}".encode()))
