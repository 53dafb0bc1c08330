"""The key that seals request states. Kept in the state folder, so that answers given after a restart still count."""

from pathlib import Path

from mcp_server.settings.key_files import kept_keys

_NAME = "request-state.key"


def request_state_key(folder: Path) -> bytes:
    """The key of this state folder, made when there is none. Only its owner can read it.

    Raises:
        ConfigError: The file is not a key, or others may read it.
    """
    return kept_keys(folder / _NAME, remedy="delete the file; open forms are lost")[0]
