"""Addresses in the one form that rules are compared with."""

import posixpath
from urllib.parse import urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443, "ftp": 21, "ssh": 22}


def normalised(text: str) -> str:
    """Scheme and host small, the usual port, user and fragment left out, dots folded; without a scheme it is `http`.
    What is no address stays as it is: no allow is written for it.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return text
    if not host:
        return text
    scheme = parts.scheme.lower()
    host = f"[{host}]" if ":" in host else host.rstrip(".")
    netloc = host if port is None or port == _PORTS.get(scheme) else f"{host}:{port}"
    path = posixpath.normpath(parts.path) if parts.path else "/"
    path = f"/{path.lstrip('/')}"
    if parts.path.endswith("/") and not path.endswith("/"):
        path += "/"
    return urlunsplit((scheme, netloc, path, parts.query, ""))
