"""URIs of other servers' resources. Most can be written in several ways: what a rule denies must not be had by another spelling."""

import re
from urllib.parse import unquote

MOST_TIMES = 5
"""How often escapes are read that stand for escapes. Nobody needs a second time; servers that do it twice are known."""


def climbs(uri: str) -> bool:
    """Its path holds `.` or `..`, however that is written, so that where it leads is known to its server alone."""
    path = re.split(r"[?#]", uri, maxsplit=1)[0]
    plain = _unescaped(path)
    return unquote(plain) != plain or any(part.partition(";")[0] in (".", "..") for part in plain.split("/"))


def spellings(uri: str) -> tuple[str, ...]:
    """Other ways to write it, as somebody would who writes a rule: for denies and asks, beside the URI as it is."""
    scheme, colon, rest = _unescaped(uri).partition(":")
    if not colon:
        return ()
    scheme = scheme.lower()
    authority, path = ("", rest) if not rest.startswith("//") else _parted(rest[2:])
    if scheme == "file" and authority.lower() == "localhost":
        authority = ""
    path = re.sub(r"/+", "/", path)
    whole = path.startswith("/") or authority
    forms = [f"{scheme}://{each}{path}" if whole else f"{scheme}:{path}" for each in (authority, authority.lower())]
    return tuple(form for form in dict.fromkeys(forms) if form != uri)


def _parted(rest: str) -> tuple[str, str]:
    authority, slash, path = rest.partition("/")
    return authority, f"{slash}{path}"


def _unescaped(text: str) -> str:
    for _ in range(MOST_TIMES):
        plain = unquote(text)
        if plain == text:
            break
        text = plain
    return text.replace("\\", "/")
