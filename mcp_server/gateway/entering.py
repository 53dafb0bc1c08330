"""The way into a console, whoever it is for: each page for those who came in alone, each deed from a form of their own."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from mcp_server.gateway.answering import Answering, Sent
from mcp_server.gateway.frame import Frame
from mcp_server.gateway.requests import body_of
from mcp_server.gateway.visits import Visit, same_key

BODY_BYTES = 64 * 1024
"""Of one form: a few answers in own words fit."""

BODY_SECONDS = 30.0
"""For one form to arrive."""

FORGED = "the form does not belong to this browser's visit"
NOBODY = "it came from nobody who has come in"
NO_FORM = "That is no form of the console's."


class Entrance(Protocol):
    """How browsers come into one console."""

    @property
    def door(self) -> str:
        """What every path of its pages begins with, without the slashes around it."""
        ...

    async def visit(self, request: Request, *, renews: bool) -> Visit | None:
        """Whose request it is. `renews`: a person makes it, so that the visit goes on."""
        ...

    def stranger(self, request: Request) -> Response:
        """What stands in a page's place for a browser that has not come in."""
        ...

    def away(self, words: str, status: int) -> Response:
        """A page that says why nothing was done."""
        ...

    def frame(self, visit: Visit) -> Frame:
        """What stands around the pages of a visit."""
        ...


def reading(entrance: Entrance, show: Callable[[Request, Visit], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A page for those who came in."""

    async def shown(request: Request) -> Response:
        visit = await entrance.visit(request, renews=by_a_person(request))
        return entrance.stranger(request) if visit is None else await show(request, visit)

    return shown


def writing(
    entrance: Entrance, answering: Answering, now: Callable[[], float], act: Callable[[Request, Visit, Sent], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """A deed of theirs: their own form's, and of a size that a form has."""

    async def done(request: Request) -> Response:
        visit = await entrance.visit(request, renews=True)
        ref = str(next(iter(request.path_params.values()), ""))
        if visit is None:
            await answering.refuse(NOBODY, at=now(), ref=ref)
            return entrance.stranger(request)
        sent = await form_of(request)
        if sent is None:
            return entrance.away(NO_FORM, 400)
        if len(sent.get("key", ())) != 1 or not same_key(visit, sent["key"][0]):
            await answering.refuse(FORGED, at=now(), ref=ref, whose=visit.principal.key)
            return entrance.away("This form is not of your visit. Load the page again.", 403)
        # Whoever sends a form slowly may have lost their visit meanwhile.
        visit = await entrance.visit(request, renews=True)
        return entrance.stranger(request) if visit is None else await act(request, visit, sent)

    return done


def by_a_person(request: Request) -> bool:
    """Does a person do something? A page's own script, which a stream of news wakes, says that it is one."""
    return request.headers.get("sec-fetch-mode", "navigate") == "navigate"


async def form_of(request: Request, *, most: int = BODY_BYTES) -> Mapping[str, list[str]] | None:
    """The fields of a form; None: what was sent is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    body = await body_of(request.receive, most=most, seconds=BODY_SECONDS)
    if not isinstance(body, bytes):
        return None
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=200)
    except ValueError:
        return None
