"""What a session last saw of a file, so that an edit can tell that somebody else changed it since.

Kept in the store as the session's own state, one key a file: parallel reads never overwrite each other's.
"""

import hashlib
import json
import os
from dataclasses import dataclass

from mcp_server.policy.values import PathValue
from mcp_server.tools.base import ToolContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A file at one moment."""

    mtime_ns: int
    size: int
    inode: int
    digest: str | None
    """SHA-256 of the whole content; None where it was too large to be read whole."""

    def same_as(self, now: "Stamp") -> bool:
        """Is it the same content? By digest where both have one, else by time, size and identity."""
        if self.digest is not None and now.digest is not None:
            return self.digest == now.digest
        return (self.mtime_ns, self.size, self.inode) == (now.mtime_ns, now.size, now.inode)


def stamp(found: os.stat_result, content: bytes | None) -> Stamp:
    """The stamp of a file whose whole content is known."""
    digest = hashlib.sha256(content).hexdigest() if content is not None else None
    return Stamp(mtime_ns=found.st_mtime_ns, size=found.st_size, inode=found.st_ino, digest=digest)


async def remember(context: ToolContext, path: PathValue, seen: Stamp) -> None:
    """Keep what this session saw of the file. If a loss of power takes it, the file has to be read again: nothing is open by that."""
    kept = {"mtime_ns": seen.mtime_ns, "size": seen.size, "inode": seen.inode, "digest": seen.digest}
    await context.store.set_state(context.session_id, _key(path), json.dumps(kept), synced=False)


async def recall(context: ToolContext, path: PathValue) -> Stamp | None:
    """What this session last saw; None: it never read the file."""
    kept = await context.store.state(context.session_id, _key(path))
    return Stamp(**json.loads(kept)) if kept else None


def _key(path: PathValue) -> str:
    return f"stamp:{path.resolved}"
