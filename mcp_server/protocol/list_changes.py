"""Lists of tools, prompts and resources that change as other servers change them.

Somebody is told only where the list that they would be given now is another than the one they had.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from mcp_types import (
    NotificationParams,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ServerNotification,
    Tool,
    ToolListChangedNotification,
)

from mcp_server.protocol.listening import Meta
from mcp_server.protocol.listing import listed
from mcp_server.sessions.front import Caller, Front, Shelf
from mcp_server.tools.news import KINDS, Kind

PACE = 0.5
"""Seconds at least between two looks: a server may say it a thousand times a second."""

SENDING = 1.0
"""Seconds for one notice. A connection whose client reads nothing must not keep the others waiting."""

FIELDS: Mapping[Kind, str] = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


class Lists:
    """Of one caller: how those that are watched stood when they were last looked at."""

    def __init__(self, front: Front, caller: Caller) -> None:
        self._front = front
        self._caller = caller
        self._counts = {kind: self._count(kind) for kind in KINDS}
        self._marks: dict[Kind, str] = {}
        self.watched: set[Kind] = set()

    def watch(self, kind: Kind, mark: str | None = None) -> None:
        """From now on. `mark`: of the list that was just given; None: nobody knows it, and the first word of a change is believed."""
        self.watched.add(kind)
        if mark is not None:
            self._counts[kind], self._marks[kind] = self._count(kind), mark

    async def look(self) -> tuple[Kind, ...]:
        """Those that have changed since."""
        changed: list[Kind] = []
        for kind in KINDS:
            count = self._count(kind)
            if kind not in self.watched or count == self._counts[kind]:
                continue
            self._counts[kind] = count
            mark = await mark_of(self._front, self._caller, kind)
            if mark != self._marks.get(kind):
                self._marks[kind] = mark
                changed.append(kind)
        return tuple(changed)

    def _count(self, kind: Kind) -> int:
        return self._front.news.count(self._caller.principal.key, kind)


async def mark_of(front: Front, caller: Caller, kind: Kind) -> str:
    """Another one where the caller is offered something else by other servers."""
    if kind == "tools":
        return tools_mark(listed(await front.foreign_for(caller)))
    return shelves_mark(await front.shelves_for(caller), kind)


def tools_mark(tools: Sequence[Tool]) -> str:
    """Of a list as it is given."""
    return _digest([tool.model_dump(mode="json") for tool in tools])


def shelves_mark(shelves: Sequence[Shelf], kind: Kind) -> str:
    """Of one kind of what is on them."""
    return _digest([repr(shelf.prompts if kind == "prompts" else (shelf.resources, shelf.templates)) for shelf in shelves])


def _digest(said: object) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode(errors="replace")).hexdigest()


def changed(kind: Kind, meta: Meta | None = None) -> ServerNotification:
    """List them again."""
    params = NotificationParams(_meta=meta)
    match kind:
        case "tools":
            return ToolListChangedNotification(params=params)
        case "prompts":
            return PromptListChangedNotification(params=params)
        case "resources":
            return ResourceListChangedNotification(params=params)
