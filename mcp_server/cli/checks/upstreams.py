"""`remit gateway check` on the other MCP servers: whether each can be given what settings want it given. Starts none, asks none."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from mcp_server.cli.finding import Finding
from mcp_server.errors import ToolFailure
from mcp_server.protocol.upstream.expanding import expanded, held_in, placed
from mcp_server.protocol.upstream.starting import folder_of, program_at
from mcp_server.settings.upstream import Upstream

_REMEDY = "put it there, or change the server's settings; run the check with the server's own user and environment"


def upstreams(named: Mapping[str, Upstream], environment: Mapping[str, str], workspace: str) -> Iterator[Finding]:
    """`environment`: that of whoever runs the check, who should be whose server it is."""
    for name, config in named.items():
        problems = [problem for problem in _tried(config, environment, workspace) if problem]
        about = f"server {name}"
        yield from (Finding(about=about, state="fault", where="mcpServers", says=one, remedy=_REMEDY) for one in problems)
        if not problems:
            yield Finding(about=about, state="ok", says="has what its settings name; it was not called")


def _tried(config: Upstream, environment: Mapping[str, str], workspace: str) -> Iterator[str]:
    for text in (*config.env.values(), *config.headers.values()):
        yield _failure(partial(expanded, text, environment, workspace))
    for block in (config.oauth, config.exchange):
        file = None if block is None else block.client_secret_file
        if file is not None:
            yield _failure(partial(held_in, file))
    if config.command is not None:
        yield _failure(partial(_program, config, config.command, environment, workspace))


def _program(config: Upstream, command: str, environment: Mapping[str, str], workspace: str) -> str:
    return program_at(placed(command, workspace), folder_of(config, workspace, Path(os.sep)), environment)


def _failure(act: Callable[[], str]) -> str:
    """Why it cannot be had; empty: it can."""
    try:
        act()
    except ToolFailure as failure:
        return str(failure)
    return ""
