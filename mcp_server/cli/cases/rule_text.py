"""Rules as case files write them: `permission 'pattern' action`, then `self` or `opaque` where they apply."""

import re

from mcp_server.policy.values import Action, Rule

_RULE = re.compile(r"(?P<permission>\S+) '(?P<pattern>.*)' (?P<action>allow|ask|deny)(?P<rest>( self| opaque)*)", re.DOTALL)


def problem_of(text: object) -> str | None:
    """Why it is no rule; None where it is one."""
    if not isinstance(text, str):
        return "it is no text"
    found = _RULE.fullmatch(text)
    if found is None:
        return "the pattern stands in single quotes, then allow, ask or deny, then self or opaque"
    if "opaque" in found["rest"] and found["action"] != "allow":
        return "only an allow can be opaque"
    return None


def read_rule(text: str) -> Rule:
    """The rule, not yet anchored. `problem_of` has found nothing wrong with it."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"no rule: {text!r}")
    return Rule(
        permission=found["permission"],
        pattern=found["pattern"],
        action=Action[found["action"].upper()],
        scope="self" if "self" in found["rest"].split() else "tree",
        opaque="opaque" in found["rest"].split(),
    )
