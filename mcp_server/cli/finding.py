"""What `remit doctor` says of one thing that it looked at."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at."""

    about: str
    state: Literal["ok", "note", "fault"]
    says: str
    remedy: str = ""
