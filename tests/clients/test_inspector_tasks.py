"""MCP Inspector's `mcpdo` holds a task over the end of its server: it is found again, answered, and its result read."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_server.principal import LOCAL
from tests.behaviour.server_process import pid_file
from tests.behaviour.stories import errand, team_world
from tests.behaviour.world import World
from tests.cradle.commands import module

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
MCPDO = ROOT / "build" / "inspector" / "node_modules" / ".bin" / "mcpdo"

BOUND = 240.0
"""Seconds for one command, and for a task to come to its end. A command takes about one."""

pytestmark = pytest.mark.skipif(
    not (MCPDO.exists() and (SCRIPTS / "node").exists()),
    reason="MCP Inspector is not installed; `make inspector` brings it and the Node it needs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A daemon of `mcpdo` that nobody else talks to."""

    world: World
    environment: dict[str, str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MCPDO, "--format", "json", *words],
            cwd=self.world.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
        )

    def ask(self, *words: str) -> dict[str, Any]:
        ended = self.run(*words)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return json.loads(ended.stdout)

    def connect(self) -> None:
        program, *rest = module("tests.behaviour.server_process", str(self.world.folder))
        server = {"command": program, "args": rest, "env": {"PYTHONPATH": str(ROOT)}}
        config = self.world.folder / "inspector.json"
        config.write_text(json.dumps({"mcpServers": {"remit": server}}))
        self.ask("--config", str(config), "connect", "remit", "--era", "modern", "--elicit", "form")

    def until(self, task_id: str, status: str) -> dict[str, Any]:
        """The task as the server told it, once it has this status."""
        deadline = time.monotonic() + BOUND
        while time.monotonic() < deadline:
            task = self.ask("@remit", "tasks/get", task_id)["task"]["raw"]
            if task["status"] == status:
                return task
        raise AssertionError(f"the task is not {status}")


@contextmanager
def desk_of(world: World) -> Generator[Desk]:
    environment = {**os.environ, "HOME": str(world.folder), "MCP_INSPECTOR_SECRET_STORE": "file"}
    environment["PATH"] = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    exports = Desk(world=world, environment=environment).run("private").stdout.splitlines()
    for name, _, value in (line.removeprefix("export ").partition("=") for line in exports):
        environment[name] = value.strip("'")
    desk = Desk(world=world, environment=environment)
    try:
        yield desk
    finally:
        desk.run("daemon", "stop")


async def the_task(world: World) -> str:
    """`mcpdo` follows a task by itself and does not say which one it is."""
    store = world.store()
    try:
        (promised,) = await store.promised_open(principal=LOCAL.key)
    finally:
        await store.close()
    return promised.id


async def test_a_background_child_is_found_again_answered_and_read_after_its_server_was_killed(tmp_path: Path) -> None:
    world = team_world(tmp_path / "world")
    with desk_of(world) as desk:
        desk.connect()
        words = [f"{name}:={json.dumps(value)}" for name, value in errand("writer", background=True).items()]
        pending = desk.ask("@remit", "tools/call", "task", *words)["elicitationPending"]
        assert pending["message"].startswith("build › writer wants to use write")
        task_id = await the_task(world)
        os.kill(int(pid_file(world).read_text()), signal.SIGKILL)
        desk.run("disconnect", "@remit")
        desk.connect()
        (key,) = desk.until(task_id, "input_required")["inputRequests"]
        answer = {key: {"action": "accept", "content": {"decision": "allow_once"}}}
        desk.ask("@remit", "tasks/update", task_id, "--input-responses", json.dumps(answer))
        task = desk.until(task_id, "completed")
    assert "created out.txt" in task["result"]["content"][0]["text"]
    assert (world.workspace / "out.txt").read_text() == "hello"
