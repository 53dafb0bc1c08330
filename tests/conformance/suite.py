"""Running the official conformance suite against a server in a process of its own, and reading what it found."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
NODE = Path(sys.executable).with_name("node")
SUITE = ROOT / "build" / "conformance" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

BOUND = 600.0
"""Seconds for one revision's scenarios. They take about twenty."""

REVISIONS = ("2025-11-25", "2026-07-28")

Against = Literal["remit serve", "fixture"]

SERVED: Mapping[str, frozenset[str]] = {
    "2025-11-25": frozenset(
        {
            "server-initialize",
            "ping",
            "tools-list",
            "resources-list",
            "prompts-list",
            "server-sse-multiple-streams",
            "server-session-lifecycle",
            "dns-rebinding-protection",
        }
    ),
    "2026-07-28": frozenset(
        {
            "tools-list",
            "resources-list",
            "prompts-list",
            "server-sse-multiple-streams",
            "sep-2164-resource-not-found",
            "caching",
            "input-required-result-unsupported-methods",
            "http-header-validation",
            "dns-rebinding-protection",
        }
    ),
}
"""The scenarios that ask for no tool, prompt or resource of their own: these are run against `remit serve --http`."""

TASKS = frozenset(
    {
        "tasks-lifecycle",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-dispatch-and-envelope",
        "tasks-status-notifications",
        "tasks-required-task-error",
        "tasks-mrtr-composition",
    }
)

NOT_PASSED: Mapping[tuple[str, str], str] = {
    ("2025-11-25", "server-sse-polling"): "wants streams that can be left and resumed; Remit keeps no events, a call is gone on with by "
    "making it again (not required; the suite's own reference server does not pass it either)",
    ("2026-07-28", "tasks-status-notifications"): "its check has not been rewritten for `subscriptions/listen`; "
    "what Remit tells there is held by its own tests",
}
"""Scenarios that do not pass, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one scenario came to."""

    revision: str
    scenario: str
    against: Against
    passed: int
    failed: int
    skipped: int
    faults: tuple[str, ...]

    @property
    def word(self) -> str:
        """Of the table."""
        if self.failed:
            return "fails"
        return "passes" if self.passed else "skipped"


def against(revision: str, scenario: str) -> Against:
    """Which server a scenario is run against."""
    return "remit serve" if scenario in SERVED[revision] else "fixture"


def run(url: str, revision: str, server: Against, output: Path) -> tuple[Outcome, ...]:
    """Every scenario of the revision's set, of which those count that are this server's."""
    words = [NODE, SUITE, "server", "--url", url, "--requirements", revision, "-o", output]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=BOUND, check=False)
    found = [_read(folder, revision, server) for folder in sorted(output.iterdir())]
    assert found, ended.stdout + ended.stderr
    return tuple(outcome for outcome in found if against(revision, outcome.scenario) == server)


def _read(folder: Path, revision: str, server: Against) -> Outcome:
    checks = json.loads((folder / "checks.json").read_text("utf-8"))
    counted = Counter(check["status"] for check in checks)
    # The folder is `server-SCENARIO-YYYY-MM-DDTHH-MM-SS-MMMZ`.
    scenario = folder.name.removeprefix("server-").rsplit("-", 6)[0]
    return Outcome(
        revision=revision,
        scenario=scenario,
        against=server,
        passed=counted["SUCCESS"],
        failed=counted["FAILURE"] + counted["WARNING"],
        skipped=counted["SKIPPED"],
        faults=tuple(f"{check['id']}: {check.get('errorMessage', '')}" for check in checks if check["status"] in ("FAILURE", "WARNING")),
    )


# ---- the servers ----------------------------------------------------------------------------------


@contextmanager
def serving(server: Against, folder: Path) -> Generator[str]:
    """The server under test; yields its URL."""
    folders = {name: str(folder / name) for name in ("home", "state", "config", "cache", "workspace")}
    for name in ("home", "workspace"):
        Path(folders[name]).mkdir()
    environment = {
        **os.environ,
        "HOME": folders["home"],
        "REMIT_STATE_DIR": folders["state"],
        "REMIT_CONFIG_DIR": folders["config"],
        "REMIT_CACHE_DIR": folders["cache"],
    }
    own = [sys.executable, "-m", "mcp_server", "serve", "--http", "127.0.0.1:0", "--workspace", folders["workspace"]]
    other = [sys.executable, "-m", "tests.conformance.fixture", str(folder / "fixture")]
    process = subprocess.Popen(
        own if server == "remit serve" else other, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    lines: list[str] = []
    try:
        url = _url(process.stdout, lines)
        # What it logs from now on is kept too, so that it never waits for a reader.
        reader = threading.Thread(target=lines.extend, args=(process.stdout,))
        reader.start()
        yield url
    finally:
        process.terminate()
        process.wait(120)
    reader.join(120)
    process.stdout.close()


def _url(output: Iterable[str], lines: list[str]) -> str:
    """The fixture prints it; `remit serve` logs it."""
    for line in output:
        lines.append(line)
        if line.startswith("http://"):
            return line.strip()
        if '"url"' in line:
            return str(json.loads(line)["url"])
    raise AssertionError("".join(lines))
