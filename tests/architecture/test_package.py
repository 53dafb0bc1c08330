"""The package as people install it: the command, and a wheel that needs no checkout."""

import os
import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT


def _run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=400, check=False)


def test_the_remit_command_is_installed_and_tells_its_version(tmp_path: Path) -> None:
    ended = _run(str(Path(sys.executable).with_name("remit")), "--version", cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "remit 0.1.0\n", "")


def test_a_wheel_brings_its_agents_and_runs_without_the_checkout(tmp_path: Path) -> None:
    built = _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist"), cwd=ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("remit-*.whl")
    installed = _run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(tmp_path / "lib"),
        str(wheel),
        cwd=tmp_path,
    )
    assert installed.returncode == 0, installed.stderr
    (tmp_path / "project").mkdir()
    listed = _run(
        sys.executable,
        "-c",
        "import mcp_server, sys; from mcp_server.__main__ import main; print(mcp_server.__file__); sys.argv[1:] = ['agents']; main()",
        cwd=tmp_path / "project",
        PYTHONPATH=str(tmp_path / "lib"),
        HOME=str(tmp_path / "home"),
    )
    assert listed.stderr == ""
    assert str(tmp_path / "lib") in listed.stdout.splitlines()[0]
    assert "explore" in listed.stdout
