"""The page at which people of a gateway sign in to its console, and the ones that say why they could not."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.responses import HTMLResponse

from mcp_server.gateway.frame import bare
from mcp_server.gateway.html import Child, Html, el

TITLE = "Sign in"

KEY_REFUSED = (
    "That key does not count here, or too many were tried from where you are. Look whether it is whole; after several tries, wait a "
    "quarter of an hour."
)
"""For every key alike: why one does not count is for the log."""

OLD_FORM = "The page was too old, or not this browser's own. Try once more."

FAILED = (
    "The sign-in at {issuer} came to nothing. Begin it again here. Where that does not help, ask who runs this gateway: why is in its log."
)
UNREACHED = "{issuer} cannot be reached at the moment, or its answer is of no use. Nothing was changed; try again in a minute."

SAID: Mapping[str, str] = {
    "access_denied": "{issuer} did not let you in, or you said no there.",
    "login_required": "{issuer} wants you to sign in there first.",
    "consent_required": "{issuer} wants you to agree first.",
    "temporarily_unavailable": "{issuer} is busy; try again in a minute.",
    "server_error": "{issuer} had a fault of its own; try again in a minute.",
}
"""What an issuer says in the place of a code (RFC 6749, 4.1.2.1). Its own words are not shown: whoever makes the address chooses them."""

NO_PART = "You have signed in, but nobody has given you a part in this gateway. Ask who runs it."

SIGNED_OUT = "You have signed out of this console. At the place where you sign in you may still be signed in."


def sign_in_page(door: str, *, issuer: str | None, back: str, form_key: str, note: str = "", status: int = 200) -> HTMLResponse:
    """The page. `issuer`: its name for people, where they can sign in at one. `back`: the path of the page that is wanted."""
    body: list[Child] = [el("h1", None, "Sign in to Remit")]
    if note:
        body.append(el("p", {"class": "note", "role": "alert"}, note))
    if "/prompts/" in back:
        body.append(
            el("p", None, "A prompt waits behind this page, for the person whose it is. You are brought to it once you have signed in.")
        )
    if issuer is not None:
        start = f"/{door}/sign-in/start?{urlencode({'next': back})}"
        body.append(el("p", None, el("a", {"href": start, "class": "button", "id": "start"}, f"Sign in at {issuer}")))
    return bare(TITLE, door, *body, _by_key(door, back, form_key, also=issuer is not None), status=status)


def _by_key(door: str, back: str, form_key: str, *, also: bool) -> Html:
    field = {"id": "api-key", "name": "api_key", "type": "password", "maxlength": "200", "autocomplete": "off", "required": True}
    return el(
        "form",
        {"method": "post", "action": f"/{door}/sign-in", "class": "sign-in"},
        el("h2", None, "Or with an API key" if also else "With an API key"),
        el("p", {"class": "when"}, "It shows what the machine that has the key did and asks, and what roles its name was given open."),
        el("input", {"type": "hidden", "name": "key", "value": form_key}),
        el("input", {"type": "hidden", "name": "next", "value": back}),
        el("p", None, el("label", {"for": "api-key"}, "API key"), el("input", field)),
        el("button", {"type": "submit"}, "Sign in with the key"),
    )


def told(door: str, title: str, words: str, status: int) -> HTMLResponse:
    """A page of a few words, with the way to the sign-in."""
    again = el("p", None, el("a", {"href": f"/{door}/"}, "To the console"))
    return bare(title, door, el("h1", None, title), el("p", None, words), again, status=status)
