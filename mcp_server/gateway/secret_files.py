"""Secrets that settings name by a file: the text in it, and nothing around it."""

from pathlib import Path

from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.files import read_text


def read_secret(file: str) -> str:
    """What stands there.

    Raises:
        ConfigError: It cannot be read, or is empty.
    """
    text = read_text(Path(file).expanduser())
    if isinstance(text, str) and text.strip():
        return text.strip()
    problem = "is not there" if text is None else "holds no secret"
    fault = Fault(file=file, line=None, problem=problem, remedy="put the secret of `client_id` there, and nothing else")
    raise ConfigError((text if isinstance(text, Fault) else fault,))
