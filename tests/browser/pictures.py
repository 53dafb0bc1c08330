"""Pictures of the console's pages for the documents: `python -m tests.browser.pictures` writes them into docs/images."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import anyio
from playwright.async_api import Page

from mcp_server.store.ids import mint
from tests.browser.scene import Stage, staged
from tests.browser.windows import DESK, PHONE, Scheme, Windows, chromium_program, started
from tests.gateway.teamed import teamed

IMAGES = Path(__file__).parents[2] / "docs" / "images"

MOST_BYTES = 150_000
"""Of one picture: it is loaded with its page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One page as a picture. Each page of the console has one."""

    name: str
    """Of its file."""
    page: Callable[[Stage], str]
    """What stands behind the door in its address."""
    room: str
    """Which entry of the navigation it belongs to."""
    size: tuple[int, int] = DESK
    scheme: Scheme = "light"


PICTURES = (
    Picture(name="console-inbox", room="", page=lambda stage: "", size=(1000, 1180)),
    Picture(name="console-phone", room="", page=lambda stage: f"prompts/{stage.prompt}", size=PHONE, scheme="dark"),
    Picture(name="console-sessions", room="sessions", page=lambda stage: "sessions?all=1", size=(1000, 420)),
    Picture(name="console-session", room="sessions", page=lambda stage: f"sessions/{stage.fixer}", size=(1000, 1180)),
    Picture(name="console-rulings", room="rulings", page=lambda stage: "rulings", size=(1000, 420)),
    Picture(
        name="console-agents",
        room="agents",
        page=lambda stage: "agents?" + urlencode({"chain": "build, general", "tool": "edit", "value": ".env"}),
        size=(1000, 900),
    ),
    Picture(name="console-audit", room="audit", page=lambda stage: "audit", size=(1000, 900)),
)
"""A new page of the console gets a line here."""


async def take(picture: Picture, stage: Stage, page: Page) -> bytes:
    """A picture as PNG, in a window that came in."""
    await page.set_viewport_size({"width": picture.size[0], "height": picture.size[1]})
    await page.emulate_media(color_scheme=picture.scheme)
    await page.goto(f"{stage.served.origin}/{stage.served.console.door}/{picture.page(stage)}")
    return await page.screenshot(type="png", animations="disabled", caret="hide")


SIGN_IN = "console-sign-in"
"""The page at which people of a gateway sign in: it stands in front of the others, and in no room."""

SIGN_IN_SIZE = (1000, 520)


async def take_sign_in(folder: Path, page: Page) -> bytes:
    """That page as PNG, in any window."""
    async with teamed(folder, issuers=[{"issuer": "https://login.example.org"}]) as team:
        await page.set_viewport_size({"width": SIGN_IN_SIZE[0], "height": SIGN_IN_SIZE[1]})
        await page.emulate_media(color_scheme="light")
        await page.goto(f"{team.url}/prompts/{mint('prm')}")
        return await page.screenshot(type="png", animations="disabled", caret="hide")


async def write() -> None:
    """All of them into their folder."""
    program = chromium_program()
    if program is None:
        sys.exit("remit: needs Chromium, on Debian and Ubuntu: apt-get install chromium-headless-shell")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        async with started(program) as chromium, staged(Path(folder)) as stage:
            windows = Windows(chromium=chromium)
            page = await windows.enter(stage.served)
            for picture in PICTURES:
                (IMAGES / f"{picture.name}.png").write_bytes(await take(picture, stage, page))
            (IMAGES / f"{SIGN_IN}.png").write_bytes(await take_sign_in(Path(folder), page))
            await windows.close()


if __name__ == "__main__":
    anyio.run(write)
