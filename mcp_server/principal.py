"""Who is calling.

A principal is not a connection and not a session: many of both may belong to one.
Below it is nothing of ours; everything that stores or looks up takes one.
"""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrincipal:
    """The operating-system user who started the server (stdio, or loopback HTTP without authentication)."""

    @property
    def key(self) -> str:
        """The form that is stored and compared."""
        return "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrincipal:
    """A caller known by a verified token: issuer, subject and client."""

    issuer: str
    subject: str
    client: str

    @property
    def key(self) -> str:
        """The form that is stored and compared. JSON, so that no field can run into the next."""
        return json.dumps([self.issuer, self.subject, self.client], separators=(",", ":"))


Principal = LocalPrincipal | TokenPrincipal

LOCAL = LocalPrincipal()
