"""Signed tokens and the keys that check them, over PyJWT: one token against one key, and which keys of a set may serve at all.

Who signed, and where keys come from, is not known here.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mcp_server.gateway.verified import Refused

if TYPE_CHECKING:
    from jwt import PyJWK

LEEWAY = 30.0
"""Seconds by which two clocks may differ."""

MOST_KEYS = 100
"""Of one set that are looked at."""

RSA_BITS = 2048
"""Of an RSA key at least (RFC 7518, 3.3)."""

TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""What a token may say it is. Not, for example, `logout+jwt`, which the same issuer signs with the same key."""

IDENTITY = frozenset({"jwt"})
"""What an ID token may say it is."""

_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What of a token's header is read. That it may name keys of its own (`jwk`, `jku`, `x5u`, `x5c`) is not: nobody vouches for itself."""

    algorithm: str
    key_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a token must say."""

    issuer: str
    audience: str
    max_lifetime: float


def prepare() -> None:
    """Load what checks tokens, so that the first request does not wait for it."""
    import jwt  # noqa: PLC0415 - a second to load, and only a gateway needs it

    jwt.get_algorithm_by_name("RS256")


def claimed_issuer(token: str) -> str:
    """Whose a token says it is: nothing is proven by it, but whose keys to try.

    Raises:
        Refused: It says nothing that can be read.
    """
    import jwt  # noqa: PLC0415 - as in `prepare`

    try:
        said = jwt.decode(token, options={"verify_signature": False}).get("iss")
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise Refused("it is no signed token") from error
    if not isinstance(said, str):
        raise Refused("it names no issuer")
    return said


def head_of(token: str, allowed: Sequence[str], *, kinds: Collection[str] = TYPES) -> Head:
    """A token's header, if it is one that may be gone by. `kinds`: what it may say it is.

    Raises:
        Refused: It is not.
    """
    import jwt  # noqa: PLC0415 - as in `prepare`

    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise Refused("its header cannot be read") from error
    algorithm, kind, key_id = header.get("alg"), header.get("typ", "JWT"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in allowed:
        raise Refused("it is signed in a way that its issuer's settings do not allow")
    if not isinstance(kind, str) or kind.lower() not in kinds:
        raise Refused("it is a token for something else")
    if "crit" in header or "b64" in header:
        raise Refused("its header demands something that is not known here")
    if key_id is not None and (not isinstance(key_id, str) or len(key_id) > 256):
        raise Refused("its key's name is none")
    return Head(algorithm=algorithm, key_id=key_id)


def usable(keys: object) -> tuple[Mapping[str, Any], ...]:
    """Of a published set, the public keys for signatures."""
    listed = cast("list[object]", keys)[:MOST_KEYS] if isinstance(keys, list) else []
    maps = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
    return tuple(one for one in maps if _signs(one))


def _signs(one: Mapping[str, Any]) -> bool:
    operations = one.get("key_ops")
    return (
        one.get("use", "sig") == "sig"
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
        and not _PRIVATE & set(one)
    )


def fitting(keys: Iterable[Mapping[str, Any]], head: Head) -> tuple[Mapping[str, Any], ...]:
    """Those that may have signed a token with that header. One without a key's name is tried with the only key of its kind."""
    kind, curve = _KINDS[head.algorithm[:2]], _CURVES.get(head.algorithm)
    return tuple(
        one
        for one in keys
        if one.get("kty") == kind
        and (curve is None or one.get("crv") == curve)
        and one.get("alg", head.algorithm) == head.algorithm
        and (head.key_id is None or one.get("kid") == head.key_id)
    )


def verified_claims(token: str, head: Head, key: Mapping[str, Any], demand: Demand) -> Mapping[str, Any]:
    """The claims of a token that this key signed and that means us.

    Raises:
        Refused: It did not, or does not.
    """
    import jwt  # noqa: PLC0415 - as in `prepare`

    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key(key, head),
            algorithms=[head.algorithm],
            audience=demand.audience,
            issuer=demand.issuer,
            leeway=LEEWAY,
            options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
        )
        lasts = life_of(claims, time.time())
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise Refused(f"it does not stand up: {type(error).__name__}") from error
    if not 0 < lasts <= demand.max_lifetime + LEEWAY:
        raise Refused("it lives longer than its issuer's settings allow")
    return claims


def life_of(claims: Mapping[str, Any], now: float) -> float:
    """Seconds. Of one that does not say since when it counts: what is left is all that can be told."""
    return float(claims["exp"]) - float(claims.get("iat", now - LEEWAY))


def _key(key: Mapping[str, Any], head: Head) -> "PyJWK":
    import jwt  # noqa: PLC0415 - as in `prepare`

    made = jwt.PyJWK(dict(key), algorithm=head.algorithm)
    if key.get("kty") == "RSA" and made.key.key_size < RSA_BITS:
        raise Refused(f"its issuer's key has fewer than {RSA_BITS} bits")
    return made
