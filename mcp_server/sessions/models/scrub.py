"""Takes secrets out of texts that come from providers, before anybody reads them, and bounds them."""

from collections.abc import Iterable

from mcp_server.redaction import without, without_known_forms

LONGEST_TEXT = 500
"""Characters of a provider's message that are shown: room for any reason, none for a web page."""

LONGEST_READ = 20_000
"""Characters that are looked at, once known secrets are out: no error is longer, and what is cut off is not shown either."""


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """`text` on one line, without secrets or anything that looks like one, shortened."""
    text = without_known_forms(without(text, secrets)[:LONGEST_READ])
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
