from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_server.store.sqlite import SqliteStore, open_store
from tests.store.conformance import BACK_ENDS, Handles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A private folder, as a store needs."""
    private = tmp_path / "state"
    private.mkdir(mode=0o700)
    return private


@pytest.fixture(params=list(BACK_ENDS))
async def handles(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Handles]:
    opened = BACK_ENDS[request.param](folder)
    yield opened
    await opened.close()


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[SqliteStore]:
    opened = open_store(folder / "remit.db")
    yield opened
    await opened.close()
