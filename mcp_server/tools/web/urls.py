"""A web address in the one form that is judged, asked for and shown. What could be read in two ways is refused.

Pure. Whether the address may be reached is for the rules, and for `hosts`.
"""

import ipaddress
import posixpath
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes, urlsplit

import idna

from mcp_server.errors import ToolFailure

LONGEST = 4096
"""Characters. A person who is asked must be able to read it."""

PORTS = {"http": 80, "https": 443}

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_IN_PATH = "/:@!$&'()*+,;=%~"
_IN_QUERY = _IN_PATH + "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """Where something is on the web."""

    scheme: str
    """`http` or `https`."""
    host: str
    """A name in lower-case ASCII without a dot at its end, or a number address without brackets."""
    port: int
    path: str
    """Begins with `/`; no dot segments; escapes that stand for plain characters are those."""
    query: str | None

    @property
    def authority(self) -> str:
        """Host and, unless it is the scheme's own, port: what `Host` says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def target(self) -> str:
        """What a server is asked for."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def text(self) -> str:
        """The whole."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def folded(self) -> str:
        """The whole with what some servers take for the same path: doubled slashes as one, escaped ones as such."""
        path = posixpath.normpath(unquote_to_bytes(self.path).decode(errors="surrogateescape")).lstrip("/")
        ends = "/" if self.path.endswith("/") and path else ""
        plain = quote(path.encode(errors="surrogateescape"), safe=_IN_PATH.replace("%", ""))
        query = "" if self.query is None else f"?{self.query}"
        return f"{self.scheme}://{self.authority}/{plain}{ends}{query}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Who answers."""
        return self.scheme, self.host, self.port


def read_url(text: str) -> Url:
    """The address that the text is.

    Raises:
        ToolFailure: It is none, or one that could be read in two ways.
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise ToolFailure(f"the address has {len(text):,} characters; at most {LONGEST:,} are taken")
    if _UNFIT.search(text):
        raise ToolFailure("the address holds white space, a control character or a backslash; write those as %20 and the like")
    try:
        text.encode()
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ToolFailure(f"that is no address: {error}") from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not text[len(scheme) :].startswith("://"):
        raise ToolFailure("only whole http and https addresses can be fetched, for example https://example.org/page")
    if "@" in parts.netloc:
        raise ToolFailure("the address holds a user or a password; leave them out")
    if port == 0:
        raise ToolFailure("port 0 is no port")
    return Url(
        scheme=scheme,
        host=read_host(parts.hostname or ""),
        port=port or PORTS[scheme],
        path=_without_dots(_escaped(parts.path, _IN_PATH) or "/"),
        query=_escaped(parts.query, _IN_QUERY) if "?" in text.split("#")[0] else None,
    )


def read_host(text: str) -> str:
    """A host's one form.

    Raises:
        ToolFailure: It is no host.
    """
    if ":" in text:
        return _six(text)
    try:
        name = (text if text.isascii() else idna.encode(text, uts46=True, std3_rules=False).decode()).lower()
    except idna.IDNAError as error:
        raise ToolFailure(f"`{text}` is no host name: {error}") from None
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ToolFailure(f"`{text}` is no host name")
    if _NUMERIC.fullmatch(labels[-1]):
        return _four(name)
    return name


def _four(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise ToolFailure(f"`{text}` is no host name, and as a number not in the usual form; write four numbers: 192.0.2.1") from None


def _six(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise ToolFailure(f"`{text}` is no IPv6 address") from None
    if address.scope_id is not None:
        raise ToolFailure(f"`{text}` names a zone, which only this machine understands")
    return str(address)


def _escaped(text: str, safe: str) -> str:
    """Escapes for what must be escaped, none for what need not be, all in capitals."""

    def one(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character in _UNRESERVED else found[0].upper()

    whole = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text)
    return quote(_ESCAPE.sub(one, whole), safe=safe)


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)
