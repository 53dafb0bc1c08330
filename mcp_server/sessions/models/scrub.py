"""Takes secrets out of texts that come from outside, before anybody reads them, and bounds them."""

import re
from collections.abc import Iterable, Mapping

HIDDEN = "[secret]"
SHORTEST = 6
"""A shorter value is no secret worth the name, and taking out every `on` or `1` would garble the text."""
LONGEST_TEXT = 500
"""Characters of a provider's message that are shown: room for any reason, none for a web page."""

LONGEST_READ = 20_000
"""Characters that are looked at, once known secrets are out: no error is longer, and what is cut off is not shown either."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_FORM = re.compile(
    r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}|\b(sk|pk|rk|xai|gsk|key)-[A-Za-z0-9_*-]{6,}|\bAIza[A-Za-z0-9_-]{20,}"
)
_URL_LOGIN = re.compile(r"://[^/\s@]+@")


def secrets_of(environment: Mapping[str, str], *keys: str | None) -> tuple[str, ...]:
    """Values that must never be shown: the keys, and what the environment holds under a telling name."""
    values = {value for name, value in environment.items() if _SECRET_NAME.search(name)}
    values.update(key for key in keys if key)
    return tuple(sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True))


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """`text` on one line, without secrets or anything that looks like one, shortened."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    text = text[:LONGEST_READ]
    text = _URL_LOGIN.sub(f"://{HIDDEN}@", _SECRET_FORM.sub(HIDDEN, text))
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
