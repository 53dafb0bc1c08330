"""The shell cases through the tool in a real folder, where no sandbox holds: nothing that they close is open, and nothing that they
allow is denied."""

import re
from dataclasses import replace
from typing import Any

import pytest
import yaml

from mcp_server.errors import ToolFailure
from mcp_server.policy.chain import Commons
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import Action
from mcp_server.tools.background import Background
from mcp_server.tools.bash import BashTool
from tests.cases_folder import CASES
from tests.policy.universe import member, rules, verdict_of
from tests.tools.lending import Lent

BASH = BashTool(Background())


def cases() -> list[dict[str, Any]]:
    return yaml.safe_load((CASES / "shell.yaml").read_text(encoding="utf-8"))


def line_of(case: dict[str, Any]) -> str:
    if "command" in case:
        return str(case["command"])
    repeat = case["command_repeat"]
    return repeat["unit"] * repeat["times"] + repeat["end"]


def decided(case: dict[str, Any], lent: Lent) -> Action:
    """What becomes of the line; a refusal in words is as good as a deny."""
    agent = replace(member(0), rules=rules(*(re.sub(r"'(.*)'", r"\1", rule) for rule in case["rules"])))
    home = lent.context.environment["HOME"]
    commons = Commons(workspace=str(lent.workspace), guard=guard_rules(str(lent.workspace), home, f"{home}/state"))
    try:
        _, context = lent.judged(BASH, command=line_of(case))
    except ToolFailure:
        return Action.DENY
    return verdict_of([agent], context.judged, commons).action


async def test_no_case_is_decided_more_loosely_than_is_right(lent: Lent) -> None:
    loose = {
        line_of(case): (found.word, wanted.word)
        for case in cases()
        if (found := decided(case, lent)) < (wanted := Action[(case.get("exactly") or case["at_least"]).upper()])
    }
    assert loose == {}


async def test_what_is_to_be_denied_is_denied_and_not_only_asked(lent: Lent) -> None:
    asked = [line_of(case) for case in cases() if case.get("exactly") == "deny" and decided(case, lent) is Action.ASK]
    assert asked == []


async def test_what_is_to_be_allowed_is_at_worst_asked(lent: Lent) -> None:
    denied = [line_of(case) for case in cases() if case.get("exactly") == "allow" and decided(case, lent) is Action.DENY]
    assert denied == []


@pytest.mark.parametrize("line", ["git log -1", "python3 scripts/report.py", "./gradlew test"])
async def test_plain_lines_that_are_to_be_allowed_are_allowed(lent: Lent, line: str) -> None:
    [case] = [case for case in cases() if line_of(case) == line]
    assert decided(case, lent) is Action.ALLOW
