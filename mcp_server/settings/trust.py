"""Which workspaces the person trusts: a real path bound to a digest of its `.remit/`.

One small file a workspace in the state folder, so that two processes never write over each other's. Not the command:
that one shows what would be trusted and needs a controlling terminal.
"""

import hashlib
import json
import os
import secrets
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.folder import RemitFolder
from mcp_server.settings.places import private_folder


class Trust(StrEnum):
    """How a workspace stands."""

    TRUSTED = "trusted"
    CHANGED = "changed"
    """It was trusted as it was; `.remit/` is different now."""
    NEVER = "never"

    @property
    def why(self) -> str:
        """Words behind `the workspace` that say how it stands."""
        return {Trust.TRUSTED: "is trusted", Trust.CHANGED: "has changed since it was trusted", Trust.NEVER: "is not trusted"}[self]


def trust_of(workspace: Path, folder: RemitFolder, state: Path) -> Trust:
    """How a workspace, a resolved path, stands with its `.remit` as it was just read.

    Raises:
        ConfigError: What the state folder says of it cannot be read, or others may write it.
    """
    known = _known_digest(_record(workspace, state), workspace)
    if known is None:
        return Trust.NEVER
    return Trust.TRUSTED if known == folder.digest else Trust.CHANGED


def give_trust(workspace: Path, folder: RemitFolder, state: Path) -> None:
    """Trust a workspace exactly as `folder` was read.

    Raises:
        OSError: It cannot be stored.
    """
    record = _record(workspace, state)
    private_folder(state)
    private_folder(record.parent)
    draft = record.with_name(f".{record.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"workspace": str(workspace), "digest": folder.digest}, file)
            file.flush()
            os.fsync(descriptor)
        draft.replace(record)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def withdraw_trust(workspace: Path, state: Path) -> bool:
    """Trust it no more. False: it was not."""
    try:
        _record(workspace, state).unlink()
    except FileNotFoundError:
        return False
    return True


def _record(workspace: Path, state: Path) -> Path:
    name = hashlib.sha256(os.fsencode(workspace)).hexdigest()
    return state / "trust" / f"{name}.json"


def _known_digest(record: Path, workspace: Path) -> str | None:
    """The digest that was trusted; None where none was."""
    try:
        status = record.lstat()
    except FileNotFoundError:
        return None
    if sys.platform != "win32" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise _damaged(record, "belongs to somebody else, or others may use it")
    try:
        said = cast("dict[str, Any]", json.loads(record.read_text("utf-8")))
        named, digest = said["workspace"], said["digest"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(record, "cannot be read as a record of trust") from error
    return digest if named == str(workspace) and isinstance(digest, str) else None


def _damaged(record: Path, problem: str) -> ConfigError:
    return ConfigError((Fault(file=str(record), line=None, problem=problem, remedy="remove it, then `remit trust` the workspace again"),))
