"""The page of the tools names each with all of its parameters, and nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.stories import NEAR
from tests.behaviour.world import connect, make_world
from tests.docs.pages import DOCS

PAGE = (DOCS / "tools.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
async def listed(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Every tool's schema, as a client sees it."""
    world = make_world(tmp_path / "world", settings={"websearch": {"provider": "searxng", "base_url": "http://127.0.0.1:1"}})
    async with connect(world, NEAR) as connected:
        return {tool.name: tool.input_schema for tool in (await connected.client.list_tools()).tools}


async def test_every_tool_has_its_section_in_the_order_of_the_list(listed: dict[str, dict[str, Any]]) -> None:
    assert list(SECTIONS) == list(listed)


async def test_every_parameter_is_told_and_whether_it_is_needed(listed: dict[str, dict[str, Any]]) -> None:
    told = {name: dict(re.findall(r"^\| `(\w+)` \| (.*?) ?\|", text, re.MULTILINE)) for name, text in SECTIONS.items()}
    wanted = {
        name: {parameter: parameter in schema.get("required", []) for parameter in schema.get("properties", {})}
        for name, schema in listed.items()
    }
    assert {name: {parameter: said == "needed" for parameter, said in rows.items()} for name, rows in told.items()} == wanted


async def test_plain_defaults_are_those_that_are_told(listed: dict[str, dict[str, Any]]) -> None:
    for name, text in SECTIONS.items():
        for parameter, said in re.findall(r"^\| `(\w+)` \| `?([\w.]+)`? \|", text, re.MULTILINE):
            if said.isdecimal():
                assert listed[name]["properties"][parameter]["default"] == int(said), (name, parameter)
