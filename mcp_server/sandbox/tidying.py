"""What is taken away when a server starts: what a crash left, and what nobody has used for long."""

import shutil
import sys
import time

from mcp_server.sandbox.choice import PLACEHOLDERS
from mcp_server.sandbox.placeholders import Placeholders
from mcp_server.sandbox.running import MARK
from mcp_server.sandbox.tree import end_orphans
from mcp_server.settings.places import Places

TEMPORARY = "tmp"
"""The folder in Remit's cache that holds each session's own."""

UNUSED_SECONDS = 7 * 86400.0
"""A session may wait days for a person, and go on with what it left in its temporary folder."""


def tidy(places: Places) -> None:
    """Placeholders, processes and temporary folders. May be called from any thread."""
    if sys.platform == "linux":
        end_orphans(MARK)
        Placeholders(places.state / PLACEHOLDERS).sweep()
    folder = places.cache / TEMPORARY
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.stat().st_mtime < time.time() - UNUSED_SECONDS:
            shutil.rmtree(each, ignore_errors=True)
