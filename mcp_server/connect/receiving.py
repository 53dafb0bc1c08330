"""What a server's answer over HTTP holds: one message, or a stream of them."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, cast

import httpx2

from mcp_server.connect.messages import CLOSED, NO_METHOD, Request
from mcp_server.connect.reaching import Failed

LONGEST = 64 * 1024 * 1024
"""Bytes of one message. A large file or picture fits; an endless one does not."""

_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One message as it came, or, without text, a sign of life."""

    text: str
    id: str
    """By which a stream that breaks is taken up again; empty: by none."""
    retry: float | None
    """Seconds that the server wants between."""


def kind_of(answer: httpx2.Response) -> str:
    """Its media type."""
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_stream(answer: httpx2.Response) -> bool:
    """Does it bring messages one by one?"""
    return answer.status_code == 200 and kind_of(answer) == _STREAM


async def received(answer: httpx2.Response) -> AsyncGenerator[Event]:
    """Each message, as it comes.

    Raises:
        Failed: It is neither.
        httpx2.HTTPError: The connection broke, or a message is too long.
    """
    if kind_of(answer) == _STREAM:
        async for event in httpx2.EventSource(answer, max_event_size=LONGEST):
            if event.event == "message":
                yield Event(text=event.data, id=event.id, retry=None if event.retry is None else event.retry / 1000)
    elif kind_of(answer) == "application/json":
        yield Event(text=await body_of(answer), id="", retry=None)
    else:
        raise Failed(f"the server answered with {kind_of(answer)[:60] or 'nothing'}, which is not MCP; is the address right?")


async def body_of(answer: httpx2.Response) -> str:
    """The whole body.

    Raises:
        Failed: It is too long.
    """
    content = bytearray()
    async for part in answer.aiter_bytes():
        content += part
        if len(content) > LONGEST:
            raise Failed(f"the server answered with more than {LONGEST} bytes")
    return content.decode("utf-8", "replace")


async def error_in(answer: httpx2.Response) -> dict[str, Any] | None:
    """The JSON-RPC error that a refusal carries; None: it carries none."""
    if kind_of(answer) != "application/json":
        return None
    try:
        found = json.loads(await body_of(answer))
    except (ValueError, RecursionError):
        return None
    message = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    # Proxies, too, answer with an object `error` that has a `code`.
    error = message.get("error") if message.get("jsonrpc") == "2.0" else None
    return cast("dict[str, Any]", error) if isinstance(error, dict) and isinstance(error.get("code"), int) else None  # pyright: ignore[reportUnknownMemberType] - JSON


def refusal(request: Request, answer: httpx2.Response, shown: str) -> tuple[int, str]:
    """Code and words for a refusal that carries no error."""
    status = answer.status_code
    match status:
        case 401:
            return CLOSED, f"{shown} does not know you; run `remit connect {shown} --sign-in` in a terminal"
        case 403:
            return CLOSED, f"{shown} does not let you do this; ask its operator"
        case 404:
            return NO_METHOD, f"{shown} answers that there is nothing; is the address right?"
        case 429 | 503:
            after = answer.headers.get("retry-after", "")
            when = f"in {after} s" if after.isdecimal() else "later"
            return CLOSED, f"{shown} takes no more just now ({status}); try again {when}"
        case _ if request.method == "server/discover" and 400 <= status < 500:
            return NO_METHOD, f"{shown} knows no server/discover"
        case _:
            return CLOSED, f"{shown} answered with status {status}"
