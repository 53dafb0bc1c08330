"""The panel's document: one HTML file that loads nothing, put together from files when it is first asked for."""

import base64
import hashlib
from functools import cache
from pathlib import Path

FILES = Path(__file__).parent / "static"
STYLES = ("console.css", "panel.css")
SCRIPTS = ("cards.js", "panel.js")

BODY = """<main id="main">
<h1 class="brand">Remit</h1>
<p id="count" aria-live="polite">Looking for what waits for you.</p>
<div id="inbox"></div>
<p id="more" hidden></p>
<p id="live" role="status" class="live"></p>
<div class="tools">
<button id="again" type="button" hidden>Look again</button>
<button id="go-on" type="button" hidden>Tell the model to go on</button>
</div>
</main>"""


@cache
def document() -> str:
    """The whole of it. Its own policy is stricter than the one that hosts make: nothing but the very style and script in it."""
    style, script = _joined(STYLES), _joined(SCRIPTS)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_mark(script)}'",
            f"style-src '{_mark(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Remit asks you</title>'
        f'<style>{style}</style></head><body class="panel">\n{BODY}\n<script>{script}</script></body></html>\n'
    )


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join((FILES / name).read_text(encoding="utf-8") for name in names)


def _mark(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
