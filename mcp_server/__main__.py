"""`python -m mcp_server` and the `remit` command."""

import os
import sys

from mcp_server.cli.lazy import loaded
from mcp_server.cli.main import remit


def main() -> None:
    """Run the command line."""
    remit(prog_name="remit", obj=_log)


def _log() -> None:
    """To standard error whatever the command: standard output is for what it tells. `serve` and `console` have levels of their own."""
    loaded("mcp_server.cli.logs").log_to(sys.stderr, "warning", os.environ)


if __name__ == "__main__":
    main()
