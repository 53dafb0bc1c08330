import re

import pytest
from pydantic import BaseModel

from mcp_server.tools.base import ToolSpec
from mcp_server.tools.builtin import builtin_tools
from mcp_server.tools.question import QUESTION_SPEC
from mcp_server.tools.web.reach import Web
from mcp_server.tools.web.search import BRAVE, Brave
from mcp_server.tools.web.wires import Wires

WEB = Web(search=Brave(BRAVE, "key", Wires()))
SPECS = [*(tool.spec for tool in builtin_tools(WEB)), QUESTION_SPEC]


def test_the_tools_are_those_that_people_know() -> None:
    assert [spec.name for spec in SPECS] == [
        "read", "list", "glob", "grep", "edit", "write", "apply_patch", "bash", "bash_output", "bash_kill", "webfetch", "websearch",
        "todowrite", "todoread", "question",
    ]  # fmt: skip


def test_a_search_tool_is_listed_only_where_an_engine_is_configured() -> None:
    assert "websearch" not in [tool.spec.name for tool in builtin_tools()]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_tool_presents_itself_within_the_limits_of_hosts(spec: ToolSpec) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", spec.name)
    assert 0 < len(spec.description.encode()) < 2048
    assert spec.title
    assert not re.search(r"  |^ | $", spec.description)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_argument_is_described_and_none_is_unknown(spec: ToolSpec) -> None:
    schema = spec.arguments.model_json_schema()
    assert schema["additionalProperties"] is False
    assert all(field.get("description") for field in schema["properties"].values())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"filePath", "offset", "limit"}),
        ("list", {"path", "ignore"}),
        ("glob", {"pattern", "path"}),
        ("grep", {"pattern", "path", "include"}),
        ("edit", {"filePath", "oldString", "newString", "replaceAll"}),
        ("write", {"filePath", "content"}),
        ("apply_patch", {"patchText"}),
        ("webfetch", {"url", "format", "timeout"}),
        ("websearch", {"query", "count"}),
        ("bash", {"command", "description", "timeout", "workdir", "background", "may_write", "may_read", "may_fetch"}),
        ("bash_output", {"bash_id", "wait_seconds"}),
        ("bash_kill", {"bash_id"}),
        ("todowrite", {"todos"}),
        ("todoread", set[str]()),
        ("question", {"questions"}),
    ],
)
def test_arguments_have_the_names_that_people_know(name: str, arguments: set[str]) -> None:
    [spec] = [spec for spec in SPECS if spec.name == name]
    assert set(spec.arguments.model_fields) == arguments


def test_a_tool_that_says_it_only_reads_does_not_say_it_destroys() -> None:
    assert [spec.name for spec in SPECS if spec.hints.read_only and spec.hints.destructive] == []


def test_arguments_are_frozen() -> None:
    models: list[type[BaseModel]] = [spec.arguments for spec in SPECS]
    assert [model.__name__ for model in models if not model.model_config.get("frozen")] == []
