"""What a client sends in `tasks/update` for one request, and what it means. Nothing of it was checked before: the SDK does not know it."""

from mcp_types import CreateMessageResultWithTools, ElicitResult
from pydantic import ValidationError

from mcp_server.protocol.replies import Reply, Unusable, read_opened, read_reply
from mcp_server.protocol.sampling import said_by
from mcp_server.records import Prompt
from mcp_server.sessions.models.asks import NotSaid, Said


def reply_in(prompt: Prompt, response: object, *, seconds: float, reflex: float) -> Reply:
    """An answer to a prompt. `seconds`: since it was first shown."""
    try:
        result = ElicitResult.model_validate(response, by_name=False)
    except ValidationError:
        return Unusable(reason="the client's answer is not one that a form can have")
    return read_reply(prompt, result, seconds=seconds, reflex=reflex)


def opened_in(response: object) -> Reply:
    """An answer to another server's link."""
    try:
        return read_opened(ElicitResult.model_validate(response, by_name=False))
    except ValidationError:
        return Unusable(reason="the client's answer is not one that a link can have")


def said_in(response: object) -> Said | NotSaid:
    """A turn of the client's own model."""
    try:
        return said_by(CreateMessageResultWithTools.model_validate(response, by_name=False))
    except ValidationError:
        return NotSaid(reason="the client's answer is not one that a model's turn can have")
