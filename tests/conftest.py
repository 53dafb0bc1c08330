import sys

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.campaign import FACTOR

# How long an example takes, or its making, says how busy the machine is. The same examples in every run: fresh ones are a campaign's.
settings.register_profile("remit", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=FACTOR == 1)
settings.load_profile("remit")

# As the product has it, on standard error; and on that of this process, whatever stands in for it meanwhile: a command that a test runs
# here, beside a server, is not to be given that server's lines for its own output.
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
