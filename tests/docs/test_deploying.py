"""The systemd unit and the compose file of docs/gateway-operation.md: as far as they can be checked without an engine that runs them."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import yaml

from mcp_server.cli.main import remit
from tests.docs.pages import SNIPPETS
from tests.docs.test_snippets import COMPOSE

UNIT = "/etc/systemd/system/remit.service"
PROGRAM = "/opt/remit/bin/remit"
ANALYZE = shutil.which("systemd-analyze")


def shown(title: str) -> str:
    (text,) = [snippet.text for snippet in SNIPPETS if snippet.title == title]
    return text


def called(words: list[str]) -> str:
    """The command that a line calls, its options read as they are when it runs."""
    command, context = remit, click.Context(remit)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        context, command, words = click.Context(found, parent=context, info_name=words[0]), found, words[1:]
    command.make_context(context.info_name, words)
    return context.command_path.strip()


def test_the_unit_calls_commands_that_there_are() -> None:
    lines = re.findall(rf"^Exec\w+={re.escape(PROGRAM)} (.+)$", shown(UNIT), re.MULTILINE)
    assert [called(shlex.split(line)) for line in lines] == ["gateway check", "serve"]


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    text = shown(UNIT).replace(PROGRAM, str(Path(sys.executable).with_name("remit")))
    unit = tmp_path / "remit.service"
    unit.write_text(text)
    sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
    assert sections == ["Unit", "Service", "Install"]
    assert all(re.fullmatch(r"(\[\w+\]|#.*|[A-Z]\w+=.+|)", line) for line in text.splitlines())
    if ANALYZE is not None:
        ended = subprocess.run([ANALYZE, "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=120, check=False)
        assert (ended.returncode, "remit.service" in ended.stdout + ended.stderr) == (0, False), ended.stderr


def test_the_compose_file_names_nothing_that_is_not_there_and_calls_a_command_that_there_is() -> None:
    read: dict[str, Any] = yaml.safe_load(shown(COMPOSE))
    assert set(read) == {"services", "networks", "volumes"}
    server, proxy = read["services"]["remit"], read["services"]["nginx"]
    assert called(server["command"]) == "serve"
    assert 'ENTRYPOINT ["remit"]' in shown("Dockerfile")
    for service in (server, proxy):
        assert set(service["networks"]) <= set(read["networks"])
        named = {volume.split(":")[0] for volume in service["volumes"]}
        assert {name for name in named if not name.startswith("./")} <= set(read["volumes"])
    assert set(proxy["depends_on"]) <= set(read["services"])
    folders = [server["environment"][f"REMIT_{name}_DIR"] for name in ("STATE", "CONFIG", "CACHE")]
    assert all(folder.startswith("/var/lib/remit/") for folder in folders)
