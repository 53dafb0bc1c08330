"""The person's own browser."""

import threading
import webbrowser
from collections.abc import Callable

NONE = "no browser could be opened here; open the page yourself"


def browse(address: str, say: Callable[[str], None]) -> None:
    """Open it, if there is a browser. Not waited for: some last until the person closes them."""
    threading.Thread(target=_opened, args=(address, say), daemon=True).start()


def _opened(address: str, say: Callable[[str], None]) -> None:
    try:
        there = webbrowser.open(address)
    except (OSError, webbrowser.Error):
        there = False
    if not there:
        say(NONE)
