"""The guard of one workspace: what is built in, and what settings change in it."""

from collections.abc import Sequence
from pathlib import Path

from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action, Rule
from mcp_server.settings.merge import locking
from mcp_server.settings.places import Places


def built_in_guard(workspace: Path, places: Places) -> tuple[Rule, ...]:
    """The rules before any edit. Remit's own folders are named as they really are, links resolved."""
    settings = tuple(folder.resolve().as_posix() for folder in (places.config, places.managed))
    return guard_rules(workspace.as_posix(), places.home.resolve().as_posix(), places.state.resolve().as_posix(), settings)


def guard_layer(built_in: tuple[Rule, ...], person: tuple[Rule, ...], managed: tuple[Rule, ...], locks: Sequence[str]) -> tuple[Rule, ...]:
    """The guard's rules, last match wins: built-in, the person's edits, what is locked once more, managed edits.

    A person's deny is heard behind a locked entry too: a lock holds against loosening only.
    """
    held = tuple(rule for rule in built_in if locking(("guard", rule.permission), locks))
    tighter = tuple(rule for rule in person if rule.action is Action.DENY) if held else ()
    return (*built_in, *person, *held, *tighter, *managed)
