"""Windows of a real browser: Debian's Chromium without a screen, driven by Playwright."""

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Frame, Page, async_playwright, expect

from tests.gateway.browsing import Site

BOUND_MS = 60_000
"""Milliseconds that any one wait may take: a bound for what hangs, not a measure."""

PHONE = (360, 740)
DESK = (1000, 800)

ARGUMENTS = (
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
)

Scheme = Literal["light", "dark"]


AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="axe is not installed; `make axe` brings it")


async def barriers(page: Page | Frame) -> list[tuple[str, list[str]]]:
    """The serious barriers that axe finds in what a page or a frame shows: what is wrong, and where."""
    await page.evaluate(AXE.read_text("utf-8"))
    found: dict[str, Any] = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 10, "it looked"
    faults = [fault for fault in found["violations"] if fault["impact"] in ("serious", "critical")]
    return [(fault["help"], [node["html"][:200] for node in fault["nodes"]]) for fault in faults]


def chromium_program() -> str | None:
    """Where Chromium is, if it is anywhere. The one that can only be without a screen takes three fifths of the work of the whole one."""
    return next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


@asynccontextmanager
async def started(program: str) -> AsyncGenerator[Browser]:
    """One browser process. Chromium's own sandbox does not work for root."""
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    expect.set_options(timeout=BOUND_MS)
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program, args=[*ARGUMENTS, *root])
        try:
            yield browser
        finally:
            await browser.close()


@dataclass(slots=True, kw_only=True)
class Windows:
    """The windows of one test, each with cookies of its own, as of another person's browser."""

    chromium: Browser
    faults: list[str] = field(default_factory=list[str])
    """What pages did that no page of ours may do: errors in scripts, and what their policy forbids."""
    _contexts: list[BrowserContext] = field(default_factory=list[BrowserContext])

    async def blank(self, *, size: tuple[int, int] = DESK, scheme: Scheme = "light", policy: bool = True, scripts: bool = True) -> Page:
        """A new window. Without `policy`, a test may put scripts of its own into pages."""
        context = await self.chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            bypass_csp=not policy,
            java_script_enabled=scripts,
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(BOUND_MS)
        self._contexts.append(context)
        page = await context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"a script failed: {error}"))
        page.on("crash", lambda _page: self.faults.append("a page crashed"))
        page.on("dialog", lambda dialog: self.faults.append(f"a dialog opened: {dialog.message}"))
        page.on("console", lambda message: self._heard(message))
        return page

    async def enter(
        self, served: Site, *, size: tuple[int, int] = DESK, scheme: Scheme = "light", policy: bool = True, scripts: bool = True
    ) -> Page:
        """A new window that came in by a link of the console's, with its inbox live."""
        page = await self.blank(size=size, scheme=scheme, policy=policy, scripts=scripts)
        await page.goto(served.console.link(served.port))
        if scripts:
            await page.get_by_text("Live: new prompts appear by themselves.").wait_for()
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        # A status that is no success is logged as an error as well; tests ask for such pages.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    async def close(self) -> None:
        """Close them all."""
        for context in self._contexts:
            await context.close()
