"""The reference pages say what the schemas say."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_server.agents.front_matter import AgentFile, read_agent
from mcp_server.agents.reference import pages
from mcp_server.agents.schema import FrontMatter
from mcp_server.settings.blocks import Source
from mcp_server.settings.reference import sections
from mcp_server.settings.schema import AgentSettings, Limits, Provider, Roles, RulingLimits, SettingsFile, allowed_sources
from mcp_server.settings.source import read_source

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_current(name: str):
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run: python -m mcp_server.agents.reference docs/reference"


@pytest.mark.parametrize("model", [SettingsFile, Limits, RulingLimits, Roles, Provider, AgentSettings])
def test_every_key_of_settings_stands_on_its_page(model: type[BaseModel]):
    page = pages()["settings.md"]
    assert [name for name in model.model_fields if f"| `{name}` |" not in page] == []


def test_every_map_inside_the_settings_has_a_table_however_deep():
    schema, page = SettingsFile.model_json_schema(), pages()["settings.md"]
    maps = {name for name, one in schema["$defs"].items() if "properties" in one}
    assert set(sections(schema)) == maps
    assert [path for path in sections(schema).values() if f"# `{path}`\n" not in page] == []
    assert sections(schema)["Introspection"] == "gateway.issuers.introspection"


def test_every_key_of_front_matter_stands_on_its_page():
    page = pages()["agents.md"]
    assert [name for name in FrontMatter.model_fields if f"| `{name}` |" not in page] == []


def example(model: type[BaseModel], name: str) -> Any:
    examples = model.model_fields[name].examples
    assert examples is not None
    return examples[0]


@pytest.mark.parametrize("name", list(SettingsFile.model_fields))
def test_the_example_of_a_settings_key_is_read_from_a_source_that_may_set_it(name: str):
    text = json.dumps({name: example(SettingsFile, name)})
    files: list[Source] = [source for source in allowed_sources(name) if source != "cli"]
    assert files
    for source in files:
        read, faults = read_source(text, "f", source)
        assert faults == ()
        assert read is not None


@pytest.mark.parametrize(("block", "model"), [("limits", Limits), ("rulings", RulingLimits), ("roles", Roles)])
def test_the_examples_inside_blocks_are_read(block: str, model: type[BaseModel]):
    text = json.dumps({block: {name: example(model, name) for name in model.model_fields}})
    assert read_source(text, "f", "user")[1] == ()


@pytest.mark.parametrize(("block", "model"), [("providers", Provider), ("agents", AgentSettings)])
def test_the_examples_of_named_blocks_are_read(block: str, model: type[BaseModel]):
    text = json.dumps({block: {"one": {name: example(model, name) for name in model.model_fields}}})
    assert read_source(text, "f", "user")[1] == ()


def test_the_examples_of_front_matter_are_read_together():
    front = json.dumps({name: example(FrontMatter, name) for name in FrontMatter.model_fields})
    read = read_agent(f"---\n{front}\n---\nyou", "reviewer.md", where="user", workspace="/w")
    assert isinstance(read, AgentFile)
