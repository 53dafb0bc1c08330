"""Small documents from issuers: bounded in size and time, never redirected, and over https but for this machine's own."""

import base64
import json
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote_plus, urlsplit

import anyio
import httpx2

from mcp_server.gateway.verified import Refused
from mcp_server.settings.loopback import is_loopback

SECONDS = 5.0
"""For one document, everything included. A caller's request waits for it."""

BYTES = 256 * 1024
"""Of one document. A set of keys has a few thousand."""


def may_fetch(url: str, *, told_by: str) -> bool:
    """May what is at `url` be believed, where `told_by` names it? Plain http only within this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return True
    return parts.scheme == "http" and is_loopback(parts.hostname or "") and is_loopback(urlsplit(told_by).hostname or "")


class Fetcher:
    """Gets and posts. Close it at the end."""

    def __init__(self) -> None:
        self._client = httpx2.AsyncClient(follow_redirects=False, timeout=SECONDS, headers={"accept": "application/json"})

    async def close(self) -> None:
        """Give its connections up."""
        await self._client.aclose()

    async def get(self, url: str) -> Mapping[str, Any]:
        """The JSON object there.

        Raises:
            Refused: There is none to be had.
        """
        return await self._asked(self._client.build_request("GET", url))

    async def post(self, url: str, form: Mapping[str, str], *, user: str = "", password: str = "") -> Mapping[str, Any]:
        """The JSON object that a form is answered with. `user`: who asks, where they say so in a header. Raises as `get`."""
        # RFC 6749, 2.3.1: each half is written as in a form before the two are joined.
        pair = f"{quote_plus(user)}:{quote_plus(password)}".encode()
        headers = {"authorization": f"Basic {base64.b64encode(pair).decode()}"} if user else {}
        return await self._asked(self._client.build_request("POST", url, data=dict(form), headers=headers))

    async def _asked(self, request: httpx2.Request) -> Mapping[str, Any]:
        where = f"{request.url.scheme}://{request.url.host}{request.url.path}"
        try:
            # Shielded: others wait for the same answer, and must not lose it with a request that hangs up.
            with anyio.fail_after(SECONDS, shield=True):
                content = await self._content(request, where)
            found = json.loads(content)
        except (httpx2.HTTPError, OSError, TimeoutError, ValueError, RecursionError) as error:
            raise Refused(f"{where} gave no answer that can be used: {type(error).__name__}") from error
        if not isinstance(found, dict):
            raise Refused(f"{where} answered with something else than an object")
        return cast("dict[str, Any]", found)

    async def _content(self, request: httpx2.Request, where: str) -> bytes:
        answer = await self._client.send(request, stream=True)
        try:
            if answer.status_code != 200:
                raise Refused(f"{where} answered {answer.status_code}")
            content = bytearray()
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > BYTES:
                    raise Refused(f"{where} answered with more than {BYTES} bytes")
            return bytes(content)
        finally:
            await answer.aclose()
