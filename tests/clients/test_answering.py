"""The example that answers prompts through MCP Inspector's `mcpdo`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MCPDO = ROOT / "build" / "inspector" / "node_modules" / ".bin" / "mcpdo"


@pytest.mark.skipif(
    not (MCPDO.exists() and Path(sys.executable).with_name("node").exists()),
    reason="MCP Inspector is not installed; `make inspector` brings it and the Node it needs",
)
def test_prompts_are_answered_in_both_protocol_versions() -> None:
    story = ROOT / "client_examples" / "inspector" / "answering.py"
    told = subprocess.run([sys.executable, story], capture_output=True, text=True, timeout=900, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("ok   ") == 4
    assert told.stdout.count("build › general wants to use edit") == 4
