"""Requests to one server over HTTPS. Credentials go to its own address and nowhere else, whatever it redirects to."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit

import anyio
import httpx2

from mcp_server.errors import ConfigError, Fault, RemitError
from mcp_server.settings.loopback import is_loopback

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 900.0
"""Without a single byte. Servers that stream send something every few seconds; one that answers at the end only gets a quarter of an
hour.
"""
PAUSES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Seconds before each further try to connect, when nothing of a request has been sent yet. A server that is started anew is back within
them; hosts give a call about 60 s.
"""
_REDIRECTS = 3
_TRIES = 4
"""Of one request, with what `renewed` may change between them: another process's newer token, a refreshed one, a sign-in."""


class Failed(RemitError):
    """A request has no answer of the server's. The text is for the host's person."""


class Credentials(Protocol):
    """What shows who is calling."""

    async def token(self) -> str | None:
        """The bearer token to send; None: none yet.

        Raises:
            Failed: There can be none.
        """
        ...

    async def renewed(self, sent: str | None, answer: httpx2.Response, *, ask: bool) -> bool:
        """The server took `sent` not, or not for this: is there something else now? `ask`: may a person be asked?

        Raises:
            Failed: There cannot be.
        """
        ...


def checked_url(written: str) -> str:
    """A server's address.

    Raises:
        ConfigError: It is none, or one that credentials must not go to.
    """
    try:
        parts = urlsplit(written)
        parts.port  # noqa: B018 - raises where it is none
    except ValueError:
        raise ConfigError((Fault(file="URL", line=None, problem="is no address", remedy="write https://HOST/mcp"),)) from None
    problem = None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        problem = "is no address of a server"
    elif parts.scheme == "http" and not is_loopback(parts.hostname):
        problem = "is plain http, where everybody on the way reads along; only this machine's own addresses may be"
    elif parts.username is not None or parts.password is not None:
        problem = "holds a name or a password; use --key-file"
    elif parts.fragment:
        problem = "holds a fragment"
    if problem is not None:
        raise ConfigError((Fault(file="URL", line=None, problem=problem, remedy="write https://HOST/mcp"),))
    return written


class Server:
    """The one address that the bridge speaks to. Close it at the end."""

    def __init__(self, url: str, credentials: Credentials, pauses: tuple[float, ...] = PAUSES) -> None:
        """`pauses`: seconds before each further try to connect, for requests that name none of their own."""
        self.url = httpx2.URL(url)
        self._credentials = credentials
        self._pauses = pauses
        self._client = httpx2.AsyncClient(
            follow_redirects=False,
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=SILENT_SECONDS),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )

    async def close(self) -> None:
        """Give its connections up."""
        await self._client.aclose()

    @asynccontextmanager
    async def exchange(
        self,
        method: str,
        headers: Mapping[str, str],
        content: str | None = None,
        *,
        pauses: tuple[float, ...] | None = None,
        ask: bool = True,
    ) -> AsyncGenerator[httpx2.Response]:
        """One request and the head of its answer; the body is the caller's to read. Sent again only where the server has refused it
        unread (401, 403, a redirect within its address) or was not there.

        Raises:
            Failed: The server cannot be reached, does not let in, or leads elsewhere.
            httpx2.HTTPError: The connection broke after something was sent.
        """
        again = self._pauses if pauses is None else pauses
        answer = await self._let_in(partial(self._followed, method, content=content, pauses=again), headers, ask)
        try:
            yield answer
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()

    async def _let_in(
        self, send: Callable[[Mapping[str, str]], Awaitable[httpx2.Response]], headers: Mapping[str, str], ask: bool
    ) -> httpx2.Response:
        for _ in range(_TRIES):
            token = await self._credentials.token()
            shown = {} if token is None else {"authorization": f"Bearer {token}"}
            answer = await send({**headers, **shown})
            if answer.status_code not in (401, 403):
                return answer
            try:
                again = await self._credentials.renewed(token, answer, ask=ask)
            except BaseException:
                await answer.aclose()
                raise
            if not again:
                return answer
            await answer.aclose()
        raise Failed(f"{self.shown} refuses what the sign-in gave; ask its operator whether you may use it")

    async def _followed(
        self, method: str, headers: Mapping[str, str], *, content: str | None, pauses: tuple[float, ...]
    ) -> httpx2.Response:
        url = self.url
        for _ in range(_REDIRECTS + 1):
            answer = await self._connected(self._client.build_request(method, url, headers=dict(headers), content=content), pauses)
            place = answer.headers.get("location")
            if not answer.is_redirect or place is None:
                return answer
            await answer.aclose()
            url = self._within(url, place, kept=method == "GET" or answer.status_code in (307, 308))
        raise Failed(f"{self.shown} leads round in a circle")

    def _within(self, url: httpx2.URL, place: str, *, kept: bool) -> httpx2.URL:
        """Where a redirect leads, if credentials may follow it there."""
        try:
            found = url.join(place)
        except (httpx2.InvalidURL, ValueError):
            raise Failed(f"{self.shown} redirects to what is no address") from None
        same = (found.scheme, found.host, found.port) == (self.url.scheme, self.url.host, self.url.port)
        if same and kept and not found.userinfo:
            return found
        shown = found.copy_with(userinfo=b"", query=None, fragment=None)
        raise Failed(f"{self.shown} redirects to {shown}, which is not followed; if you mean that server, connect to it by that address")

    async def _connected(self, request: httpx2.Request, pauses: tuple[float, ...]) -> httpx2.Response:
        for pause in (*pauses, None):
            try:
                return await self._client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if pause is None:
                    raise Failed(f"{self.shown} cannot be reached ({_cause(error)}); try again when it is there") from error
                await anyio.sleep(pause)
        raise AssertionError

    @property
    def shown(self) -> str:
        """Its address for people."""
        return str(self.url.copy_with(query=None))


def _cause(error: Exception) -> str:
    return str(error) or type(error).__name__
