"""Times as people type them: how long ago, or a date."""

import time
from typing import Any

import click

from mcp_server.sessions.searching import since


class Since(click.ParamType[float]):
    """`30m`, `2h`, `7d`, or a date and time."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = since(str(value), now=time.time())
        if found is None:
            self.fail(f"{value} is neither a span such as 30m, 2h or 7d nor a date such as 2026-11-29T14:00", param, ctx)
        return found
