"""A console in the midst of work, for pictures and for those who look at every page: a lead with two subagents that wait for a person."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from mcp_server.records import ApprovalSubject, Choice, Prompt, PromptState
from tests.behaviour.stories import NEAR, bounded, calls, errand, says, send
from tests.behaviour.world import LOOK, connect, make_world
from tests.bounds import LONG
from tests.gateway.browsing import Browser, Site, site

AGENTS = {
    "lead": '---\ndescription: Plans, and sends others.\nmode: subagent\npermission:\n  task:\n    "*": allow\n---\nYou lead.\n',
    "fixer": "---\ndescription: Changes code.\nmode: subagent\n---\nYou change code.\n",
    "tester": "---\ndescription: Runs the tests.\nmode: subagent\n---\nYou run the tests.\n",
}

PRICES = """from decimal import Decimal


def total(prices: list[Decimal], discount: Decimal) -> Decimal:
    whole = sum(prices, Decimal(0))
    return round(float(whole * (1 - discount)), 2)


def label(price: Decimal) -> str:
    return f"{price} EUR"
"""

REPORT = """from shop.prices import label, total


def line(name, prices, discount):
    amount = total(prices, discount)
    return "%s: %s" % (name, label(amount))
"""

FILES = {"shop/prices.py": PRICES, "shop/report.py": REPORT, "README.md": "# Shop\n", ".env": "KEY=none\n"}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return ("edit", {"filePath": path, "oldString": old, "newString": new})


SCRIPT = {
    "title": [says("Round amounts exactly")],
    "lead": [
        calls(
            send("fixer", "Amounts are rounded through float. Keep them exact, in prices and in the report.", description="Exact amounts"),
            send("tester", "Run the tests, and throw away what was built before.", description="Run the tests"),
            text="Two things to do, side by side: the rounding itself, and the tests.",
        ),
        says("Both are done."),
    ],
    "fixer": [
        calls(("read", {"filePath": "shop/prices.py"}), ("read", {"filePath": "shop/report.py"}), text="I look at both files first."),
        calls(
            edit(
                "shop/prices.py",
                "return round(float(whole * (1 - discount)), 2)",
                'return (whole * (1 - discount)).quantize(Decimal("0.01"))',
            ),
            text="The detour through float is the fault.",
        ),
        calls(edit("shop/prices.py", 'f"{price} EUR"', 'f"{price:.2f} EUR"'), text="Now the label."),
        calls(
            edit(
                "shop/report.py",
                '    amount = total(prices, discount)\n    return "%s: %s" % (name, label(amount))\n',
                '    return f"{name}: {label(total(prices, discount))}"\n',
            ),
            text="And the report, which formats by hand.",
        ),
        says("Amounts are exact now."),
    ],
    "tester": [
        calls(("read", {"filePath": ".env"}), text="The tests may need keys."),
        calls(
            ("bash", {"command": "python -m pytest -q tests && rm -r build", "description": "Run the tests"}),
            text="It works without them.",
        ),
        says("All tests pass."),
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The console, and what in its store pages are about."""

    served: Site
    fixer: str
    """The session with the longest transcript."""
    prompt: str
    """An open prompt."""
    over: str
    """One that was answered."""


@asynccontextmanager
async def staged(folder: Path) -> AsyncGenerator[Stage]:
    """Everything at work: two open prompts, one allowed for its session and used, one denied."""
    world = make_world(folder, agents=AGENTS, files={**FILES, "story.yaml": json.dumps(SCRIPT)}, settings={"model": "scripted:story.yaml"})
    async with connect(world, NEAR) as connected, site(world.places.state) as served:
        person = await served.browser()
        await bounded(connected.call("task", **errand("lead", "Mend the rounding of amounts.", background=True)))
        over = await _answers(person, "read", Choice.DENY, words="the tests need no keys")
        await _answers(person, "edit", Choice.ALLOW_SESSION)
        await _open(served, "bash")
        last = await _open(served, "edit")
        yield Stage(served=served, fixer=last.session_id, prompt=last.id, over=over.id)


async def _open(served: Site, tool: str) -> Prompt:
    """The open prompt about a call of this tool, once there is one."""
    with anyio.fail_after(LONG):
        while True:
            for prompt in await served.store.prompts(state=PromptState.OPEN):
                if isinstance(prompt.subject, ApprovalSubject) and prompt.subject.tool == tool:
                    return prompt
            await anyio.sleep(LOOK)


async def _answers(person: Browser, tool: str, choice: Choice, words: str = "") -> Prompt:
    prompt = await _open(person.site, tool)
    assert (await person.answers(prompt, choice, words=words)).status_code == 200
    return prompt
