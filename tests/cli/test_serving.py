"""`remit serve` as a client starts it: standard output is the protocol's, errors are one text, rules keep their order."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.cli.person import BOUND, REMIT
from tests.cradle.commands import module

HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
    '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("first line\n")
    return folder


def call(number: int, tool: str, **arguments: str) -> str:
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return f"{json.dumps(message)}\n"


def serve(
    environment: Mapping[str, str], *arguments: str | Path, messages: Sequence[str] = (), replies: int = 0, anew: bool = False
) -> tuple[int, list[dict[str, object]], str]:
    """Start it, say hello and the messages, read so many replies, end its input. Exit code, all replies, standard error.
    `anew`: the program itself, which loads all that it needs.
    """
    words = ("serve", *map(str, arguments))
    process = subprocess.Popen(
        (REMIT, *words) if anew else module("mcp_server", *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    read: list[str] = []
    try:
        if replies:
            process.stdin.write("".join((HELLO, *messages)))
            process.stdin.flush()
            read = [process.stdout.readline() for _ in range(replies)]
        rest, said = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    return process.returncode, [json.loads(line) for line in (*read, *rest.splitlines())], said


def texts(replies: list[dict[str, object]]) -> str:
    return json.dumps(replies, ensure_ascii=False)


def test_standard_output_holds_nothing_but_the_protocol(environment: Mapping[str, str], workspace: Path) -> None:
    asked = [call(2, "read", filePath="a.txt")]
    code, replies, logged = serve(environment, "--workspace", workspace, "--log-level", "debug", messages=asked, replies=2, anew=True)
    assert code == 0
    assert {reply["id"] for reply in replies} == {1, 2}
    assert "first line" in texts(replies)
    assert all(isinstance(json.loads(line), dict) for line in logged.splitlines())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--allow", "read(*)", "--deny", "read(*.txt)"), "denied by rule"),
        (("--deny", "read(*)", "--allow=read(*.txt)"), "first line"),
        (("--deny", "read(*)", "--allow", "read(*.txt)", "--deny", "read(a.txt)"), "denied by rule"),
    ],
)
def test_of_the_rules_on_the_line_the_last_that_matches_wins(
    environment: Mapping[str, str], workspace: Path, flags: tuple[str, ...], said: str
) -> None:
    _, replies, _ = serve(environment, "--workspace", workspace, *flags, messages=[call(2, "read", filePath="a.txt")], replies=2)
    assert said in texts(replies)


def test_a_further_workspace_may_be_read(environment: Mapping[str, str], workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("from the other\n")
    asked = [call(2, "read", filePath=str(other / "b.txt"))]
    _, replies, _ = serve(environment, "--workspace", workspace, "--workspace", other, messages=asked, replies=2)
    assert "from the other" in texts(replies)


def test_only_the_named_tools_are_offered(environment: Mapping[str, str], workspace: Path) -> None:
    listing = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    _, replies, _ = serve(environment, "--workspace", workspace, "--tools", "read,grep", messages=[listing], replies=2)
    names = [name for name in ("read", "grep", "edit", "bash", "task") if f'"name": "{name}"' in texts(replies)]
    assert names == ["read", "grep"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--workspace", "/"), "cannot be a workspace"),
        (("--http", "0.0.0.0:7717"), "not a loopback address"),
        (("--http", "nonsense"), "is not HOST:PORT"),
        (("--allow", "raed(*)"), "did you mean `read`?"),
        (("--allow",), "--allow needs a value"),
        (("--agent", "nobody"), "nobody"),
        (("--tools", "read,nothing"), "nothing"),
        (("--mode", "yolo"), "yolo"),
    ],
)
def test_a_wrong_line_is_told_in_one_text(environment: Mapping[str, str], workspace: Path, arguments: tuple[str, ...], said: str) -> None:
    line = arguments if "--workspace" in arguments else ("--workspace", str(workspace), *arguments)
    code, replies, told = serve(environment, *line)
    assert (code, replies) == (2, [])
    assert said in told
    assert "Traceback" not in told


def test_every_fault_of_the_configuration_is_told_at_once(environment: Mapping[str, str], workspace: Path) -> None:
    config = Path(environment["REMIT_CONFIG_DIR"])
    config.mkdir()
    (config / "settings.yaml").write_text("permision: {}\nmode: fast\n")
    code, _, told = serve(environment, "--workspace", workspace)
    assert code == 2
    assert "settings.yaml:1" in told
    assert "settings.yaml:2" in told
