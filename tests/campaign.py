"""How long random searches go on: short and the same in every run, or long and fresh in a campaign (`make campaign`)."""

import os

from hypothesis import settings

FACTOR = int(os.environ.get("REMIT_CAMPAIGN", "1"))
"""How many times as many examples as in an everyday run."""


def search(examples: int) -> settings:
    """The settings of a test that tries so many examples every day."""
    return settings(derandomize=FACTOR == 1, max_examples=examples * FACTOR, deadline=None)
