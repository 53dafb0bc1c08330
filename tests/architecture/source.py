"""The source as the architecture tests see it: modules, what each imports and where, read without running anything."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "mcp_server"

ROOMS = (
    ("__main__",),
    ("cli",),
    ("serving",),
    ("app",),
    ("gateway",),
    ("connect",),
    ("protocol",),
    ("sessions",),
    ("tools",),
    ("shell",),
    ("sandbox",),
    ("store",),
    ("agents",),
    ("settings",),
    ("telemetry",),
    ("records",),
    ("policy",),
    ("strict_yaml", "redaction", "parts", "elicited"),
    ("principal", "errors"),
)
"""From the top down. A room imports from itself and from those below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name that a module imports, absolute."""

    target: str
    """`mcp_server.policy.values` for `from mcp_server.policy.values import Rule`; the module, not the name."""
    line: int
    deferred: bool
    """It stands in a function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One source file."""

    name: str
    path: Path
    text: str
    tree: ast.Module
    imports: tuple[Import, ...]

    @property
    def room(self) -> str:
        """The part of the package it belongs to; empty for the package itself."""
        return room_of(self.name)

    def __str__(self) -> str:
        return self.name


def room_of(name: str) -> str:
    """`policy` for `mcp_server.policy.values`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def rank(room: str) -> int:
    """Its height; 0 is the top.

    Raises:
        LookupError: It is no room of the plan.
    """
    for height, names in enumerate(ROOMS):
        if room in names:
            return height
    raise LookupError(f"{room} is in no row of ROOMS")


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, by name."""
    found = tuple(sorted((ROOT / PACKAGE).rglob("*.py")))
    names = {_name(path) for path in found}
    return tuple(_read(path, names) for path in found)


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read(path: Path, names: set[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, filename=str(path))
    deferred = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(outer)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }
    imports = tuple(
        Import(target=target, line=node.lineno, deferred=id(node) in deferred)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in _targets(node, names)
    )
    return Module(name=_name(path), path=path, text=text, tree=tree, imports=imports)


def _targets(node: ast.Import | ast.ImportFrom, names: set[str]) -> tuple[str, ...]:
    if isinstance(node, ast.Import):
        return tuple(alias.name for alias in node.names)
    base = ("." * node.level) + (node.module or "")
    # `from mcp_server.policy import values` names a module, `from mcp_server.policy.values import Rule` does not.
    return tuple(dict.fromkeys(f"{base}.{alias.name}" if f"{base}.{alias.name}" in names else base for alias in node.names))


def ours(module: Module) -> tuple[Import, ...]:
    """Its imports from this package."""
    return tuple(i for i in module.imports if i.target == PACKAGE or i.target.startswith(f"{PACKAGE}."))
