"""What lies in the tree, and what no file of it may say."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

ALLOWED = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "agent_defs",
    "benchmarks",
    "client_examples",
    "docs",
    "mcp_server",
    "pyproject.toml",
    "tests",
}

HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("deb", "debian", "org"),
        ("proxy", "golang", "org"),
    )
)
"""Put together here, so that this file does not name them."""


@cache
def _tracked() -> tuple[Path, ...]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)
    if listed.returncode == 0:
        return tuple(ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
    kept = (path for name in sorted(ALLOWED) for path in ([ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).rglob("*"))))
    return tuple(path for path in kept if path.is_file() and "__pycache__" not in path.parts)


def test_the_top_of_the_tree_holds_only_what_the_plan_names() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in _tracked()} - ALLOWED == set()


@pytest.mark.parametrize("kind", ["registry", "machine"])
def test_no_tracked_file_names_a_registry_or_a_path_of_this_machine(kind: str) -> None:
    words = HOSTS if kind == "registry" else (f"{ROOT}/", f"{sys.prefix}/")
    named = [f"{path.relative_to(ROOT)}: {word}" for path in _tracked() for word in words if word.encode() in path.read_bytes()]
    assert named == []


def test_no_document_says_that_the_package_is_published() -> None:
    documents = [
        path for path in _tracked() if path.suffix == ".md" and path.parts[len(ROOT.parts)] in {"README.md", "docs", "client_examples"}
    ]
    assert documents, "there is at least a README"
    claims = (
        "pip install remit",
        "pipx install remit",
        "uv add remit",
        "uvx remit",
        "uv tool install remit",
        "pipx run remit",
        "docker pull",
    )
    claimed = [f"{path.relative_to(ROOT)}: {claim}" for path in documents for claim in claims if claim in path.read_text(encoding="utf-8")]
    assert claimed == []
