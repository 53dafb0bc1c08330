from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.kept import Kept


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """Folders of a person who has used nothing yet."""
    return {
        "HOME": str(tmp_path / "home"),
        "REMIT_STATE_DIR": str(tmp_path / "state"),
        "REMIT_CONFIG_DIR": str(tmp_path / "config"),
        "REMIT_CACHE_DIR": str(tmp_path / "cache"),
        "COLUMNS": "200",
    }


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """The person's store, to put things into and look at them."""
    return Kept(folder=tmp_path / "state")
