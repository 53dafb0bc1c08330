"""One connection's resources and prompts: listed when somebody asks for them, and anew when the server says that they have changed."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    PaginatedRequestParams,
    PaginatedResult,
    Prompt,
    Resource,
    ResourceTemplate,
)
from pydantic import BaseModel, ValidationError

from mcp_server.errors import ToolFailure
from mcp_server.protocol.upstream.failing import words_of
from mcp_server.protocol.upstream.shelving import MOST, bounded, prompts_of, resources_of, templates_of
from mcp_server.tools.shelves import Shelf

MOST_PAGES = 50

PAUSE_SECONDS = 60.0
"""After they could not be listed, before that is tried again: everybody's lists wait for it."""

T = TypeVar("T", bound=BaseModel)


class Listed(BaseModel):
    """As the protocol has them: what is kept for the next start."""

    resources: list[Resource] = []
    templates: list[ResourceTemplate] = []
    prompts: list[Prompt] = []
    readable: bool = False
    completes: bool = False
    failures: list[str] = []
    """What could not be listed, a line each."""

    def shelf(self, server: str) -> Shelf:
        """As it is offered here."""
        resources, no_resources = resources_of(server, self.resources)
        templates, no_templates = templates_of(server, self.templates)
        prompts, no_prompts = prompts_of(server, self.prompts)
        return Shelf(
            server=server,
            resources=resources,
            templates=templates,
            prompts=prompts,
            readable=self.readable,
            completes=self.completes,
            left_out=(*self.failures, *no_resources, *no_templates, *no_prompts),
        )


class Shelving:
    """What one connection knows of them."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listing = anyio.Lock()
        self._stale = True
        self._again_at = 0.0
        self._why = ""
        """Why they could not be listed last."""
        self.listed: Listed | None = None

    def missed(self) -> None:
        """They may be others by now."""
        self._stale = True

    async def current(self, client: Client, seconds: float) -> Listed:
        """As they are now.

        Raises:
            ToolFailure: They cannot be had in that time.
        """
        async with self._listing:
            if self.listed is not None and not self._stale:
                return self.listed
            if anyio.current_time() < self._again_at:
                raise ToolFailure(self._why)
            self._stale = False
            try:
                with anyio.fail_after(seconds):
                    self.listed = await self._list(client)
            except Exception as error:  # whatever a server answers must not end whoever asked
                self._stale, self._again_at = True, anyio.current_time() + PAUSE_SECONDS
                self._why = f"`{self._server}` does not list its resources and prompts: {words_of(error)}"
                raise ToolFailure(self._why) from error
            return self.listed

    async def _list(self, client: Client) -> Listed:
        can, session = client.server_capabilities, client.session
        listed = Listed(readable=can.resources is not None, completes=can.completions is not None)
        if can.resources is not None:
            listed.resources = await self._pages(listed, "resources", session.list_resources, lambda page: page.resources)
            listed.templates = await self._pages(listed, "templates", session.list_resource_templates, lambda page: page.resource_templates)
        if can.prompts is not None:
            listed.prompts = await self._pages(listed, "prompts", session.list_prompts, lambda page: page.prompts)
        return listed

    async def _pages(self, listed: Listed, what: str, ask: Callable[..., Awaitable[Any]], found: Callable[[Any], list[T]]) -> list[T]:
        every, cursor = list[T](), None
        try:
            for _ in range(MOST_PAGES):
                page: PaginatedResult = await ask(params=PaginatedRequestParams(cursor=cursor))
                every += found(page)
                cursor = page.next_cursor
                if cursor is None or len(every) > MOST:
                    break
        except (MCPError, ValidationError) as error:
            listed.failures.append(f"its {what} could not be listed: {words_of(error)}")
        kept, left = bounded(every, what)
        listed.failures += left
        return kept
