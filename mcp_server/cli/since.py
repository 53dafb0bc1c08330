"""Times as people type them: how long ago, or a date."""

import re
import time
from datetime import datetime
from typing import Any

import click

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Since(click.ParamType[float]):
    """`30m`, `2h`, `7d`, or a date and time."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        if span := re.fullmatch(r"(\d+)([smhd])", str(value)):
            return time.time() - int(span[1]) * UNITS[span[2]]
        try:
            return datetime.fromisoformat(str(value)).astimezone().timestamp()
        except ValueError:
            self.fail(f"{value} is neither a span such as 30m, 2h or 7d nor a date such as 2026-11-29T14:00", param, ctx)
