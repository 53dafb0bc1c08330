"""Finding the one thing whose id was typed."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from mcp_server.errors import RemitError

Item = TypeVar("Item")

FEWEST = 4
"""Characters of an id's own part that must be typed, so that a slip of the finger is not an id."""


class NotFound(RemitError):
    """What was named is not there, or is not one thing."""


def find_one(items: Sequence[Item], typed: str, id_of: Callable[[Item], str], kind: str, lists: str) -> Item:
    """The one item whose id is what was typed or starts with it; the kind in front may be left out.

    Args:
        items: What there is to choose from.
        typed: An id or its start.
        id_of: The id of an item.
        kind: What an item is, for the error.
        lists: The command that lists them.

    Raises:
        NotFound: None or several match.
    """
    exact = [item for item in items if id_of(item) == typed]
    if exact:
        return exact[0]
    own = typed.rsplit("_", 1)[-1]
    found = [i for i in items if id_of(i).startswith(typed) or id_of(i).rsplit("_", 1)[-1].startswith(own)] if len(own) >= FEWEST else []
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{len(found)} {kind}s begin with {typed}; type more of the id")
    raise NotFound(f"no {kind} begins with {typed}; `{lists}` lists them")
