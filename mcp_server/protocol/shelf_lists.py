"""What another server offers beside tools, as the protocol lists it."""

from typing import Any

from mcp_types import Prompt, PromptArgument, Resource, ResourceTemplate

from mcp_server.protocol.blocks import annotations_of
from mcp_server.protocol.wire import FROM
from mcp_server.tools.shelves import ForeignResource, ForeignTemplate, Shelf


def resources_in(shelf: Shelf) -> list[Resource]:
    """Its resources."""
    return [Resource(uri=one.uri, size=one.size, **_said(one, shelf.server)) for one in shelf.resources]


def templates_in(shelf: Shelf) -> list[ResourceTemplate]:
    """Forms of their addresses."""
    return [ResourceTemplate(uri_template=one.template, **_said(one, shelf.server)) for one in shelf.templates]


def _said(one: ForeignResource | ForeignTemplate, server: str) -> dict[str, Any]:
    """What a server says of either."""
    return {
        "name": one.name,
        "title": one.title,
        "description": one.description,
        "mime_type": one.media_type or None,
        "annotations": annotations_of(one.marks),
        "_meta": {FROM: server},
    }


def prompts_in(shelf: Shelf) -> list[Prompt]:
    """Its prompts."""
    return [
        Prompt(
            name=one.name,
            title=one.title,
            description=one.description,
            arguments=[
                PromptArgument(name=each.name, title=each.title or None, description=each.description or None, required=each.required)
                for each in one.blanks
            ],
            _meta={FROM: shelf.server},
        )
        for one in shelf.prompts
    ]
