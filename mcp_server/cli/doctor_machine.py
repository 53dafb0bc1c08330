"""`remit doctor` on the machine: the programs that Remit stands on, and what holds lines of shell."""

import platform
import sqlite3
import sys
from collections.abc import Iterator

from mcp_server.cli.finding import Finding
from mcp_server.cli.here import Here
from mcp_server.errors import ToolFailure
from mcp_server.sandbox.choice import choose
from mcp_server.settings.places import private_folder
from mcp_server.tools.ripgrep import binary

OLDEST_SQLITE = (3, 35, 0)
"""The first with RETURNING, which the store's statements use."""


def machine() -> Iterator[Finding]:
    """Python, SQLite, ripgrep."""
    yield Finding(about="python", state="ok", says=f"{platform.python_version()} at {sys.executable}")
    found = sqlite3.sqlite_version_info
    old = found < OLDEST_SQLITE
    yield Finding(
        about="sqlite",
        state="fault" if old else "ok",
        says=sqlite3.sqlite_version,
        remedy="use a Python that is built with SQLite 3.35 or newer" if old else "",
    )
    try:
        yield Finding(about="ripgrep", state="ok", says=binary())
    except ToolFailure as error:
        yield Finding(about="ripgrep", state="fault", says=str(error), remedy="install Remit again, or put `rg` on the path")


def sandbox(place: Here) -> Iterator[Finding]:
    """Tried now, with the real recipe."""
    held = choose(place.settings.sandbox, private_folder(place.places.state))
    chosen = place.settings.sandbox == "none"
    remedy = "" if held.backend is not None else "install bubblewrap, or write `sandbox: none` in your settings.yaml to do without"
    remedy = "remove `sandbox: none` from your settings to have commands held to the rules" if chosen else remedy
    state = "ok" if held.backend is not None and not chosen else "note"
    yield Finding(about="sandbox", state=state, says=held.used(), remedy=remedy)
    yield from (Finding(about="sandbox", state="ok" if told.holds else "note", says=told.line) for told in held.told())
    yield from (Finding(about="sandbox", state="ok" if chosen else "note", says=line) for line in held.absent)
