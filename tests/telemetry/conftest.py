"""Nothing of one test's spans is left for the next."""

from collections.abc import Iterator

import pytest

from tests.telemetry.listening import kept


@pytest.fixture(autouse=True)
def _listens_no_longer() -> Iterator[None]:
    yield
    kept().listening = False
    kept().clear()
