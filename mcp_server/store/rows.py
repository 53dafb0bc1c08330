"""Asking one question of a connection. What cannot be encoded was never stored, so it matches nothing."""

import json
import sqlite3
from collections.abc import Mapping, Sequence

Parameters = Mapping[str, str | int | float | None]


def first(connection: sqlite3.Connection, query: str, parameters: Parameters) -> sqlite3.Row | None:
    """The first row; None where there is none."""
    found = every(connection, query, parameters)
    return found[0] if found else None


def every(connection: sqlite3.Connection, query: str, parameters: Parameters) -> list[sqlite3.Row]:
    """All rows, read at once, so that no reader stands open when something else is asked."""
    try:
        return connection.execute(query, parameters).fetchall()
    except UnicodeEncodeError:  # a lone surrogate in an id that somebody made up
        return []


def listed(values: Sequence[str] | None) -> str | None:
    """Several values as one parameter, for `IN (SELECT value FROM json_each(:name))`. None stays None: no such condition."""
    return None if values is None else json.dumps(list(values))
