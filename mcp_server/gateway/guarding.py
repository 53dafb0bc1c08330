"""What is looked at before any page: the host's name, where a post comes from; and what every answer tells the browser to forbid."""

from collections.abc import Collection
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Content security policy: files of ours from here, and nothing that stands in a page."""

HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def names_of(port: int) -> tuple[str, ...]:
    """What a browser may call this machine. Any other name leads here through somebody's name server."""
    return (f"127.0.0.1:{port}", f"localhost:{port}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """An application behind these checks."""

    app: ASGIApp
    hosts: Collection[str] | None
    """What the request's Host header may be; None: it was looked at before."""
    origin: str = ""
    """That of its own pages; empty: http and the host's name as the request has it, on this machine alone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        await (self.app if refusal is None else refusal)(scope, receive, sealed)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if self.hosts is not None and host.lower() not in self.hosts:
            return PlainTextResponse("this is not the name of a console here", 421)
        if method not in ("GET", "POST"):
            return PlainTextResponse("no such method here", 405)
        ours = headers.get("origin") == (self.origin or f"http://{host}") and headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if method == "POST" and not ours:
            return PlainTextResponse("answers are taken from the console's own pages only", 403)
        return None
