"""Files and functions stay short, exceptions give their reason, and packages do nothing when imported."""

import ast
import re

from tests.architecture.source import PACKAGE, ROOT, modules

LONGEST_FILE = 400
"""Written lines, blank ones not counted. The aim is 300; past 400 a module holds two ideas."""

LONGEST_FUNCTION = 40
"""Lines from `def` to the end, docstring not counted: one thought."""

BANNED_WORDS = {"manager", "helper", "helpers", "util", "utils", "service", "data", "info"}
"""Names that say nothing."""

NAMED_OUTSIDE = {"mcp_server.sessions.toolset.info", "mcp_server.gateway.patience"}
"""Modules with a name that is known outside: of a tool, `session_info`; of what asyncio calls, `data_received`."""

EXCEPTION = re.compile(r"#\s*(noqa|type:\s*ignore|pyright:\s*ignore|pragma)\b(?P<rest>.*)$")
REASONED = re.compile(r"^(:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*|\[[\w, ]+\])\s+- \S+")


def test_no_file_is_longer_than_one_idea() -> None:
    long = {
        module.name: lines for module in modules() if (lines := sum(1 for line in module.text.splitlines() if line.strip())) > LONGEST_FILE
    }
    assert long == {}


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if said else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def test_no_function_is_longer_than_one_thought() -> None:
    long = {
        f"{module}.{node.name}": length
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := _length(node)) > LONGEST_FUNCTION
    }
    assert long == {}


def test_packages_are_empty() -> None:
    full = [str(module.path.relative_to(ROOT)) for module in modules() if module.path.name == "__init__.py" and module.text.strip()]
    assert full == []


def test_every_module_says_what_it_is() -> None:
    mute = [module.name for module in modules() if module.text.strip() and ast.get_docstring(module.tree) is None]
    assert mute == []


def test_every_exception_to_a_check_gives_its_reason_on_its_line() -> None:
    files = [path for folder in (PACKAGE, "tests", "client_examples", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
    silent = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        if path != ROOT / "tests/architecture/test_budgets.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (found := EXCEPTION.search(line)) and "`" not in line and not REASONED.match(found["rest"])
    ]
    assert silent == []


def test_no_module_class_or_function_has_a_name_that_says_nothing() -> None:
    empty = [
        f"{module}: {name}"
        for module in modules()
        if module.name not in NAMED_OUTSIDE
        for name in _names(module.tree, module.name)
        if _words(name) & BANNED_WORDS
    ]
    assert empty == []


def _names(tree: ast.Module, module: str) -> list[str]:
    defined = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return [module.rsplit(".", 1)[-1], *defined]


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
