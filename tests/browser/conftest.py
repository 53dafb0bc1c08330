from collections.abc import AsyncGenerator

import pytest
from playwright.async_api import Browser

from tests.browser.windows import Windows, chromium_program, started


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    """One loop for all tests here, since the browser outlives each of them."""
    return "asyncio"


@pytest.fixture(scope="package")
async def chromium(anyio_backend: str) -> AsyncGenerator[Browser]:
    """One browser a test worker."""
    program = chromium_program()
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    async with started(program) as browser:
        yield browser


@pytest.fixture
async def windows(chromium: Browser) -> AsyncGenerator[Windows]:
    """Windows for one test, which fails if a page did in one of them what none of ours may do."""
    opened = Windows(chromium=chromium)
    yield opened
    await opened.close()
    assert opened.faults == []
