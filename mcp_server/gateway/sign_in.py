"""The entrance of a gateway's console: people sign in at their issuer, or with an API key, and get a visit of their own."""

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mcp_server.gateway.attempts import Attempts, Browsers, Tries
from mcp_server.gateway.cards import moment
from mcp_server.gateway.entering import FORGED, form_of
from mcp_server.gateway.frame import Frame
from mcp_server.gateway.html import Html, el, join, said
from mcp_server.gateway.keys import KeyHolders, digest_of
from mcp_server.gateway.oidc import Away, SignsIn
from mcp_server.gateway.seen import client_of
from mcp_server.gateway.sign_in_page import FAILED, KEY_REFUSED, NO_PART, OLD_FORM, SAID, SIGNED_OUT, UNREACHED, sign_in_page, told
from mcp_server.gateway.verified import Refused
from mcp_server.gateway.visits import Visit, Visits, same_key
from mcp_server.principal import TokenPrincipal

log = structlog.get_logger("gateway")

SILENT_SECONDS = 3600.0
"""A visit of which nothing was heard for so long is over (NIST SP 800-63B-4, 2.2.3: an hour at most). A stream of news does not count."""

LONGEST_SECONDS = 12 * 3600.0
"""One is over after so long in any case: a working day, after which the issuer is asked again who somebody is."""

BROWSER_SECONDS = 3600
"""How long a page to sign in at can be left open."""

FORM_BYTES = 4096
"""Of the form with an API key."""

_BACK = re.compile(r"[\w/-]*(\?[\w=&%+.:-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Where the console is, and what its cookies are called there."""

    url: str
    """The console's whole address, without a slash at the end."""

    @property
    def origin(self) -> str:
        """That of its pages."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def door(self) -> str:
        """What every path begins with."""
        return urlsplit(self.url).path.strip("/")

    @property
    def secure(self) -> bool:
        """Over TLS, where a browser takes cookies that no other host can have set. On loopback in the clear it takes none of those."""
        return self.url.startswith("https:")

    @property
    def visit(self) -> str:
        """The cookie of a visit."""
        return "__Host-remit_console" if self.secure else "remit_team_console"

    @property
    def browser(self) -> str:
        """The cookie of a browser that signs in."""
        return "__Host-remit_sign_in" if self.secure else "remit_team_sign_in"


@dataclass(slots=True, kw_only=True)
class SignIn:
    """See `Entrance`. `clock`: seconds since the epoch."""

    names: Names
    oidc: SignsIn | None
    """None: people come in with API keys alone."""
    keys: KeyHolders
    may_come: Callable[[TokenPrincipal], Awaitable[bool]]
    """Has somebody any part in this gateway? Asked at every request: settings may have changed."""
    heard: Callable[[TokenPrincipal, Mapping[str, Any]], Awaitable[None]]
    """Told what an ID token says of somebody."""
    revoked_at: Callable[[TokenPrincipal], Awaitable[float]]
    """Until when everything of somebody's was revoked, visits too. Asked at every request; 0: never."""
    rooms: Callable[[], tuple[tuple[str, str], ...]]
    """Where the navigation leads."""
    clock: Callable[[], float]
    visits: Visits = field(init=False)
    _attempts: Attempts = field(init=False)
    _tries: Tries = field(init=False)
    _browsers: Browsers = field(default_factory=Browsers)

    def __post_init__(self) -> None:
        self.visits = Visits(clock=self.clock, silent=SILENT_SECONDS, longest=LONGEST_SECONDS)
        self._attempts = Attempts(clock=self.clock)
        self._tries = Tries(clock=self.clock)

    # ---- the entrance ---------------------------------------------------------------------------

    @property
    def door(self) -> str:
        return self.names.door

    async def visit(self, request: Request, *, renews: bool) -> Visit | None:
        cookie = request.cookies.get(self.names.visit)
        found = self.visits.visit(cookie, renews=renews)
        if found is None:
            return None
        if not await self._stands(found):
            self.visits.leave(cookie)
            return None
        return found

    async def _stands(self, visit: Visit) -> bool:
        """Does it count still: by its key, by the settings, and by what was revoked since?"""
        who = visit.principal
        if not isinstance(who, TokenPrincipal) or (visit.api_key and not await self.keys.counts(visit.api_key)):
            return False
        return await self.may_come(who) and await self.revoked_at(who) < visit.began_at

    def stranger(self, request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        return self._page(request, back=f"{request.url.path}{query}" if request.method == "GET" else "", status=403)

    def away(self, words: str, status: int) -> Response:
        return told(self.door, "Not done", words, status)

    def frame(self, visit: Visit) -> Frame:
        until = moment(visit.began_at + LONGEST_SECONDS)
        foot = join("This visit ends after an hour in which nothing is done, and at ", until, " in any case.")
        return Frame(door=self.door, foot=foot, rooms=self.rooms(), aside=self._who(visit))

    def _who(self, visit: Visit) -> Html:
        leave = el(
            "form",
            {"method": "post", "action": f"/{self.door}/sign-out"},
            el("input", {"type": "hidden", "name": "key", "value": visit.form_key}),
            el("button", {"type": "submit", "class": "small"}, "Sign out"),
        )
        return el("div", {"class": "who"}, el("span", None, said(visit.called)), leave)

    # ---- the page to sign in at -----------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """By itself, for a page that is wanted."""
        return self._page(request, back=_only(request, "next"))

    def _page(self, request: Request, *, back: str, note: str = "", status: int = 200) -> Response:
        cookie = self._browsers.cookie(request.cookies.get(self.names.browser))
        issuer = None if self.oidc is None else self.oidc.called
        form_key = self._browsers.form_key(cookie)
        answer = sign_in_page(self.door, issuer=issuer, back=self._back(back), form_key=form_key, note=note, status=status)
        self._set(answer, self.names.browser, cookie, max_age=BROWSER_SECONDS)
        return answer

    def _back(self, path: str) -> str:
        """The page of this console that a path leads to; its first one, where it leads anywhere else."""
        first = f"/{self.door}/"
        inside = path.startswith(first) and "//" not in path and _BACK.fullmatch(path) is not None
        return path if inside and not path.startswith((f"{first}sign-", f"{first}callback", f"{first}static", f"{first}events")) else first

    # ---- at the issuer --------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """Send the browser to the issuer. Changes nothing but that a sign-in is under way."""
        if self.oidc is None:
            return self._page(request, back="", status=404)
        cookie = self._browsers.cookie(request.cookies.get(self.names.browser))
        attempt = self._attempts.begin(browser=cookie, back=self._back(_only(request, "next")), address=client_of(request.scope))
        try:
            answer = RedirectResponse(await self.oidc.address(attempt), 303)
        except Refused as error:
            return self._unreached(request, error)
        self._set(answer, self.names.browser, cookie, max_age=BROWSER_SECONDS)
        return answer

    async def back(self, request: Request) -> Response:
        """The browser comes back from the issuer, with a code or with what went wrong."""
        if self.oidc is None:
            return self._page(request, back="", status=404)
        attempt = self._attempts.take(_only(request, "state"), browser=request.cookies.get(self.names.browser))
        if attempt is None:
            return self._failed(request, "this browser has begun no such sign-in, or it was finished before")
        try:
            await self.oidc.meant(request.query_params.get("iss"))
            if "error" in request.query_params:
                return self._not_let_in(request, _only(request, "error"))
            found = await self.oidc.person(_only(request, "code"), attempt)
        except Away as error:
            return self._unreached(request, error)
        except Refused as error:
            return self._failed(request, str(error))
        await self.heard(found.principal, found.claims)
        if not await self.may_come(found.principal):
            log.warning(
                "a sign-in was refused", reason="no part in this gateway", principal=found.principal.key, client=client_of(request.scope)
            )
            return told(self.door, "Nothing for you here", NO_PART, 403)
        called = found.called or found.principal.subject
        cookie = self.visits.admit(found.principal, called=called)
        return self._come_in(request, cookie, attempt.back, found.principal)

    def _failed(self, request: Request, reason: str) -> Response:
        log.warning("a sign-in was refused", reason=reason, client=client_of(request.scope))
        return told(self.door, "Not signed in", FAILED.format(issuer=self._issuer), 403)

    def _unreached(self, request: Request, error: Refused) -> Response:
        log.warning("nobody can sign in", reason=str(error), client=client_of(request.scope))
        return told(self.door, "Not signed in", UNREACHED.format(issuer=self._issuer), 503)

    def _not_let_in(self, request: Request, error: str) -> Response:
        known = SAID.get(error)
        log.warning("a sign-in was refused", reason="the issuer said no", said=error[:64], client=client_of(request.scope))
        return told(self.door, "Not signed in", (known or FAILED).format(issuer=self._issuer), 403)

    @property
    def _issuer(self) -> str:
        return "" if self.oidc is None else self.oidc.called

    # ---- with an API key ------------------------------------------------------------------------

    async def by_key(self, request: Request) -> Response:
        """Take a key once, in exchange for a visit."""
        sent = await form_of(request, most=FORM_BYTES) or {}
        fields = {name: values[0] for name, values in sent.items() if len(values) == 1}
        cookie, back = request.cookies.get(self.names.browser), fields.get("next", "")
        own = cookie is not None and self._browsers.made(cookie)
        if cookie is None or not own or not secrets.compare_digest(self._browsers.form_key(cookie), _ascii(fields.get("key", ""))):
            return self._page(request, back=back, note=OLD_FORM, status=403)
        address, key = client_of(request.scope), fields.get("api_key", "").strip()
        try:
            if not self._tries.may(address):
                raise Refused("too many were tried from there")
            verified = await self.keys.verify(key)
        except Refused as error:
            self._tries.failed(address)
            log.warning("an API key was refused at the console", reason=str(error), client=address)
            return self._page(request, back=back, note=KEY_REFUSED, status=403)
        called = f"the machine {verified.principal.subject}"
        made = self.visits.admit(verified.principal, called=called, api_key=digest_of(key))
        return self._come_in(request, made, self._back(back), verified.principal)

    # ---- in and out -----------------------------------------------------------------------------

    def _come_in(self, request: Request, cookie: str, back: str, principal: TokenPrincipal) -> Response:
        """With a cookie that nobody knew before; what the browser had ends."""
        self.visits.leave(request.cookies.get(self.names.visit))
        log.info("signed in to the console", principal=principal.key, client=client_of(request.scope))
        answer = RedirectResponse(back, 303)
        self._set(answer, self.names.visit, cookie)
        self._unset(answer, self.names.browser)
        return answer

    async def leave(self, request: Request) -> Response:
        """Sign out."""
        cookie = request.cookies.get(self.names.visit)
        visit = self.visits.visit(cookie, renews=False)
        sent = await form_of(request, most=FORM_BYTES) or {}
        if visit is not None and not same_key(visit, next(iter(sent.get("key", ())), "")):
            return self.away(FORGED, 403)
        self.visits.leave(cookie)
        answer = told(self.door, "Signed out", SIGNED_OUT, 200)
        self._unset(answer, self.names.visit)
        return answer

    def _set(self, answer: Response, name: str, value: str, max_age: int | None = None) -> None:
        answer.set_cookie(name, value, max_age=max_age, path="/", secure=self.names.secure, httponly=True, samesite="lax")

    def _unset(self, answer: Response, name: str) -> None:
        answer.delete_cookie(name, path="/", secure=self.names.secure, httponly=True, samesite="lax")


def _only(request: Request, name: str) -> str:
    """A parameter's one value; empty where it is absent, or there more than once: nobody can say which of two counts."""
    values = request.query_params.getlist(name)
    return values[0] if len(values) == 1 else ""


def _ascii(text: str) -> str:
    return text if text.isascii() else ""
