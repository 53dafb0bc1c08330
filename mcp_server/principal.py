"""Who is calling.

A principal is not a connection and not a session: many of both may belong to one.
Below it is nothing of ours; everything that stores or looks up takes one.
"""

import json
from dataclasses import dataclass

API_KEYS = "remit:keys"
"""The issuer of every API key's principal. No issuer of tokens can have this name: theirs are addresses."""


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

    @property
    def beginning(self) -> str:
        """What the keys of all programs of the same subject begin with, and no other's: issuer and subject, whole."""
        return json.dumps([self.issuer, self.subject], separators=(",", ":"))[:-1] + ","

    @property
    def names(self) -> tuple[str, str]:
        """Under which it is meant: as this very program, or as whoever it acts for, by whatever program."""
        return self.key, self.beginning

    @property
    def is_machine(self) -> bool:
        """Does a program act for itself? Its issuer then names the program as the subject (RFC 9068, 2.2); or it has a key of this
        server's own, whose issuer is no address.
        """
        return self.subject == self.client or not self.issuer.startswith(("https:", "http:"))


Principal = LocalPrincipal | TokenPrincipal

LOCAL = LocalPrincipal()


def is_machines(key: str) -> bool:
    """Is it the key of a program that acts for itself?"""
    principal = principal_of(key)
    return isinstance(principal, TokenPrincipal) and principal.is_machine


def principal_of(key: str) -> Principal:
    """The principal whose key it is."""
    if key == LOCAL.key:
        return LOCAL
    issuer, subject, client = json.loads(key)
    return TokenPrincipal(issuer=issuer, subject=subject, client=client)


def owner_of(key: str) -> str:
    """Whose things are kept for the principal of this key: a person's are theirs by whatever client, a machine's its own."""
    principal = principal_of(key)
    if isinstance(principal, TokenPrincipal) and not principal.is_machine:
        return json.dumps([principal.issuer, principal.subject], separators=(",", ":"))
    return key


def same_person(one: str, other: str) -> bool:
    """May these be the keys of one person? By whatever client; a machine that is called as somebody is taken for them: who must be
    somebody else is not, where that is not plain.
    """
    first, second = principal_of(one), principal_of(other)
    if isinstance(first, TokenPrincipal) and isinstance(second, TokenPrincipal):
        return first.beginning == second.beginning
    return first == second
