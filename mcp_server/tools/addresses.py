"""Addresses that commands name, in the one form that rules are compared with."""

import re

from mcp_server.tools.web.urls import PORTS, read_url

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_USER = re.compile(r"(?<=://)[^/?#@]*@")


def normalised(text: str) -> str:
    """As `webfetch` would ask for it; without a scheme it is `http`, as clients take it, and a user in it is left out.
    Of other schemes than the web's the scheme and host are small.

    Raises:
        ToolFailure: It is no address, or one that could be read in two ways.
    """
    whole = text if _SCHEME.match(text) else f"http://{text}"
    plain = _USER.sub("", whole, count=1)
    found = _SCHEME.match(plain)
    if found is not None and found.group(1).lower() in PORTS:
        return read_url(plain).text
    scheme, _, rest = plain.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}"
