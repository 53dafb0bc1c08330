"""What a gateway says of itself to those who are not known yet: the resource's metadata (RFC 9728), and how a refusal is worded."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse, Response

from mcp_server.settings.gateway import Gateway

WELL_KNOWN = "/.well-known/oauth-protected-resource"

REFUSED = "The token is missing, or does not count here. Sign in again, or ask who runs this gateway."
"""For every token alike: why one does not count is for the log."""

SHORT = "The token does not reach so far. Sign in again with the scopes that are named."


def metadata(gateway: Gateway) -> Mapping[str, Any]:
    """The document by which a client finds where to sign in."""
    scopes = sorted({*gateway.scopes.required, *(scope for tool in gateway.scopes.tools.values() for scope in tool)})
    return {
        "resource": gateway.url,
        "authorization_servers": [one.issuer for one in gateway.issuers],
        **({"scopes_supported": scopes} if scopes else {}),
        "bearer_methods_supported": ["header"],
        "resource_name": "Remit",
    }


def metadata_paths(url: str) -> tuple[str, str]:
    """Where it is found: for the resource's own path, and for clients that look at the root."""
    return f"{WELL_KNOWN}{urlsplit(url).path}", WELL_KNOWN


def metadata_url(url: str) -> str:
    """The first of the two, whole."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{metadata_paths(url)[0]}"


def unknown(gateway: Gateway, *, token_given: bool) -> Response:
    """401: who are you?"""
    said = _challenge(gateway, gateway.scopes.required, error="invalid_token" if token_given else None, text=REFUSED)
    return JSONResponse({"error": "invalid_token", "error_description": REFUSED}, 401, {"www-authenticate": said})


def too_narrow(gateway: Gateway, scopes: Collection[str]) -> Response:
    """403: known, but not for this; `scopes` would do."""
    said = _challenge(gateway, scopes, error="insufficient_scope", text=SHORT)
    body = {"error": "insufficient_scope", "error_description": SHORT, "scope": " ".join(scopes)}
    return JSONResponse(body, 403, {"www-authenticate": said})


def _challenge(gateway: Gateway, scopes: Collection[str], *, error: str | None, text: str) -> str:
    parts = [f'resource_metadata="{metadata_url(gateway.url or "")}"']
    if error is not None:
        parts = [f'error="{error}"', f'error_description="{text}"', *parts]
    if scopes:
        parts.append(f'scope="{" ".join(scopes)}"')
    return f"Bearer {', '.join(parts)}"
