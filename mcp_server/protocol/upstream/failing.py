"""What went wrong with another server, in words for the model that called it, and for the people who look after it."""

from typing import cast

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from mcp_server.errors import OutcomeUnknown, ToolFailure
from mcp_server.protocol.upstream.cleaning import in_line
from mcp_server.tools.shelves import NotThere

RESOURCE_NOT_FOUND = -32002
"""What servers up to 2025-11-25 say of a resource that is not there."""

LONGEST = 500
"""Characters of what a server says of its own fault."""

NOT_TAKEN = frozenset({400, 401, 403, 404, 405, 406, 413, 415, 421, 429})
"""What HTTP answers to a request that it does not take."""

_STATUS = {
    401: "it asks for credentials, or refuses those it was given (401)",
    403: "it does not allow this (403)",
    404: "it does not know this connection any more (404)",
    429: "it takes no more requests for now (429)",
}

_UNREADABLE = ("Unexpected content type", "Failed to parse", "Unexpected 202")
"""How the client's own words begin for an answer that it cannot use."""

_CLOSED = ("Connection closed", "SSE stream ")
"""How the client's own words begin for a connection that was lost. Many servers give all of their errors the same code (-32000)."""

_SYNTHESIZED = ("Session terminated", "Server returned an error response", "Not Found")
"""The client's own words for an answer of HTTP without a word of the server's."""


def innermost(error: BaseException) -> BaseException:
    """A task group wraps what its tasks raised; the first that is no wrapper tells."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def words_of(error: BaseException) -> str:
    """Why it cannot be reached."""
    error = innermost(error)
    match error:
        case ToolFailure():
            return str(error)
        case MCPError(message=message):
            return "it closed the connection" if closed(error) else f"it answered with an error: {in_line(message, LONGEST)}"
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return "it cannot be connected to"
        case httpx2.LocalProtocolError():
            return "the request could not be sent as it was: look at its headers"
        case httpx2.HTTPError():
            return f"the connection failed: {in_line(str(error) or type(error).__name__, LONGEST)}"
        case ValidationError():
            return "what it answered is not of the protocol"
        case TimeoutError():
            return "it did not answer in time"
        case _:
            return f"{type(error).__name__}"


def failure_of(server: str, error: MCPError, statuses: tuple[int, ...], lost: str, seconds: float) -> ToolFailure:
    """What becomes of a call that came to no result.

    Args:
        server: Its name.
        error: What the client raised.
        statuses: What HTTP answered while this call, and no other, was under way; empty: that is not known.
        lost: Why the connection ended, if it did.
        seconds: How long the call could take.
    """
    # The connection's own requests have answers too: of several the one that leaves more open counts.
    status = max((code for code in statuses if code >= 400), default=0)
    synthesized = _synthesized(error)
    if synthesized and status in NOT_TAKEN:
        return ToolFailure(f"the call was not done: `{server}`: {_STATUS.get(status, f'it refused the request ({status})')}")
    if _late(error):
        return unknown(server, f"it did not answer within {seconds:g} s")
    if closed(error):
        return unknown(server, lost or "it closed the connection")
    if _unreadable(error):
        return unknown(server, "its answer cannot be read")
    if synthesized:
        return unknown(server, f"it answered with HTTP status {status}" if status else "it answered with an error of HTTP")
    return ToolFailure(f"`{server}` answered with an error: {in_line(error.message, LONGEST)}")


def by_transport(error: MCPError) -> bool:
    """Is it the connection's word and not the server's?"""
    return closed(error) or _late(error) or _synthesized(error) or _unreadable(error)


def closed(error: MCPError) -> bool:
    """Was the connection lost? It is the client that says so: servers have the code for errors of their own."""
    return error.code == CONNECTION_CLOSED and error.message.startswith(_CLOSED)


def _late(error: MCPError) -> bool:
    return error.code == REQUEST_TIMEOUT and error.message.startswith("Request ") and error.message.endswith(" timed out")


def _synthesized(error: MCPError) -> bool:
    return error.message in _SYNTHESIZED and error.code in (INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND)


def _unreadable(error: MCPError) -> bool:
    return error.code == PARSE_ERROR or error.message.startswith(_UNREADABLE)


def refused(server: str, error: MCPError, lost: str) -> ToolFailure:
    """What becomes of a reading that came to no result."""
    if error.code in (RESOURCE_NOT_FOUND, INVALID_PARAMS):
        return NotThere(f"`{server}` has none of that, or does not take what it was given: {in_line(error.message, LONGEST)}")
    if closed(error):
        return ToolFailure(f"`{server}` cannot be reached: {lost or 'it closed the connection'}")
    return ToolFailure(f"`{server}`: {words_of(error)}")


def unusable(error: Exception) -> str:
    """Why what it answered is no answer."""
    return f"its answer cannot be used: {in_line(str(error), 300)}"


def unknown(server: str, why: str) -> OutcomeUnknown:
    """It was sent, and no word came back."""
    return OutcomeUnknown(
        f"interrupted, outcome unknown: `{server}`: {why}, after the call was sent. It may have been done, in part or whole, and was not "
        "sent again. Look before you do it again."
    )
