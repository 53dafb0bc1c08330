"""The person's sign-in: OAuth 2.1 with PKCE by the MCP SDK's own flow, their browser, and what it gave kept for the next start.

The flow is driven by hand, beside the requests that need it: as the SDK has it, one lock is held while a request waits for its answer, a
token from an earlier start is never known to be out of date, and a refresh goes to the server's own address.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import anyio
import httpx2

from mcp_server.connect.kept import KeptSignIn
from mcp_server.connect.loopback import door
from mcp_server.connect.reaching import Failed
from mcp_server.protocol.sign_in.given import REVOKE_SECONDS, NotGiven, Pass, SignedIn, revoke

SIGN_IN_SECONDS = 300.0
"""For the person, from the opened page on. Hosts give up sooner; the browser may still be brought to its end then."""


class Passes(Protocol):
    """Begins one. Passed in, because what does it loads the SDK, and most starts need none of it."""

    def __call__(self, url: str, held: SignedIn | None, *, client_id: str | None) -> Pass:
        """`held`: what an earlier one gave."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How a sign-in is done."""

    passes: Passes
    say: Callable[[str], None]
    """Told lines for the person."""
    browse: Callable[[str], None]
    """Opens an address in the person's browser, if there is one, and does not wait for it."""
    client_id: str | None
    """A client that the operator registered, or the https address of its metadata document; None: the bridge registers itself."""
    port: int
    """Of the redirect address; 0: a free one."""


class SignIn:
    """Credentials of a person."""

    def __init__(self, url: str, state: Path, ways: Ways) -> None:
        self._url = url
        self._kept = KeptSignIn(url, state)
        self._ways = ways
        self._busy = anyio.Lock()
        self._now: SignedIn | None = None
        self._failed: Failed | None = None

    async def token(self) -> str | None:
        """The access token, refreshed before it ends; None: nobody has signed in."""
        held = self._now or self._read()
        self._now = held
        if held is None:
            return None
        if held.ends_soon and held.refreshable:
            async with self._busy, self._kept.alone():
                await self._refreshed(held.access_token)
        return None if self._now is None else self._now.access_token

    async def renewed(self, sent: str | None, answer: httpx2.Response, *, ask: bool) -> bool:
        """Another token than `sent`: one that another bridge has got meanwhile, a refreshed one, or one from a new sign-in.

        Raises:
            Failed: The person did not sign in, or the issuer gave nothing.
        """
        more = answer.status_code == 403
        if more and "insufficient_scope" not in answer.headers.get("www-authenticate", ""):
            return False
        failed = self._failed
        async with self._busy, self._kept.alone():
            if self._changed(sent) or (not more and await self._refreshed(sent)):
                return True
            if not ask:
                return False
            if self._failed is not None and self._failed is not failed:
                raise Failed(str(self._failed))  # others waited for the same person, who is not asked again for each of them
            await self._signed_in(answer)
            return True

    async def sign_out(self) -> bool:
        """Give the tokens back and forget them. Were there any?"""
        async with self._busy, self._kept.alone():
            held = self._read()
            if held is not None:
                async with httpx2.AsyncClient(follow_redirects=False, timeout=REVOKE_SECONDS) as client:
                    await revoke(held, client.send)
            self._now = None
            return self._kept.forget()

    def _read(self) -> SignedIn | None:
        """What is kept, if it is of the client that is asked for now."""
        held = self._kept.read()
        named = self._ways.client_id
        return None if held is None or (named is not None and held.client.get("client_id") != named) else held

    def _changed(self, sent: str | None) -> bool:
        """Has another bridge got a token meanwhile?"""
        held = self._read()
        if held is None or held.access_token == sent:
            return False
        self._now = held
        return True

    async def _refreshed(self, sent: str | None) -> bool:
        """Get a token in place of `sent` without the person, if there is a way."""
        if self._changed(sent):
            return True
        held = self._now
        if held is None or not held.refreshable:
            return False
        try:
            self._keep(await self._ways.passes(self._url, held, client_id=self._ways.client_id).refresh())
        except NotGiven:
            return False
        return True

    async def _signed_in(self, answer: httpx2.Response) -> None:
        held = self._read()
        try:
            with anyio.fail_after(SIGN_IN_SECONDS):
                self._keep(await self._asked_for(answer, held))
        except TimeoutError:
            self._failed = Failed(f"nobody signed in within {SIGN_IN_SECONDS / 60:.0f} minutes; {self._remedy}")
            raise self._failed from None
        except NotGiven as error:
            self._failed = Failed(f"the sign-in failed: {error}; {self._remedy}")
            raise self._failed from error
        self._ways.say("signed in")

    async def _asked_for(self, answer: httpx2.Response, held: SignedIn | None) -> SignedIn:
        """A client that registered itself did so for one redirect address: the same port again, or another client."""
        async with AsyncExitStack() as stack:
            try:
                opened = await stack.enter_async_context(door(self._ways.port or (_port(held))))
            except OSError as error:
                if self._ways.port:
                    raise NotGiven(f"port {self._ways.port} of this machine is taken") from error
                opened, held = await stack.enter_async_context(door(0)), None
            return await self._ways.passes(self._url, held, client_id=self._ways.client_id).sign_in(answer, opened, self._show)

    async def _show(self, address: str) -> None:
        """Bring the person to the issuer's page."""
        self._ways.say(f"to sign in to {self._url}, open this page: {address}")
        self._ways.browse(address)

    def _keep(self, signed_in: SignedIn) -> None:
        self._now = signed_in
        try:
            self._kept.write(signed_in)
        except OSError as error:
            self._ways.say(f"the sign-in could not be kept for the next start: {error.strerror}")

    @property
    def _remedy(self) -> str:
        return f"run `remit connect {self._url} --sign-in` in a terminal"


def _port(held: SignedIn | None) -> int:
    """Where the browser came back to before; 0: any."""
    return 0 if held is None else urlsplit(held.redirect).port or 0
