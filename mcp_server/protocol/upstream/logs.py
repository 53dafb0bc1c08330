"""Log messages of a server while a call of it is under way: passed to whoever waits for that call, and kept nowhere.

They come over the connection, without a word on which call they are about: whose they are, `underway` says.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import anyio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    LOG_LEVEL_META_KEY,
    EmptyResult,
    LoggingMessageNotificationParams,
    RequestParamsMeta,
    SetLevelRequest,
    SetLevelRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_server.protocol.upstream.cleaning import cleaned, in_line, within
from mcp_server.protocol.upstream.underway import Calls
from mcp_server.tools.hearing import Level, Logged

MOST, SECONDS = 20, 1.0
"""Messages that are passed on in so long. The rest is counted, and told of with the next."""

LEVEL_SECONDS = 5.0
"""That a server has to take another level. A call does not wait longer for that."""

LARGEST = 8 * 1024
"""Characters of one, as JSON."""

LONGEST_LOGGER = 100


class Logs:
    """Of one connection."""

    def __init__(self, server: str, calls: Calls, steady: Callable[[], float]) -> None:
        self._server = server
        self._calls = calls
        self._steady = steady
        self._level: Level = "info"
        """What it was asked for last, up to 2025-11-25; at first what most servers say by themselves."""
        self._since = 0.0
        self._passed = 0
        self._left = 0

    async def asked(self, client: Client | None, level: Level | None) -> RequestParamsMeta | None:
        """Tell the server what is wanted, as its era has it: with the request, or up to 2025-11-25 for the connection, where it is another
        than before.
        """
        if client is None or level is None:
            return None
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return RequestParamsMeta(**{LOG_LEVEL_META_KEY: level})
        if client.server_capabilities.logging is not None and level != self._level:
            request = SetLevelRequest(params=SetLevelRequestParams(level=level))
            with suppress(MCPError, ValidationError), anyio.move_on_after(LEVEL_SECONDS):
                await client.session.send_request(request, EmptyResult)
                self._level = level
        return None

    async def heard(self, params: LoggingMessageNotificationParams) -> None:
        """The server said something."""
        hearer = next((call.hearer for call in self._calls.of_one if call.hearer.level is not None), None)
        if hearer is None:
            return
        now = self._steady()
        if now - self._since >= SECONDS:
            self._since, self._passed = now, 0
        self._passed += 1
        if self._passed > MOST:
            self._left += 1
            return
        if self._left:
            hearer.hear(Logged(level="notice", logger=self._server, said=f"{self._left} messages of this server were left out"))
            self._left = 0
        logger = in_line(f"{self._server}: {params.logger}" if params.logger else self._server, LONGEST_LOGGER)
        hearer.hear(Logged(level=params.level, logger=logger, said=_fit(params.data)))


def _fit(data: Any) -> Any:
    try:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        return within(text, LARGEST) if isinstance(data, str) or len(text) > LARGEST else _clean(data)
    except (ValueError, TypeError, RecursionError):
        return "a message that cannot be passed on"


def _clean(node: Any) -> Any:
    if isinstance(node, str):
        return cleaned(node)
    if isinstance(node, list):
        return [_clean(each) for each in cast("list[Any]", node)]
    if isinstance(node, dict):
        return {cleaned(key): _clean(value) for key, value in cast("dict[str, Any]", node).items()}
    return node
