"""No test hangs on how fast a machine is: what waits has the one bound, and no shorter one that a library takes by itself."""

import ast

from tests.architecture.source import ROOT

LIBRARYS_OWN = {"AsyncClient", "Client"}
"""Of `httpx2`: without `timeout` they give a busy machine five seconds."""


def test_every_wait_of_a_test_has_the_one_bound() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted((ROOT / "tests").rglob("*.py"))
        if "httpx2." in (text := file.read_text("utf-8")) or "fail_after" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (_guesses(node) or _bounds(node))
    ]
    assert found == [], "take LONG of tests/bounds.py"


def _guesses(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    ours = isinstance(call.func.value, ast.Name) and call.func.value.id == "httpx2" and call.func.attr in LIBRARYS_OWN
    return ours and not any(keyword.arg in (None, "timeout") for keyword in call.keywords)


def _bounds(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr == "fail_after" and any(isinstance(argument, ast.Constant) for argument in call.args)
