"""A minimal host of MCP Apps: a page that keeps the protocol of frames, before a real client of a real server."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp_types import CallToolResult, TextResourceContents
from playwright.async_api import Frame, FrameLocator, Page

from mcp_server.protocol.apps import ADDRESS
from tests.app.panel_user import RendersApps
from tests.behaviour.world import Connected, World, connect
from tests.bounds import LONG
from tests.browser.windows import Scheme, Windows
from tests.protocol.connect import Cell

PAGE = (Path(__file__).parent / "host.html").read_text()


@dataclass(slots=True, kw_only=True)
class Host:
    """One conversation with one panel in it. `read` is all that its model was shown."""

    page: Page
    connected: Connected
    group: TaskGroup
    results: list[CallToolResult] = field(default_factory=list[CallToolResult])
    _done: anyio.Event = field(default_factory=anyio.Event)
    read: list[str] = field(default_factory=list[str])
    relayed: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    """The calls that the app made."""

    @property
    def app(self) -> FrameLocator:
        """What stands in the panel."""
        return self.page.frame_locator("#app")

    @property
    def frame(self) -> Frame:
        """The panel's own document, for a test's scripts."""
        (frame,) = self.page.main_frame.child_frames
        return frame

    async def mount(self, theme: Scheme = "light") -> None:
        """Load the document, as a host does when a tool that has one is called."""
        (document,) = (await self.connected.client.read_resource(ADDRESS)).contents
        assert isinstance(document, TextResourceContents)

        async def relay(asked: str) -> str:  # Playwright marks what it is given, which a method of ours does not bear
            return await self._relay(asked)

        await self.page.expose_function("relay", relay)  # pyright: ignore[reportUnknownMemberType] - its types leave the callback open
        await self.page.set_content(PAGE)
        await self.page.evaluate("([html, given]) => mount(html, given)", [document.text, {"theme": theme}])

    async def _relay(self, asked: str) -> str:
        params = json.loads(asked)
        self.relayed.append(params)
        result = await self.connected.call(params["name"], **params["arguments"])
        self._shown_to_model(result)
        return result.model_dump_json(by_alias=True, exclude_none=True)

    def begin(self, tool: str, **arguments: Any) -> None:
        """The model makes a call, and polls what it started until that has ended. See `ended`."""
        self.group.start_soon(partial(self._until_ended, tool, **arguments))

    async def _until_ended(self, tool: str, **arguments: Any) -> None:
        result = await self.call(tool, **arguments)
        while (report := result.structured_content) and report.get("state") in ("running", "waiting"):
            result = await self.call("task_status", task_id=report["task_id"], wait_seconds=10)
        self.results.append(result)
        self._done.set()

    async def ended(self) -> CallToolResult:
        """What the call that was begun came to."""
        await self._done.wait()
        return self.results[-1]

    async def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """A call of the model's; what came of it is told to the panel."""
        result = await self.connected.call(tool, **arguments)
        self._shown_to_model(result)
        told = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self.page.evaluate("(result) => tell('ui/notifications/tool-result', result)", told)
        return result

    def _shown_to_model(self, result: CallToolResult) -> None:
        self.read.append(json.dumps(result.model_dump(mode="json", include={"content", "structured_content"})))

    async def said(self, method: str) -> list[Mapping[str, Any]]:
        """What the app has told its host by this method."""
        return await self.page.evaluate("(method) => said.filter((one) => one.method === method).map((one) => one.params)", method)


@asynccontextmanager
async def hosting(
    world: World,
    cell: Cell,
    windows: Windows,
    *,
    theme: Scheme = "light",
    policy: bool = True,
    clock: Callable[[], float] = time.time,
) -> AsyncGenerator[Host]:
    """A host before a server. It shows no forms. Without `policy`, a test may put scripts of its own into the panel."""
    with anyio.fail_after(4 * LONG):
        async with connect(world, cell, extensions=[RendersApps()], clock=clock) as connected:
            page = await windows.blank(policy=policy)
            async with anyio.create_task_group() as group:
                host = Host(page=page, connected=connected, group=group)
                await host.mount(theme)
                yield host
                group.cancel_scope.cancel()
            await page.close()
