"""Every page of the console: without barriers, readable on a phone and in the dark, and in the documents as it looks."""

import re
import struct
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from playwright.async_api import expect

from mcp_server.gateway.frame import ROOMS
from tests.browser.pictures import IMAGES, MOST_BYTES, PICTURES, SIGN_IN, SIGN_IN_SIZE, take, take_sign_in
from tests.browser.scene import Stage, staged
from tests.browser.windows import DESK, PHONE, Scheme, Windows, barriers, needs_axe

ROOT = Path(__file__).parents[2]

PAGES: dict[str, Callable[[Stage], str]] = {
    **{picture.name: picture.page for picture in PICTURES},
    "over": lambda stage: f"prompts/{stage.over}",
    "none": lambda stage: "prompts/none",
    "turned-away": lambda stage: "open?token=none",
}
"""What is looked through for barriers."""

SMALL = """[...document.querySelectorAll("button, select, input:not([type=hidden])")].filter(one => one.offsetParent
    && !["radio", "checkbox"].includes(one.type) && one.offsetHeight < 36).map(one => one.outerHTML)"""
"""What a finger misses."""


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Stage]:
    """Work that goes on. These tests only look at it."""
    async with staged(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


def address(page: Callable[[Stage], str], stage: Stage) -> str:
    return f"{stage.served.origin}/{stage.served.console.door}/{page(stage)}"


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious_on_any_page(scheme: Scheme, windows: Windows, stage: Stage) -> None:
    page = await windows.enter(stage.served, scheme=scheme, policy=False)  # axe is a script of the test's own
    bad: list[tuple[str, tuple[str, list[str]]]] = []
    for name, place in PAGES.items():
        await page.goto(address(place, stage))
        for details in await page.locator("details").all():
            await details.locator("summary").click()
        bad += [(name, barrier) for barrier in await barriers(page)]
    assert bad == []


async def test_on_a_phone_nothing_is_wider_than_the_screen_and_a_finger_finds_each_field(windows: Windows, stage: Stage) -> None:
    page = await windows.enter(stage.served, size=PHONE)
    for name, place in PAGES.items():
        await page.goto(address(place, stage))
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], name
        assert await page.evaluate(SMALL) == [], name


async def test_light_and_dark_are_the_persons_choice(windows: Windows, stage: Stage) -> None:
    shades: list[int] = []
    for scheme in ("light", "dark"):
        page = await windows.enter(stage.served, scheme=scheme)
        ground = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        shades.append(sum(map(int, re.findall(r"\d+", ground)[:3])))
    assert shades[0] > 600
    assert shades[1] < 150


async def test_keys_lead_to_everything_on_the_page(windows: Windows, stage: Stage) -> None:
    page = await windows.enter(stage.served, size=DESK)
    all_of_them = "[...document.querySelectorAll('a, button:enabled:not([hidden]), input[type=text], summary')]"
    wanted: int = await page.evaluate(f"{all_of_them}.length")
    seen: set[int] = set()
    for _ in range(80):
        await page.keyboard.press("Tab")
        seen.add(await page.evaluate(f"{all_of_them}.indexOf(document.activeElement)"))
    assert len(seen - {-1}) == wanted


async def test_a_picture_is_taken_of_each_page_and_stands_in_the_documents(windows: Windows, stage: Stage) -> None:
    page = await windows.enter(stage.served)
    for picture in PICTURES:
        taken, kept = await take(picture, stage, page), (IMAGES / f"{picture.name}.png").read_bytes()
        for image in (taken, kept):
            assert image.startswith(b"\x89PNG\r\n\x1a\n"), picture.name
            assert struct.unpack(">II", image[16:24]) == picture.size, picture.name
            assert 5000 < len(image) < MOST_BYTES, picture.name


async def test_a_picture_is_taken_of_the_sign_in(windows: Windows, tmp_path: Path) -> None:
    page = await windows.blank()
    for image in (await take_sign_in(tmp_path, page), (IMAGES / f"{SIGN_IN}.png").read_bytes()):
        assert struct.unpack(">II", image[16:24]) == SIGN_IN_SIZE
        assert 5000 < len(image) < MOST_BYTES
    await expect(page.get_by_role("link", name="Sign in at login.example.org")).to_be_visible()


def test_every_page_has_its_picture_and_every_picture_that_is_shown_is_there() -> None:
    assert {room for room, _ in ROOMS} == {picture.room for picture in PICTURES}
    shown = {name for page in (ROOT / "docs").glob("*.md") for name in re.findall(r"\]\(images/([\w-]+)\.png\)", page.read_text("utf-8"))}
    assert shown == {SIGN_IN, *(picture.name for picture in PICTURES)} == {file.stem for file in IMAGES.iterdir()}
