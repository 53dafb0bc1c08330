import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("remit", deadline=None)
settings.load_profile("remit")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
