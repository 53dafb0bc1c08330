"""`remit doctor` and `remit gateway check` on the state folder and the store in it. Changes neither."""

import sys
from collections.abc import Iterator
from pathlib import Path

from mcp_server.cli.finding import Finding
from mcp_server.cli.state import FILE
from mcp_server.errors import StoreError
from mcp_server.store.glance import glance

ANEW = "move it away and keep it; a new one is made at the next start"


def state_folder(state: Path) -> Iterator[Finding]:
    """Is it this user's alone, and the store sound?"""
    if not state.exists():
        yield Finding(about="state", state="ok", says=f"{state} will be made when it is first needed")
        return
    open_to_others = [path for path in (state, *sorted(state.rglob("*"))) if _others(path)]
    for path in open_to_others:
        yield Finding(about="state", state="fault", says=f"{path} is open to other users", remedy=f"chmod go-rwx '{path}'")
    if not open_to_others:
        yield Finding(about="state", state="ok", says=f"{state} is yours alone")
    if (state / FILE).exists():
        yield _store(state / FILE)


def _others(path: Path) -> bool:
    return sys.platform != "win32" and not path.is_symlink() and bool(path.stat().st_mode & 0o077)


def _store(path: Path) -> Finding:
    try:
        standing = glance(path, whole=False)
    except StoreError as error:
        return Finding(about="store", state="fault", says=str(error), remedy=ANEW)
    if standing.is_newer:
        says = f"{path} was written by a newer Remit than this one, which does not open it"
        return Finding(about="store", state="fault", says=says, remedy="install that version again, or name another state folder")
    if standing.wrong:
        return Finding(about="store", state="fault", says=f"{path} is damaged: {standing.wrong[0]}", remedy=ANEW)
    if standing.is_older and standing.version:
        says = f"{path} is sound, and older than this version: the next start brings it up, and no older Remit opens it from then on"
        return Finding(about="store", state="note", says=says, remedy="make a copy first: `remit gateway backup FILE`")
    return Finding(about="store", state="ok", says=f"{path} is sound")
