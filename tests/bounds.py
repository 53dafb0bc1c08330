"""How long a test waits for what it knows will come."""

LONG = 60.0
"""Seconds that any one wait may take: a bound for what hangs, not a measure. It is reached by nothing that goes on, on however busy a
machine; a test that wants to show that something comes soon shows what it does not wait for.
"""
