"""The documents keep up with the program: commands, options, links and examples."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from mcp_server.cli.main import COMMANDS, remit
from mcp_server.settings.values import Flags

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "client_examples").rglob("*.md")])
UNWRITTEN = {"--help", "--version", "--json", "--rule", "--workspace"}
"""Said once for all commands, or not meant to be typed."""


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def fenced(document: Path, *languages: str) -> list[str]:
    return [code for kind, code in re.findall(r"```(\w+)\n(.*?)```", document.read_text("utf-8"), re.DOTALL) if kind in languages]


def test_every_command_has_its_section() -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert re.findall(r"^## remit (\S+)$", text, re.MULTILINE) != []
    assert set(re.findall(r"^## remit (\S+)$", text, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_in_its_section(name: str) -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    section = text.split(f"## remit {name}\n")[1].split("\n## ")[0]
    own = [command for path, command in commands(remit, "remit") if path.split()[1] == name]
    options = {option for command in own for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert {option for option in options - UNWRITTEN if f"`{option}" not in section} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_line_that_is_shown_is_one(document: Path) -> None:
    known = dict(commands(remit, "remit"))
    for line in (line for code in fenced(document, "console", "sh") for line in code.splitlines() if line.startswith("$ remit ")):
        words = line.removeprefix("$ ").split()
        command = next((found for count in (4, 3, 2) if (found := known.get(" ".join(words[:count]))) is not None), None)
        assert command is not None, line
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text("utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_example_can_be_read(document: Path) -> None:
    for code in fenced(document, "json"):
        json.loads(code)
    for code in fenced(document, "yaml"):
        yaml.safe_load(code)


def test_every_flag_of_the_settings_can_be_given_to_serve() -> None:
    serve = dict(commands(remit, "remit"))["remit serve"]
    names = {parameter.name for parameter in serve.params}
    assert set(Flags.__dataclass_fields__) <= names
