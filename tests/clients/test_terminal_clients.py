"""The two terminal clients in `client_examples`, run as programs, with a person's lines on their standard input."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.clients.configurations import EXAMPLES, ROOT
from tests.cradle.commands import module

BOUND = 240.0
NODE = Path(sys.executable).with_name("node")
MODULES = ROOT / "build" / "typescript" / "node_modules"

each_era = pytest.mark.parametrize(("era", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
needs_node = pytest.mark.skipif(
    not (NODE.exists() and MODULES.exists()), reason="the TypeScript SDK is not installed; `make typescript` brings it"
)

LEFT = "Buy paper.\nCall the printer.\n"
DONE = "Call the printer.\n"


def run(words: Sequence[str | Path], typed: str, environment: Mapping[str, str], folder: Path) -> tuple[int, str]:
    ended = subprocess.run(
        words,
        input=typed,
        cwd=folder,
        env={**environment, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.returncode, ended.stdout


def served(sample: Path) -> list[str]:
    return [*module("mcp_server", "serve", "--workspace", str(sample), "--model", "scripted:script.yaml", "--log-level", "error")]


def python(era: str, typed: str, sample: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    client = EXAMPLES / "python_terminal" / "client.py"
    return run([sys.executable, client, "--era", era, *served(sample)], typed, environment, sample.parent)


def typescript(era: str, typed: str, sample: Path, environment: Mapping[str, str], agent: str = "general") -> tuple[int, str]:
    """A copy beside the packages: the program looks for them in the folders above it."""
    folder = sample.parent
    (folder / "client.ts").write_bytes((EXAMPLES / "typescript" / "client.ts").read_bytes())
    (folder / "package.json").write_bytes((EXAMPLES / "typescript" / "package.json").read_bytes())
    (folder / "node_modules").symlink_to(MODULES)
    return run([NODE, "client.ts", "--era", era, agent, "tidy the notes", "--", *served(sample)], typed, environment, folder)


@each_era
def test_python_allows_once(era: str, version: str, sample: Path, environment: Mapping[str, str]) -> None:
    code, said = python(era, "general: tidy the notes\n1\n\n\n", sample, environment)
    assert code == 0
    assert f"protocol {version}" in said
    assert "build › general wants to use edit:" in said
    assert "general, completed" in said
    assert "did not happen" not in said
    assert (sample / "notes.txt").read_text() == DONE


@each_era
def test_python_denies_with_words(era: str, version: str, sample: Path, environment: Mapping[str, str]) -> None:
    code, said = python(era, "general: tidy the notes\n4\nleave it\n\n", sample, environment)
    assert code == 0
    assert "denied by the person: the person says: leave it" in said
    assert "did not happen: build › general" in said
    assert (sample / "notes.txt").read_text() == LEFT


def test_python_is_told_of_an_agent_that_is_not_there(sample: Path, environment: Mapping[str, str]) -> None:
    code, said = python("auto", "nobody: tidy\nwhat?\n\n", sample, environment)
    assert code == 0
    assert "`nobody` is not a subagent; subagents are: explore" in said
    assert "Write it as AGENT: TASK" in said


@needs_node
@each_era
@pytest.mark.parametrize(("typed", "notes", "refused"), [("1\n\n", DONE, False), ("4\nleave it\n", LEFT, True)])
def test_typescript_answers(
    era: str, version: str, typed: str, notes: str, refused: bool, sample: Path, environment: Mapping[str, str]
) -> None:
    code, said = typescript(era, typed, sample, environment)
    assert code == 0, said
    assert f"protocol {version}" in said
    assert "build › general wants to use edit:" in said
    assert ("did not happen: build › general" in said) is refused
    assert (sample / "notes.txt").read_text() == notes


@needs_node
def test_typescript_is_told_of_an_agent_that_is_not_there(sample: Path, environment: Mapping[str, str]) -> None:
    code, said = typescript("auto", "", sample, environment, agent="nobody")
    assert code == 1
    assert "`nobody` is not a subagent; subagents are: explore" in said
