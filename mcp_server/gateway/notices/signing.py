"""The signature of a webhook, by the scheme of Standard Webhooks (`v1`: HMAC-SHA256), and the secret behind it."""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_server.errors import ConfigError, Fault

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64
"""Bytes of a secret, as the scheme has them."""

LARGEST_FILE = 4096
"""Bytes: several secrets, while one takes the other's place."""

_MAKE = 'make one: printf "whsec_%s\\n" "$(openssl rand -base64 32)"'


def signature(secrets: Sequence[bytes], event_id: str, at: int, body: bytes) -> str:
    """What the header `webhook-signature` says: one for each secret. `at`: whole seconds since the epoch."""
    signed = b".".join((event_id.encode(), str(at).encode(), body))
    made = (hmac.new(secret, signed, hashlib.sha256).digest() for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(each).decode()}" for each in made)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSource:
    """Where the secrets are read, anew each time: one can take the other's place while a server runs."""

    file: Path | None
    variable: str | None
    environment: Mapping[str, str]

    def __call__(self) -> tuple[bytes, ...]:
        """At least one.

        Raises:
            ConfigError: There is none, it is none, or others may read it.
        """
        if self.file is not None:
            text, where = _read(self.file), str(self.file)
        else:
            text, where = self.environment.get(self.variable or "", ""), f"the variable {self.variable}"
        words = text.split()
        if not words:
            raise _fault(where, "there is no secret for the webhook", _MAKE)
        return tuple(_secret(word, where) for word in words)


def _secret(word: str, where: str) -> bytes:
    try:
        found = base64.b64decode(word.removeprefix(PREFIX), validate=True) if word.startswith(PREFIX) else b""
    except (binascii.Error, ValueError):
        found = b""
    if not SHORTEST <= len(found) <= LONGEST:
        raise _fault(where, f"is no secret: {PREFIX} and {SHORTEST} to {LONGEST} bytes in base64", _MAKE)
    return found


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            if os.name == "posix" and os.fstat(opened.fileno()).st_mode & 0o077:
                raise _fault(str(file), "others may read this secret", f"run: chmod 600 {file}")
            raw = opened.read(LARGEST_FILE + 1)
        text = raw.decode("ascii")
    except OSError as error:
        raise _fault(str(file), f"the webhook's secret cannot be read: {error.strerror}", "make the file, readable for you alone") from None
    except UnicodeDecodeError:
        raise _fault(str(file), "holds no secret", _MAKE) from None
    if len(raw) > LARGEST_FILE:
        raise _fault(str(file), "holds more than secrets", _MAKE)
    return text


def _fault(where: str, problem: str, remedy: str) -> ConfigError:
    return ConfigError((Fault(file=where, line=None, problem=problem, remedy=remedy),))
