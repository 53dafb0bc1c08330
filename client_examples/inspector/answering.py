"""MCP Inspector's `mcpdo` answers a subagent's prompts, in both protocol versions. Needs `make inspector`.

`mcpdo` keeps a connection open between commands: `tools/call` comes back with the question, `elicitation/respond` answers it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPTS = Path(sys.executable).parent
MCPDO = ROOT / "build" / "inspector" / "node_modules" / ".bin" / "mcpdo"
TASK = ("description:=Tidy the notes", "prompt:=Take what is done off notes.txt.", "subagent_type:=general")


def main() -> int:
    """Allow once, then deny, in each version; the number of steps that came out wrong."""
    if not MCPDO.exists():
        print("MCP Inspector is not installed: run `make inspector` first", file=sys.stderr)
        return 1
    wrong = 0
    for era in ("legacy", "modern"):
        with tempfile.TemporaryDirectory() as name:
            desk = Desk(Path(name).resolve())
            try:
                desk.mcpdo("--config", str(desk.config()), "connect", "remit", "--era", era, "--elicit", "form")
                wrong += told(f"{era}: an answer of `deny` leaves the file alone", desk.answered("deny") == (1, True))
                wrong += told(f"{era}: an answer of `allow_once` lets the edit happen", desk.answered("allow_once") == (0, False))
            finally:
                desk.mcpdo("daemon", "stop")
    return wrong


def told(story: str, right: bool) -> int:
    """Print a step; 1 where it is wrong."""
    print(f"{'ok   ' if right else 'WRONG'} {story}")
    return 0 if right else 1


class Desk:
    """A folder with a workspace, Remit's own folders, and a daemon of `mcpdo` that nobody else talks to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "HOME": str(folder), "MCP_INSPECTOR_SECRET_STORE": "file"}
        self._environment["PATH"] = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
        self._environment |= {f"REMIT_{name}_DIR": str(folder / name.lower()) for name in ("STATE", "CONFIG", "CACHE")}
        shutil.copytree(HERE.parent / "sample", folder / "workspace")
        exports = self._run("private").stdout.splitlines()
        for name, _, value in (line.removeprefix("export ").partition("=") for line in exports):
            self._environment[name] = value.strip("'")

    def config(self) -> Path:
        """The configuration that names the server."""
        serve = ["serve", "--workspace", str(self._folder / "workspace"), "--model", "scripted:script.yaml"]
        variables = {name: value for name, value in self._environment.items() if name.startswith("REMIT_")}
        path = self._folder / "config.json"
        path.write_text(json.dumps({"mcpServers": {"remit": {"command": str(SCRIPTS / "remit"), "args": serve, "env": variables}}}))
        return path

    def answered(self, decision: str) -> tuple[int, bool]:
        """Send `general` and answer its one prompt; how many of its calls were refused, and whether the paper is still on the list."""
        pending = self.mcpdo("@remit", "tools/call", "task", *TASK)["elicitationPending"]
        print("\n".join(f"      {line}" for line in pending["message"].splitlines()))
        result = self.mcpdo("@remit", "elicitation/respond", pending["elicitationId"], f"decision:={decision}")
        return len(result["structuredContent"]["refused"]), "paper" in (self._folder / "workspace" / "notes.txt").read_text(
            encoding="utf-8"
        )

    def mcpdo(self, *words: str) -> Any:
        """What one command of `mcpdo` printed."""
        ended = self._run("--format", "json", *words)
        if ended.returncode != 0:
            raise SystemExit(f"mcpdo {' '.join(words)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return json.loads(ended.stdout) if ended.stdout.strip().startswith("{") else None

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MCPDO, *words],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


if __name__ == "__main__":
    sys.exit(main())
