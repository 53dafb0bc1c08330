import pytest
from hypothesis import HealthCheck, settings

from tests.campaign import FACTOR

# How long an example takes, or its making, says how busy the machine is. The same examples in every run: fresh ones are a campaign's.
settings.register_profile("remit", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=FACTOR == 1)
settings.load_profile("remit")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
