from pathlib import Path

import pytest

from tests.settings.ground import Ground, lay


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return lay(tmp_path)
