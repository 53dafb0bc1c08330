"""The console in a browser: how soon a prompt is on screen, how soon its child goes on, and keys where five hundred wait."""

import os
import shutil
import statistics
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
from playwright.async_api import Page, async_playwright

from benchmarks.ground import Ground, at_work, ground
from benchmarks.measuring import Figure, words
from mcp_server.app import STORE_FILE, Running
from mcp_server.gateway.console import Console
from mcp_server.gateway.serving import listen, serve_console
from mcp_server.principal import LOCAL
from mcp_server.records import Prompt, PromptId, PromptState, RunState, SessionRecord
from mcp_server.sessions.front import Caller, Ended
from mcp_server.store.ids import mint
from mcp_server.store.sqlite import open_store

WRITER = "---\ndescription: Writes.\nmode: subagent\n---\nYou write.\n"
SCRIPT: Mapping[str, Any] = {
    "writer": [
        {"calls": [{"tool": "write", "arguments": {"filePath": "out.txt", "content": "some words\n" * 20}}]},
        {"text": "It is written."},
    ],
    "title": [{"text": "An errand"}],
}

ROUNDS, CROWD, KEYS = 30, 500, 30
"""Answers whose child goes on; open prompts; keys among those."""

WATCH = """
window.at = {shown: {}, pressed: {}, focused: 0, over: {}};
const now = () => performance.timeOrigin + performance.now();
const drawn = (then) => requestAnimationFrame(() => requestAnimationFrame(() => then(now())));
new MutationObserver(() => {
  for (const card of document.querySelectorAll("article.card")) {
    const table = card.dataset.state === "open" ? window.at.shown : window.at.over;
    const id = card.dataset.prompt;
    if (!(id in table)) {
      table[id] = 0;
      drawn((time) => { table[id] = time; });
    }
  }
}).observe(document.getElementById("inbox"), {childList: true, subtree: true});
addEventListener("keydown", (event) => { window.at.pressed[event.key] = performance.timeOrigin + event.timeStamp; }, true);
addEventListener("focusin", () => { window.at.focused = 0; drawn((time) => { window.at.focused = time; }); });
"""
"""Notes when things are on screen: two frames after they came into the page. Milliseconds since 1970, by the machine's clock."""


def figures() -> list[Figure]:
    """None where there is no browser."""
    program = shutil.which("chromium")
    if program is None:
        return []
    shown, gone_on, over = anyio.run(_answers, program)
    focused, counted = anyio.run(_crowd, program)
    return [
        _figure("a prompt on the screen", shown, "from the prompt's making in the server to two frames after its card is there"),
        _figure("the child goes on", gone_on, "from the key `a` to the run's step from waiting to running"),
        _figure("the answer on the screen", over, "from the key `a` to two frames after the card says so"),
        _figure(
            f"{CROWD} open prompts: to the next",
            focused,
            "from the key `j` to two frames after the next open card has the focus",
        ),
        _figure(
            f"{CROWD} open prompts: an answer on the screen",
            counted,
            "from the key `d` to two frames after the card says so",
        ),
    ]


def _figure(name: str, times: Sequence[float], how: str) -> Figure:
    """Times in seconds."""
    p90 = statistics.quantiles(times, n=10)[-1]
    return Figure(name=name, measured=f"p50 {words(statistics.median(times))}, p90 {words(p90)}", target="", met=None, how=how)


async def _answers(program: str) -> tuple[list[float], list[float], list[float]]:
    shown: list[float] = []
    gone_on: list[float] = []
    over: list[float] = []
    with ground(script=SCRIPT, agents={"writer": WRITER}) as made:
        async with at_work(made) as remit, _window(program, made) as page:
            root = await _root(made, remit)
            for _ in range(ROUNDS):
                call_id = await remit.desk.begin(root, "task", {"description": "errand", "prompt": "Do it.", "subagent_type": "writer"})
                prompt = await _asked(remit)
                shown.append(await _time(page, f"window.at.shown['{prompt.id}']") - prompt.created_at)
                await page.keyboard.press("j")
                await page.keyboard.press("a")
                pressed = await _time(page, "window.at.pressed.a")
                over.append(await _time(page, f"window.at.over['{prompt.id}']") - pressed)
                with anyio.fail_after(30):
                    while not isinstance(await remit.desk.settle(root, call_id, seconds=30, shown=(prompt.id,)), Ended):  # noqa: ASYNC110 - told of each look
                        await anyio.sleep(0.005)
                await remit.desk.detach(call_id)
                changes = await remit.deployment.store.changes(prompt.session_id)
                gone_on.append(min(one.at for one in changes if one.state is RunState.RUNNING and one.at > prompt.created_at) - pressed)
                (made.workspace / "out.txt").unlink()
    return shown, gone_on, over


async def _crowd(program: str) -> tuple[list[float], list[float]]:
    focused: list[float] = []
    over: list[float] = []
    with ground(script=SCRIPT, agents={"writer": WRITER}) as made:
        async with at_work(made) as remit:
            root = await _root(made, remit)
            await remit.desk.begin(root, "task", {"description": "errand", "prompt": "Do it.", "subagent_type": "writer"})
            first = await _asked(remit)
            for number in range(1, CROWD):
                other = replace(first, id=PromptId(mint("prm")), created_at=first.created_at + number / 1000)
                await remit.deployment.store.add_prompt(other)
            async with _window(program, made) as page:
                for _ in range(KEYS):
                    await page.keyboard.press("j")
                    pressed = await _time(page, "window.at.pressed.j")
                    focused.append(await _time(page, "window.at.focused") - pressed)
                    answered = await page.evaluate("document.activeElement.dataset.prompt")
                    await page.keyboard.press("d")
                    pressed = await _time(page, "window.at.pressed.d")
                    over.append(await _time(page, f"window.at.over['{answered}']") - pressed)
    return focused, over


async def _root(made: Ground, remit: Running) -> SessionRecord:
    return await remit.desk.open_root(Caller(principal=LOCAL, workspace=str(made.workspace), agent="build"), shared=False)


async def _asked(remit: Running) -> Prompt:
    """The open prompt, once there is one."""
    with anyio.fail_after(30):
        while True:
            if found := await remit.deployment.store.prompts(state=PromptState.OPEN):
                return found[0]
            await anyio.sleep(0.005)


async def _time(page: Page, what: str) -> float:
    """Seconds since 1970 at which the page noted it, once it has."""
    with anyio.fail_after(30):
        while not (noted := await page.evaluate(what)):  # noqa: ASYNC110 - it is the browser that notes it
            await anyio.sleep(0.02)
    return float(noted) / 1000


@asynccontextmanager
async def _window(program: str, made: Ground) -> AsyncGenerator[Page]:
    """An inbox that is live and watched, with a handle of its own on the store, as `remit console` has it."""
    store = open_store(made.places.state / STORE_FILE)
    console = Console(store=store, clock=time.time)
    sock = listen(0)
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    async with anyio.create_task_group() as group, async_playwright() as driver:
        group.start_soon(serve_console, console, sock)
        browser = await driver.chromium.launch(executable_path=program, args=["--disable-background-networking", *root])
        page = await browser.new_page()
        await page.goto(console.link(int(sock.getsockname()[1])))
        await page.get_by_text("Live: new prompts appear by themselves.").wait_for()
        await page.evaluate(WATCH)
        yield page
        await browser.close()
        group.cancel_scope.cancel()
    await store.close()
