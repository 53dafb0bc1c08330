"""What runs have used up, as a store sums it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a session's runs, or those of a whole tree, have used up so far."""

    tokens: int = 0
    """In and out."""
    cost: float = 0.0
    """US dollars, as far as prices are known."""
    steps: int = 0
    """Model turns."""
    seconds: float = 0.0
    """Working time."""
    prompts: int = 0
    """Questions put before the person, those about a budget left out."""
