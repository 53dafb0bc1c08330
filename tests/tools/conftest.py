import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from tests.store.samples import a_session
from tests.tools.lending import Lent, lend


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    opened = open_store(folder / "remit.db")
    for name in ("s1", "s2"):
        await opened.add_session(a_session(name))
    yield opened
    await opened.close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}


@pytest.fixture
def lent(tmp_path: Path, store: Store, environment: dict[str, str]) -> Lent:
    return lend(tmp_path.resolve(), store, environment)


@pytest.fixture
def sibling(tmp_path: Path, store: Store, environment: dict[str, str], lent: Lent) -> Lent:
    """Another session in the same workspace."""
    return lend(tmp_path.resolve(), store, environment, "s2")
