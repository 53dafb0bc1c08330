"""The latest time that a store has heard of, so that a clock which is set back lets nothing stand for longer than a person was shown."""

import sqlite3

SLACK = 60.0
"""Seconds by which a time may lie behind that of another write: a writer may have waited for its turn. Further back, the clock was set."""

STEP = 1.0
"""A time is noted where it is later than the one noted by so much, so that not every write has this to write as well."""


def heard(connection: sqlite3.Connection, now: float) -> None:
    """Note a time. Where the clock was set back, how old a ruling is cannot be told any more: all that have an end are over then, and
    ask again. Those without one are denials; what is good for one call is bound by that. Inside the caller's transaction.
    """
    (latest,) = connection.execute("SELECT heard FROM trail").fetchone()
    if now < latest - SLACK:
        connection.execute("UPDATE rulings SET expires_at = 0 WHERE expires_at > 0 AND once = 0")
        connection.execute("UPDATE trail SET heard = ?", (now,))
    elif now > latest + STEP:
        connection.execute("UPDATE trail SET heard = ?", (now,))
