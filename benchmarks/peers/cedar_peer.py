"""The scene's rules as Cedar policies, parsed once. Cedar knows permit and forbid only, so an ask counts as a forbid."""

import importlib
import json
from collections.abc import Callable
from typing import Any

from benchmarks.scene import Said
from mcp_server.policy import wildcards
from mcp_server.policy.values import Action


def authorizer(rules: tuple[Said, ...]) -> Callable[[str, str], bool]:
    """Asks it: may this value have this permission?"""
    cedar: Any = importlib.import_module("cedarpy")
    policies: Any = cedar.PolicySet.from_str("\n".join(_policy(rule) for rule in rules))
    entities: Any = cedar.Entities.from_json_str("[]")

    def ask(permission: str, value: str) -> bool:
        request = {
            "principal": {"type": "Session", "id": "own"},
            "action": {"type": "Action", "id": permission},
            "resource": {"type": "Workspace", "id": "here"},
            "context": {"value": value},
        }
        return bool(cedar.is_authorized(request, policies, entities).allowed)

    return ask


def _policy(rule: Said) -> str:
    effect = "permit" if rule.action is Action.ALLOW else "forbid"
    tests = " || ".join(f"context.value like {json.dumps(form)}" for form in wildcards.forms(rule.pattern))
    return f'{effect} (principal, action == Action::"{rule.permission}", resource) when {{ {tests} }};'
