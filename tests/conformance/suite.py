"""Running the official conformance suite against a server in a process of its own, and reading what it found."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.conformance.names import SERVER
from tests.cradle.commands import module

ROOT = Path(__file__).parents[2]
NODE = Path(sys.executable).with_name("node")
SUITE = ROOT / "build" / "conformance" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

BOUND = 600.0
"""Seconds for one revision's scenarios. They take about twenty."""

REVISIONS = ("2025-11-25", "2026-07-28")

Against = Literal["remit serve", "fixture", "remit before http", "remit before stdio"]
"""The last two: `remit serve --http` with the fixture server behind it, reached by the one way or the other."""

DIRECT: tuple[Against, ...] = ("remit serve", "fixture")
THROUGH: tuple[Against, ...] = ("remit before http", "remit before stdio")

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


_NOT_LENT = "asks for a turn of the client's model or for its folders, which Remit lends to no server behind it; it is told in words"
_OWN_KEY = "wants a question under the key that the tool gave it; Remit puts it under one of its own"
_IN_WORDS = "wants an error of the protocol; Remit tells it as the result of a tool that failed, in words that a model reads"
_OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "2025-11-25": {
        "elicitation-sep1330-enums": "wants `enumNames`, an old form of titles; Remit puts them in the form that the revision has now",
        "tools-call-sampling": _NOT_LENT,
    },
    "2026-07-28": {
        "input-required-result-basic-elicitation": _OWN_KEY,
        "input-required-result-basic-list-roots": _NOT_LENT,
        "input-required-result-basic-sampling": _NOT_LENT,
        "input-required-result-capability-check": "wants only what its client can be asked; Remit can ask a person otherwise, and waits",
        "input-required-result-ignore-extra-params": _OWN_KEY,
        "input-required-result-multiple-input-requests": _NOT_LENT,
        "server-stateless": _IN_WORDS,
        "tasks-lifecycle": _IN_WORDS,
        "tasks-mrtr-composition": "wants the first question before there is a task; Remit puts it in the task",
        "tasks-mrtr-input": "answers forms with what they do not ask for, which Remit passes on to no server; the one behind asks on",
        "tasks-required-task-error": "wants a tool that needs tasks refused to a client without; Remit follows its task for any client",
    },
}
DIFFERS: Mapping[tuple[str, str], str] = {
    (revision, scenario): why for revision, whys in _OTHERWISE.items() for scenario, why in whys.items()
}
"""Scenarios that come out otherwise with Remit before the fixture server, and why."""


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


def excused(outcome: Outcome) -> bool:
    """Is it known why it does not pass?"""
    at = (outcome.revision, outcome.scenario)
    return at in NOT_PASSED or (outcome.against in THROUGH and at in DIFFERS)


def concerns(server: Against, revision: str, scenario: str) -> bool:
    """Is a scenario run against this server?"""
    return (server == "remit serve") == (scenario in SERVED[revision])


def run(url: str, revision: str, server: Against, output: Path) -> tuple[Outcome, ...]:
    """Every scenario of the revision's set, of which those count that are this server's."""
    words = [NODE, SUITE, "server", "--url", url, "--requirements", revision, "-o", output]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=BOUND, check=False)
    found = [_read(folder, revision, server) for folder in sorted(output.iterdir())]
    assert found, ended.stdout + ended.stderr
    return tuple(outcome for outcome in found if concerns(server, revision, outcome.scenario))


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
def serving(server: Against, revision: str, folder: Path) -> Generator[str]:
    """The server under test; yields its URL. A server behind Remit speaks the suite's revision, so that it can ask what its tools ask."""
    old = ["old"] if revision == "2025-11-25" else []
    match server:
        case "remit serve":
            with _remit(folder, {}) as url:
                yield url
        case "fixture":
            with _started(_fixture(folder)) as url:
                yield url
        case "remit before http":
            with _started(_fixture(folder, *old)) as upstream, _before(folder, {"url": upstream}) as url:
                yield url
        case "remit before stdio":
            command, *words = _fixture(folder, "stdio", *old)
            with _before(folder, {"command": command, "args": words, "cwd": str(ROOT), "shareable": True}) as url:
                yield url


def _fixture(folder: Path, *words: str) -> list[str]:
    return [*module("tests.conformance.fixture", str(folder / "fixture"), *words)]


@contextmanager
def _before(folder: Path, upstream: Mapping[str, Any]) -> Generator[str]:
    settings = {"mcpServers": {SERVER: upstream}, "permission": {f"{SERVER}__*": "allow"}}
    with _remit(folder, settings) as remit, _started(module("tests.conformance.translating", remit)) as url:
        yield url


@contextmanager
def _remit(folder: Path, settings: Mapping[str, Any]) -> Generator[str]:
    folders = {name: str(folder / name) for name in ("home", "state", "config", "cache", "workspace")}
    for name in ("home", "workspace", "config"):
        Path(folders[name]).mkdir()
    (folder / "config" / "settings.yaml").write_text(json.dumps(settings))
    environment = {
        "HOME": folders["home"],
        "REMIT_STATE_DIR": folders["state"],
        "REMIT_CONFIG_DIR": folders["config"],
        "REMIT_CACHE_DIR": folders["cache"],
    }
    words = module("mcp_server", "serve", "--http", "127.0.0.1:0", "--workspace", folders["workspace"])
    with _started(words, environment) as url:
        yield url


@contextmanager
def _started(words: Sequence[str], environment: Mapping[str, str] | None = None) -> Generator[str]:
    whole = {**os.environ, **(environment or {})}
    process = subprocess.Popen(words, cwd=ROOT, env=whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
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
