from pathlib import Path

import anyio
import pytest

from mcp_server.records import Prompt, Subject
from tests.cli.kept import APPROVAL, Kept


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """The person's store, with a tree of two sessions in it."""
    kept = Kept(folder=tmp_path)
    kept.tree()
    return kept


async def put(kept: Kept, subject: Subject = APPROVAL) -> Prompt:
    """A new open prompt, while a console runs."""
    return await anyio.to_thread.run_sync(kept.prompt, subject)
