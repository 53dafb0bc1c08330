"""Tokens for servers behind a gateway that its own issuer gives in exchange for the one that a caller came with (RFC 8693). Nothing of it
is stored: without a caller's token of late there is none.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
from pydantic import SecretStr

from mcp_server.protocol.sign_in.flow import Way
from mcp_server.protocol.sign_in.given import EARLY, NotGiven
from mcp_server.protocol.upstream.vault import Holder

GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a kind's name

USUAL_SECONDS = 60.0
"""How long a token counts here of which the issuer does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanger:
    """Where tokens are exchanged, and for what."""

    endpoint: str
    """The issuer's token endpoint."""
    client_id: str
    client_secret: SecretStr
    audience: str | None
    """Whom the issuer knows the server as; None: by its address (`resource`, RFC 8707)."""
    scope: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Got:
    subject: str = field(repr=False)
    """What it was given for."""
    token: str = field(repr=False)
    until: float


class Exchange:
    """One server's. See `Tokens`.

    Args:
        at: Where and for what.
        subject: By a holder's principal, the token that they came with last; None: none that still counts.
        way: To the issuer.
        clock: Seconds since the epoch.
    """

    def __init__(self, at: Callable[[], Exchanger], subject: Callable[[str], str | None], way: Way, clock: Callable[[], float]) -> None:
        self._at = at
        self._subject = subject
        self._way = way
        self._clock = clock
        self._got: dict[Holder, _Got] = {}
        self._turns: dict[Holder, anyio.Lock] = {}

    async def token(self, holder: Holder) -> str | None:
        """One that will not end on its way; None: the person has no token here, or the issuer gives none for it."""
        return await self._one(holder, instead_of=None)

    async def renewed(self, holder: Holder, sent: str) -> str | None:
        """Another one than was sent."""
        return await self._one(holder, instead_of=sent)

    async def _one(self, holder: Holder, *, instead_of: str | None) -> str | None:
        async with self._turns.setdefault(holder, anyio.Lock()):
            subject, got = self._subject(holder.principal), self._got.get(holder)
            if subject is None:
                self._got.pop(holder, None)
                return None
            if got is not None and got.subject == subject and got.token != instead_of and got.until - EARLY > self._clock():
                return got.token
            try:
                fresh = await self._exchanged(holder, subject)
            except NotGiven:
                self._got.pop(holder, None)
                return None
            self._got[holder] = fresh
            return fresh.token

    async def _exchanged(self, holder: Holder, subject: str) -> _Got:
        at = self._at()
        asked = {"grant_type": GRANT, "subject_token": subject, "subject_token_type": ACCESS_TOKEN, "requested_token_type": ACCESS_TOKEN}
        asked |= {"audience": at.audience} if at.audience else {"resource": holder.address}
        asked |= {"scope": at.scope} if at.scope else {}
        request = httpx2.Request("POST", at.endpoint, data=asked, headers={"accept": "application/json"})
        # encoded as RFC 6749, 2.3.1 wants it
        login = httpx2.BasicAuth(quote(at.client_id, safe=""), quote(at.client_secret.get_secret_value(), safe=""))
        request = next(login.sync_auth_flow(request))
        try:
            async with self._way() as send:
                answer = await send(request)
        except httpx2.HTTPError as error:
            raise NotGiven(f"the issuer cannot be reached ({type(error).__name__})") from None
        return self._read(answer, subject)

    def _read(self, answer: httpx2.Response, subject: str) -> _Got:
        try:
            said: dict[str, Any] = answer.json()
            token, kind, lasts = said["access_token"], said["token_type"], float(said.get("expires_in", USUAL_SECONDS))
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
            raise NotGiven(f"the issuer exchanged nothing: it answered {answer.status_code}") from None
        # Another kind would have to be sent in another way, and the caller's own token is for nobody but Remit.
        if answer.status_code != 200 or not isinstance(token, str) or str(kind).lower() != "bearer" or token == subject:
            raise NotGiven(f"the issuer exchanged nothing: it answered {answer.status_code}")
        return _Got(subject=subject, token=token, until=self._clock() + lasts)
