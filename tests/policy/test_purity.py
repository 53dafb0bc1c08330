"""Policy is pure: it imports the standard library's plain parts and itself, and nothing that reads, waits or logs."""

import ast
from pathlib import Path

import pytest

import mcp_server.policy.decide

FOLDER = Path(mcp_server.policy.decide.__file__).parent
PLAIN = {
    *(
        "collections.abc",
        "dataclasses",
        "enum",
        "fnmatch",
        "functools",
        "math",
        "posixpath",
        "re",
        "types",
        "typing",
        "unicodedata",
        "itertools",
    ),
}


def imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_a_policy_module_imports_nothing_but_plain_parts_and_policy(file: Path):
    assert {name for name in imported(file) if name not in PLAIN and not name.startswith("mcp_server.policy")} == set()


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_a_policy_module_opens_no_file_and_prints_nothing(file: Path):
    names = {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}
    assert names & {"open", "print", "input", "eval", "exec", "__import__"} == set()
