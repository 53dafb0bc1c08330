"""A sample of the campaign: of servers that were lost and of calls that were given up nothing is held."""

import sys
from pathlib import Path

import pytest

from tests.losses.campaign import campaign

SEED = 20261130


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_of_lost_servers_and_calls_given_up_nothing_is_held(tmp_path: Path) -> None:
    tally = await campaign(tmp_path, 4, 40, SEED, lambda _: None)
    assert (tally.lost, tally.given_up, tally.wrong) == (4, 40, [])
