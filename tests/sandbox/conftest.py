"""These tests try every way out that a machine may offer, so they need the programs that offer them."""

import shutil
from pathlib import Path

import pytest

LISTED = Path(__file__).parents[2] / ".ci" / "packages.txt"


def missing() -> tuple[str, ...]:
    """The Debian packages that this machine lacks."""
    lines = (line.split() for line in LISTED.read_text().splitlines() if line and not line.startswith("#"))
    return tuple(package for program, package in lines if shutil.which(program) is None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    lacking = missing()
    if not lacking:
        return
    reason = f"needs these Debian packages: {' '.join(lacking)}"
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))
