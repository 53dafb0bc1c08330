"""Where the case files are: beside the project where they are shared, else the copies kept here."""

from pathlib import Path

KEPT = Path(__file__).parent / "cases"
SHARED = Path(__file__).parents[2] / "shared" / "cases"

CASES = SHARED if SHARED.is_dir() else KEPT
