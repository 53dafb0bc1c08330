"""What people hold for servers behind Remit, sealed before the store gets it.

A seal names whom it is for: what was kept for one person, one server and one address opens for no other, whoever moves it in the store.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_server.store.credentials import Credentials

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_FORM = b"\x01"
"""Of what is sealed. Another one is another number."""

_NAME, _NONCE = 8, 12
"""Bytes of a key's name, and of what AES-GCM is to see once (NIST SP 800-38D, 8.2.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Whose, and for which server."""

    principal: str
    """As `owner_of` has it: a person signs in once, by whatever client they then call."""
    server: str
    """By its name in the settings."""
    address: str
    """Where that server is. A server that the settings moved is another one."""


class Vault:
    """Keeps credentials in a store that cannot read them.

    Args:
        store: Gets what is sealed.
        keys: Of 32 bytes each. The first one seals; the others only open what they sealed once.
        clock: Seconds since the epoch.
    """

    def __init__(self, store: Credentials, keys: Callable[[], Sequence[bytes]], clock: Callable[[], float]) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock

    async def keep(self, holder: Holder, credential: Mapping[str, Any]) -> None:
        """Keep it in place of what was there. `credential`: of JSON's types."""
        sealed = _sealed(self._keys()[0], holder, json.dumps(dict(credential)).encode())
        await self._store.keep_credential(holder.principal, holder.server, sealed, now=self._clock())

    async def get(self, holder: Holder) -> Mapping[str, Any] | None:
        """What is kept; None where there is nothing, and where none of the keys opens it for this holder."""
        sealed = await self._store.credential(holder.principal, holder.server)
        return None if sealed is None else _opened(self._keys(), holder, sealed)

    async def forget(self, holder: Holder) -> bool:
        """Remove it. False where there was none."""
        return await self._store.forget_credential(holder.principal, holder.server)


def _sealed(key: bytes, holder: Holder, content: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return _FORM + _name(key) + nonce + _cipher(key).encrypt(nonce, content, _bound_to(holder))


def _opened(keys: Sequence[bytes], holder: Holder, sealed: bytes) -> Mapping[str, Any] | None:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - loaded where a credential is used, by no other start

    form, name, nonce, content = _parts(sealed)
    key = next((one for one in keys if _name(one) == name), None)
    if form != _FORM or key is None or len(nonce) != _NONCE:
        return None
    try:
        return json.loads(_cipher(key).decrypt(nonce, content, _bound_to(holder)))
    except InvalidTag:
        return None


def _parts(sealed: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    after = 1 + _NAME
    return sealed[:1], sealed[1:after], sealed[after : after + _NONCE], sealed[after + _NONCE :]


def _name(key: bytes) -> bytes:
    return hashlib.sha256(b"remit credential key" + key).digest()[:_NAME]


def _bound_to(holder: Holder) -> bytes:
    return json.dumps([holder.principal, holder.server, holder.address]).encode()


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - likewise

    return AESGCM(key)
