"""Imports point down, never round, and heavy or impure things stay in their rooms."""

import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.source import PACKAGE, ROOT, modules, ours, rank, room_of

SDK_ROOMS = {"protocol", "connect", "gateway", "app", "serving"}
"""Where the MCP SDK may be imported."""

IMPURE = {
    "anyio",
    "asyncio",
    "datetime",
    "io",
    "logging",
    "mcp",
    "os",
    "pathlib",
    "random",
    "secrets",
    "shutil",
    "socket",
    "sqlite3",
    "structlog",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "uuid",
}

WIDEST = 12
"""Imports of our own modules that one module may have: past that it does too much."""

COMPOSERS = {f"{PACKAGE}.app"}
"""Exempt from WIDEST: composing is knowing all the others."""

WIDER = {
    f"{PACKAGE}.sessions.desk": 16,
    f"{PACKAGE}.sessions.supervisor": 13,
    f"{PACKAGE}.shell.reading": 13,
}
"""Known gaps: the doors where all parts of a call meet. Each may come down to WIDEST and out of this list, none may grow."""


def test_every_room_has_a_place_in_the_order() -> None:
    for module in modules():
        if module.room:
            rank(module.room)


def test_imports_point_down_only() -> None:
    upward = [
        f"{module}:{found.line} imports {found.target}"
        for module in modules()
        for found in ours(module)
        if module.room and room_of(found.target) != module.room and rank(room_of(found.target)) <= rank(module.room)
    ]
    assert upward == []


def test_no_module_imports_relatively_or_through_the_package() -> None:
    loose = [
        f"{module}:{found.line} imports {found.target}"
        for module in modules()
        for found in module.imports
        if found.target.startswith(".") or found.target == PACKAGE
    ]
    assert loose == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module.name: {found.target for found in ours(module)} - {module.name} for module in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_an_import_inside_a_function_gives_its_reason() -> None:
    silent = [
        f"{module}:{found.line} imports {found.target}"
        for module in modules()
        for found in module.imports
        if found.deferred and "# noqa: PLC0415 - " not in module.text.splitlines()[found.line - 1]
    ]
    assert silent == []


def test_our_own_modules_are_deferred_only_where_commands_are_loaded() -> None:
    deferred = [f"{module}:{found.line} imports {found.target}" for module in modules() for found in ours(module) if found.deferred]
    assert deferred == []


def test_no_module_imports_too_many_of_ours() -> None:
    widths = {module.name: len({found.target for found in ours(module)}) for module in modules() if module.name not in COMPOSERS}
    assert {name: width for name, width in widths.items() if width > WIDER.get(name, WIDEST)} == {}


def test_the_known_wide_modules_are_still_that_wide() -> None:
    widths = {module.name: len({found.target for found in ours(module)}) for module in modules()}
    assert {name: width for name, width in WIDER.items() if name in widths and widths[name] <= WIDEST} == {}


def test_the_sdk_is_imported_only_where_the_protocol_is_spoken() -> None:
    astray = [
        f"{module}:{found.line} imports {found.target}"
        for module in modules()
        for found in module.imports
        if found.target.split(".")[0] in {"mcp", "mcp_types"} and module.room not in SDK_ROOMS
    ]
    assert astray == []


def test_policy_knows_no_clock_no_file_and_no_world() -> None:
    impure = [
        f"{module}:{found.line} imports {found.target}"
        for module in modules()
        for found in module.imports
        if module.room == "policy" and found.target.split(".")[0] in IMPURE
    ]
    assert impure == []


ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print("imported", len(sys.argv) - 1)
"""


def test_every_module_can_be_imported_without_a_warning() -> None:
    """Any of them could be the first: there is no circle."""
    names = [module.name for module in modules() if module.name != f"{PACKAGE}.__main__"]
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALL, *names], cwd=ROOT, capture_output=True, text=True, timeout=400, check=False
    )
    assert (ended.stdout.strip(), ended.stderr) == (f"imported {len(names)}", "")
