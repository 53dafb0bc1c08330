"""What a request's token showed, and how the refusal of one is kept apart from what its sender is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_server.errors import RemitError
from mcp_server.principal import TokenPrincipal

VERIFIED = "remit.verified"
"""The key in an ASGI scope under which a `Verified` stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A caller whose token was checked for this very request. It holds no token."""

    principal: TokenPrincipal
    scopes: frozenset[str]
    claims: Mapping[str, Any]
    """As the issuer said them; empty for an API key."""
    issued_at: float = 0.0
    """Seconds since the epoch; 0: an API key, of which no issuer says anything."""
    expires_at: float | None
    """Seconds since the epoch from which on no request passes with this token. None: an API key without an end."""


class Refused(RemitError):
    """The token does not count. `str(error)` is the reason, for the log alone: whoever sent it is told one wording for all."""
