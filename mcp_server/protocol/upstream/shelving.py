"""From a server's own word on its resources and prompts to what is offered here: bounded, cleaned, with names and URIs of Remit's own."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from mcp_types import Prompt, PromptArgument, Resource, ResourceTemplate
from pydantic import BaseModel

from mcp_server.protocol.blocks import marks_of
from mcp_server.protocol.upstream.addresses import fit, offered_uri
from mcp_server.protocol.upstream.cleaning import cleaned, in_line, within
from mcp_server.protocol.upstream.naming import LARGEST_LIST, LONGEST_DESCRIPTION, LONGEST_OWN_NAME, LONGEST_TITLE, offered_name
from mcp_server.tools.shelves import Blank, ForeignPrompt, ForeignResource, ForeignTemplate

MOST = 500
"""Of one kind of one server: as many as a person looks through. A server with more of them has templates, or tools to look with."""

MOST_BLANKS = 50

LONGEST_KIND = 80

T = TypeVar("T", bound=BaseModel)


def bounded(listed: Sequence[T], what: str) -> tuple[list[T], tuple[str, ...]]:
    """As many as are offered, and why the others are not, in a line."""
    kept, room = list[T](), LARGEST_LIST
    for one in listed[:MOST]:
        room -= len(one.model_dump_json())
        if room < 0:
            return kept, (f"it says more than {LARGEST_LIST:,} bytes of its {what}; the rest is left out",)
        kept.append(one)
    return kept, (f"it lists more than {MOST} {what}; the rest is left out",) if len(listed) > MOST else ()


def resources_of(server: str, listed: Iterable[Resource]) -> tuple[tuple[ForeignResource, ...], tuple[str, ...]]:
    """Those that can be offered, and why the others cannot, a line each. So with the others."""
    found: dict[str, ForeignResource] = {}
    left: list[str] = []
    for one in listed:
        if not fit(one.uri) or one.uri in found:
            left.append(_left("resource", one.uri, "another one has its URI" if one.uri in found else "its URI cannot be passed on"))
            continue
        found[one.uri] = ForeignResource(
            uri=offered_uri(server, one.uri),
            name=in_line(one.name, LONGEST_TITLE),
            title=_title(server, one.title or one.name),
            description=_about(server, one.description),
            media_type=in_line(one.mime_type or "", LONGEST_KIND),
            size=one.size if one.size is not None and one.size >= 0 else None,
            marks=marks_of(one.annotations),
        )
    return tuple(found.values()), tuple(left)


def templates_of(server: str, listed: Iterable[ResourceTemplate]) -> tuple[tuple[ForeignTemplate, ...], tuple[str, ...]]:
    """Forms of addresses."""
    found: dict[str, ForeignTemplate] = {}
    left: list[str] = []
    for one in listed:
        own = one.uri_template
        if not fit(own) or own in found:
            left.append(_left("template", own, "another one is the same" if own in found else "it cannot be passed on"))
            continue
        found[own] = ForeignTemplate(
            template=offered_uri(server, own),
            name=in_line(one.name, LONGEST_TITLE),
            title=_title(server, one.title or one.name),
            description=_about(server, one.description),
            media_type=in_line(one.mime_type or "", LONGEST_KIND),
            marks=marks_of(one.annotations),
        )
    return tuple(found.values()), tuple(left)


def prompts_of(server: str, listed: Iterable[Prompt]) -> tuple[tuple[ForeignPrompt, ...], tuple[str, ...]]:
    """Prompts. What they are filled in with keeps its names: another name would fill in something else."""
    found: dict[str, ForeignPrompt] = {}
    left: list[str] = []
    for one in listed:
        name, problem = offered_name(server, one.name[:LONGEST_OWN_NAME]), _problem(one)
        if problem is None and name in found:
            problem = "another one has its name"
        if problem is not None:
            left.append(_left("prompt", one.name, problem))
            continue
        found[name] = ForeignPrompt(
            name=name,
            own_name=one.name,
            title=_title(server, one.title or one.name),
            description=_about(server, one.description),
            blanks=tuple(_blank(each) for each in one.arguments or ()),
        )
    return tuple(found.values()), tuple(left)


def _problem(prompt: Prompt) -> str | None:
    """A name that is changed on its way would fill in something else."""
    if not prompt.name.strip() or len(prompt.name) > LONGEST_OWN_NAME or prompt.name != cleaned(prompt.name):
        return "its name cannot be passed on"
    names = [each.name for each in prompt.arguments or ()]
    if len(names) > MOST_BLANKS:
        return f"it takes more than {MOST_BLANKS} arguments"
    if any(not name or len(name) > LONGEST_TITLE or name != in_line(name, LONGEST_TITLE) for name in names) or len(set(names)) < len(names):
        return "an argument's name cannot be passed on"
    return None


def _blank(argument: PromptArgument) -> Blank:
    return Blank(
        name=argument.name,
        title=in_line(argument.title or "", LONGEST_TITLE),
        description=within(argument.description or "", LONGEST_DESCRIPTION),
        required=bool(argument.required),
    )


def _title(server: str, own: str) -> str:
    return in_line(f"{own} ({server})", LONGEST_TITLE)


def _about(server: str, own: str | None) -> str:
    said = cleaned(own or "").strip()
    return within(f"From the MCP server `{server}`{f', in its own words: {said}' if said else ''}", LONGEST_DESCRIPTION)


def _left(kind: str, own: str, why: str) -> str:
    return f"the {kind} {in_line(own, 60)!r} is left out: {why}"
