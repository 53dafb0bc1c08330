"""Unguessable ids: `ses_…`, `run_…`, `prm_…`. An id is a handle, never a right: each look-up checks the principal as well."""

import base64
import hashlib
import re
import secrets

RANDOM_BYTES = 20
"""160 bits: above the 128 that a handle must have, and a whole number of base32 letters, so that no padding is needed."""

_LETTERS = RANDOM_BYTES * 8 // 5
_KIND = re.compile(r"[a-z]{2,8}")
_RANDOM = re.compile(rf"[a-z2-7]{{{_LETTERS}}}")


def mint(kind: str) -> str:
    """A new id from the system's random source: the kind, `_`, 32 letters and digits. Fits every tool-name and file-name rule.

    Raises:
        ValueError: The kind is not two to eight small letters.
    """
    if _KIND.fullmatch(kind) is None:
        raise ValueError(f"not a kind of id: {kind!r}")
    return f"{kind}_{base64.b32encode(secrets.token_bytes(RANDOM_BYTES)).decode().lower()}"


def derive(kind: str, seed: bytes) -> str:
    """The id that belongs to `seed`, the same each time; as unguessable as the seed is."""
    if _KIND.fullmatch(kind) is None:
        raise ValueError(f"not a kind of id: {kind!r}")
    mark = hashlib.sha256(kind.encode() + b"\0" + seed).digest()[:RANDOM_BYTES]
    return f"{kind}_{base64.b32encode(mark).decode().lower()}"


def is_id(kind: str, text: str) -> bool:
    """Whether `text` has the form of an id of that kind. Says nothing about whether there is such a thing, or whose it is."""
    head, _, tail = text.partition("_")
    return head == kind and _RANDOM.fullmatch(tail) is not None
