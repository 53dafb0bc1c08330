import os
import sys
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs] - it has types, and does not say so

from tests.campaign import FACTOR

# How long an example takes, or its making, says how busy the machine is. The same examples in every run: fresh ones are a campaign's.
settings.register_profile("remit", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=FACTOR == 1)
settings.load_profile("remit")

# As the product has it, on standard error; and on that of this process, whatever stands in for it meanwhile: a command that a test runs
# here, beside a server, is not to be given that server's lines for its own output.
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))


# No test speaks TLS to the world. What makes a client of HTTP would else read all the certificates that this machine trusts, each time: a
# third of what many tests took. `nobody.pem` is one certificate, out of date since the year 2000, whose key is gone.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))

TOGETHER = {
    "tests/architecture/": "each reads the whole source, which a process keeps",
    "tests/browser/": "a process has a browser of its own",
    "tests/models/": "providers' libraries take seconds to load",
    "tests/policy/test_laws.py": "all go through one small universe, which a process keeps",
}
"""Where the beginnings of tests' ids are these, one process takes them all; and what it would cost to have each process take some."""


class InGroups(LoadScopeScheduling):
    """Deals tests out one by one, but those of a group together. What `loadgroup` has of its own writes a group's name into ids, and
    pytest 9.2 takes no id from it: it groups nothing.
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((group for group in TOGETHER if nodeid.startswith(group)), nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return InGroups(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
