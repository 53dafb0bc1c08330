"""What an authorization server keeps: people, the clients that registered, codes, and what it gave."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin
from authlib.oidc.core import AuthorizationCodeMixin


@dataclass(slots=True, kw_only=True)
class Member:
    """Somebody who can sign in."""

    name: str
    password: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    """In each token of theirs, ID tokens included: `groups` and the like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """Who signed in, and what for. What the library calls a user."""

    member: Member
    resource: str | None
    """RFC 8707: where the token is meant to be used."""

    def get_user_id(self) -> str:
        return self.member.name


@dataclass(slots=True, kw_only=True)
class Registered(ClientMixin):
    """A client. Without a secret it is a public one."""

    id: str
    redirects: list[str]
    secret: str | None = None
    grants: list[str] = field(default_factory=lambda: ["authorization_code", "refresh_token"])
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def get_client_id(self) -> str:
        return self.id

    def get_default_redirect_uri(self) -> str:
        return self.redirects[0]

    def get_allowed_scope(self, scope: Any) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.redirects

    def check_client_secret(self, client_secret: str) -> bool:
        return self.secret is not None and secrets.compare_digest(self.secret, client_secret)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return (method == "none") is (self.secret is None)

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grants


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(AuthorizationCodeMixin):
    """What the browser carries back. Good once, and for a minute."""

    code: str
    client_id: str
    redirect_uri: str
    scope: str
    granted: Granted
    code_challenge: str | None
    code_challenge_method: str | None
    nonce: str | None
    made_at: float

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> int:
        return int(self.made_at)


@dataclass(slots=True, kw_only=True)
class Given(TokenMixin):
    """An access token and the refresh token beside it."""

    access: str
    refresh: str | None
    client_id: str
    scope: str
    granted: Granted
    ends_at: float
    revoked: bool = False
    """The whole of it."""
    spent: bool = False
    """Its refresh token has been used."""

    def check_client(self, client: ClientMixin) -> bool:
        return client.get_client_id() == self.client_id

    def get_scope(self) -> str:
        return self.scope

    def get_expires_in(self) -> int:
        return int(self.ends_at - time.time())

    def is_expired(self) -> bool:
        return self.ends_at < time.time()

    def is_revoked(self) -> bool:
        return self.revoked

    def get_user(self) -> Granted:
        return self.granted
