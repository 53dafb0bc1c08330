"""MCP Inspector's own command line against the real server, in both protocol eras. It cannot be asked anything."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person
from tests.cli.screen import Onlooker
from tests.cradle.commands import module

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
NODE = SCRIPTS / "node"
INSPECTOR = ROOT / "build" / "inspector" / "node_modules" / ".bin" / "mcp-inspector"

BOUND = 240.0
"""Seconds for one run of it. Starting Node and the server takes about two."""

TOOL_ERROR = 5
"""Its exit code where a tool's result is an error."""

pytestmark = pytest.mark.skipif(
    not (INSPECTOR.exists() and NODE.exists()), reason="MCP Inspector is not installed; `make inspector` brings it and the Node it needs"
)

SCRIPT = """\
general:
  - text: I read the file.
    calls:
      - {tool: read, arguments: {filePath: a.txt}}
  - text: I change it.
    expect: hello
    calls:
      - {tool: edit, arguments: {filePath: a.txt, oldString: hello, newString: goodbye}}
  - text: The file says goodbye now.
"""

THREE = """\
general:
  - text: I write three files.
    calls:
      - {tool: write, arguments: {filePath: one.txt, content: one}}
      - {tool: write, arguments: {filePath: two.txt, content: two}}
  - calls:
      - {tool: write, arguments: {filePath: three.txt, content: three}}
  - text: All three are there.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Starts the Inspector for one request each time; it starts the server."""

    folder: Path
    environment: Mapping[str, str]
    era: str

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Under way; both its outputs are pipes."""
        config = self.folder / "inspector.json"
        project = str(self.folder / "project")
        serve = ("serve", "--workspace", project, "--model", "scripted:script.yaml", "--deny", "edit(locked.txt)")
        program, *rest = module("mcp_server", *serve)
        server = {"command": program, "args": rest, "env": dict(self.environment)}
        config.write_text(json.dumps({"mcpServers": {"remit": server}}))
        return subprocess.Popen(
            [INSPECTOR, "--cli", "--config", config, "--server", "remit", "--protocol-era", self.era, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={
                **os.environ,
                **self.environment,
                "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
                "MCP_INSPECTOR_SECRET_STORE": "memory",
            },
        )

    def ask(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, the JSON it printed, and what it said beside."""
        return finished(self.start(*arguments))


def finished(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], str]:
    try:
        printed, said = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert printed, said
    return process.returncode, json.loads(printed), said


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("hello\n")
    (project / "locked.txt").write_text("hello\n")
    (project / "script.yaml").write_text(SCRIPT)
    environment = {
        "HOME": str(tmp_path / "home"),
        "REMIT_STATE_DIR": str(tmp_path / "state"),
        "REMIT_CONFIG_DIR": str(tmp_path / "config"),
        "REMIT_CACHE_DIR": str(tmp_path / "cache"),
    }
    return Client(folder=tmp_path, environment=environment, era=str(request.param))


def call(tool: str, **arguments: str) -> list[str]:
    return [
        "--method",
        "tools/call",
        "--tool-name",
        tool,
        *(part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")),
    ]


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in result["content"])


def test_every_tool_is_listed_with_a_schema_that_all_hosts_take(client: Client) -> None:
    code, listed, said = client.ask("--method", "tools/list", "--strict")
    assert code == 0, said
    names = {tool["name"] for tool in listed["tools"]}
    assert {"read", "list", "glob", "grep", "edit", "write", "todowrite", "task", "task_status", "task_cancel", "session_info"} <= names


def test_a_file_is_read(client: Client) -> None:
    code, result, _ = client.ask(*call("read", filePath="a.txt"))
    assert (code, result["isError"]) == (0, False)
    assert "hello" in text_of(result)


def test_a_denied_edit_is_a_tool_error_that_says_which_rule(client: Client) -> None:
    code, result, _ = client.ask(*call("edit", filePath="locked.txt", oldString="hello", newString="goodbye"))
    assert code == TOOL_ERROR
    assert "denied" in text_of(result)
    assert "edit locked.txt" in text_of(result)
    assert "--deny" in text_of(result)
    assert (client.folder / "project" / "locked.txt").read_text() == "hello\n"


def test_a_task_is_completed_whose_prompt_is_answered_in_a_terminal(client: Client) -> None:
    process = client.start(*call("task", description="Say goodbye", prompt="Make a.txt say goodbye.", subagent_type="general"))
    try:
        prompt = open_prompt(client)
        assert prompt["path"] == ["build", "general"]
        with Person(("approvals", "approve", prompt["id"], "--reach", "once"), client.environment, client.folder) as person:
            person.sees("build › general wants to use edit")
            person.types_the_code("to allow it once")
            assert person.leaves()[0] == 0
    except BaseException:
        process.kill()
        raise
    code, result, _ = finished(process)
    assert code == 0
    assert (result["structuredContent"]["state"], result["structuredContent"]["refused"]) == ("completed", [])
    assert "The file says goodbye now." in text_of(result)
    assert (client.folder / "project" / "a.txt").read_text() == "goodbye\n"


def test_a_task_that_needs_three_approvals_is_completed_by_keys_in_a_terminal(client: Client) -> None:
    (client.folder / "project" / "script.yaml").write_text(THREE)
    with Onlooker(("approvals", "watch"), client.environment, client.folder) as person:
        person.begins()
        process = client.start(*call("task", description="Write", prompt="Write three files.", subagent_type="general"))
        try:
            for name in ("one", "two", "three"):
                person.until(rf"▸.*write {name}\.txt|▸.*{name}\.txt", "a  allow it once")
                person.press("a")
                person.until(r"done: allow it once")
                person.press("c")
                person.until(r"q quit")
        except BaseException:
            process.kill()
            raise
        code, result, _ = finished(process)
        person.press("q")
        assert person.ends() == 0
    assert code == 0
    assert (result["structuredContent"]["state"], result["structuredContent"]["refused"]) == ("completed", [])
    assert [(client.folder / "project" / f"{name}.txt").read_text() for name in ("one", "two", "three")] == ["one", "two", "three"]


def open_prompt(client: Client) -> dict[str, Any]:
    """The one open prompt, as soon as there is one."""
    deadline = time.monotonic() + BOUND
    while time.monotonic() < deadline:
        listed = subprocess.run(
            module("mcp_server", "approvals", "--json"),
            env={**os.environ, **client.environment},
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=True,
        )
        if listed.stdout:
            (prompt,) = (json.loads(line) for line in listed.stdout.splitlines())
            return prompt
    raise AssertionError("no prompt was opened")


def test_the_example_story_comes_out_right() -> None:
    story = ROOT / "client_examples" / "inspector" / "story.py"
    told = subprocess.run([sys.executable, story], capture_output=True, text=True, timeout=3 * BOUND, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("ok   ") == 6
