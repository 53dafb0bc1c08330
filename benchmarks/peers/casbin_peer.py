"""The scene's rules as a casbin policy. It knows allow and deny only, so an ask counts as a deny."""

import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.scene import Said
from mcp_server.policy import wildcards
from mcp_server.policy.values import Action

MODEL = """
[request_definition]
r = permission, value

[policy_definition]
p = permission, pattern, eft

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = r.permission == p.permission && regexMatch(r.value, p.pattern)
"""


def enforcer(rules: tuple[Said, ...]) -> Callable[[str, str], bool]:
    """Asks it: may this value have this permission? Policies are loaded here, once."""
    casbin: Any = importlib.import_module("casbin")
    with tempfile.TemporaryDirectory() as folder:
        model, policy = Path(folder) / "model.conf", Path(folder) / "policy.csv"
        model.write_text(MODEL)
        policy.write_text("")
        made: Any = casbin.Enforcer(str(model), str(policy))
    made.add_policies([[rule.permission, _pattern(rule.pattern), "allow" if rule.action is Action.ALLOW else "deny"] for rule in rules])
    return lambda permission, value: bool(made.enforce(permission, value))


def _pattern(pattern: str) -> str:
    return "|".join(wildcards.expression(form) for form in wildcards.forms(pattern))
