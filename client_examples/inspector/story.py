"""MCP Inspector's command line against Remit, checked step by step. Needs `make inspector`; changes nothing in the checkout."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPTS = Path(sys.executable).parent
INSPECTOR = ROOT / "build" / "inspector" / "node_modules" / ".bin" / "mcp-inspector"

STEPS = (
    ("every tool has a schema that all hosts take", ("--method", "tools/list", "--strict"), 0, '"session_info"'),
    ("a file is read", ("--method", "tools/call", "--tool-name", "read", "--tool-arg", "filePath=README.md"), 0, "MCP Inspector"),
    (
        "an edit is denied, and the answer says by which rule",
        ("--method", "tools/call", "--tool-name", "edit", "--tool-arg", "filePath=config.json", "oldString=remit", "newString=other"),
        5,
        "edit config.json",
    ),
)
"""What is shown, the Inspector's arguments, its exit code, and what its answer holds."""


def main() -> int:
    """Run every step in both protocol versions; the number of steps that came out wrong."""
    if not INSPECTOR.exists():
        print("MCP Inspector is not installed: run `make inspector` first", file=sys.stderr)
        return 1
    wrong = 0
    with tempfile.TemporaryDirectory() as state:
        for era in ("legacy", "modern"):
            for story, arguments, code, holds in STEPS:
                ended = _inspect(era, arguments, Path(state))
                right = ended.returncode == code and holds in ended.stdout
                wrong += not right
                print(f"{'ok   ' if right else 'WRONG'} {era}: {story}")
                if not right:
                    print(f"exit code {ended.returncode}, wanted {code}\n{ended.stdout}{ended.stderr}")
    return wrong


def _inspect(era: str, arguments: tuple[str, ...], state: Path) -> subprocess.CompletedProcess[str]:
    config = json.loads((HERE / "config.json").read_text(encoding="utf-8"))
    server = config["mcpServers"]["remit"]
    server["command"] = str(SCRIPTS / "remit")
    server["env"] = {f"REMIT_{name}_DIR": str(state / name.lower()) for name in ("STATE", "CONFIG", "CACHE")}
    written = state / "config.json"
    written.write_text(json.dumps(config), encoding="utf-8")
    environment = {**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}", "MCP_INSPECTOR_SECRET_STORE": "memory"}
    return subprocess.run(
        [INSPECTOR, "--cli", "--config", written, "--server", "remit", "--protocol-era", era, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
