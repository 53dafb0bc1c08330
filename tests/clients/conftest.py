import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.clients.configurations import EXAMPLES


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """Folders of a person who has used nothing yet."""
    return {
        "HOME": str(tmp_path / "home"),
        "REMIT_STATE_DIR": str(tmp_path / "state"),
        "REMIT_CONFIG_DIR": str(tmp_path / "config"),
        "REMIT_CACHE_DIR": str(tmp_path / "cache"),
    }


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the workspace that the examples work on."""
    (tmp_path / "home").mkdir()
    return shutil.copytree(EXAMPLES / "sample", tmp_path / "sample")
