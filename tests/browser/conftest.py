from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from playwright.async_api import Browser

from tests.browser.windows import Windows, chromium_program, started
from tests.cli.kept import Kept


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    """One loop for all tests here, since the browser outlives each of them."""
    return "asyncio"


@pytest.fixture(scope="package")
async def chromium(anyio_backend: str) -> AsyncGenerator[Browser]:
    """One browser a test worker."""
    program = chromium_program()
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium-headless-shell")
    async with started(program) as browser:
        yield browser


@pytest.fixture
async def windows(chromium: Browser) -> AsyncGenerator[Windows]:
    """Windows for one test, which fails if a page did in one of them what none of ours may do."""
    opened = Windows(chromium=chromium)
    yield opened
    await opened.close()
    assert opened.faults == []


@pytest.fixture
async def kept(tmp_path: Path, anyio_backend: str) -> Kept:
    """A person's store, with a tree of two sessions in it. Its makers of records need a thread of their own."""
    kept = Kept(folder=tmp_path)
    await anyio.to_thread.run_sync(kept.tree)
    return kept
