"""Rules as people write them: a map from permission to action or to {pattern: action}, an explicit list, or a flag's text.

Gives `Rule` values in the order written, not yet anchored, and every fault. Which layer they join is `load`'s.
"""

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from mcp_server.errors import Fault
from mcp_server.policy.values import Action, Condition, Reach, Rule
from mcp_server.settings.vocabulary import (
    ACTIONS,
    ROLES,
    Complaint,
    action_complaint,
    nearest,
    pattern_complaint,
    permission_complaint,
)
from mcp_server.strict_yaml import Document, Place, Plain


class Writer(Enum):
    """Who wrote a rule: what it may say depends on it."""

    AGENT = "an agent definition"
    MANAGED = "managed settings"
    OTHER = "settings"


_KEYS = ("permission", "pattern", "action", "scope", "when", "reason", "opaque", "answer_by", "four_eyes", "reach")
_TESTS = ("equals", "matches", "minimum", "maximum", "one_of")


def read_rules(document: Document, place: Place, value: Plain, writer: Writer) -> tuple[tuple[Rule, ...], tuple[Fault, ...]]:
    """The rules at one place of a document, and what is wrong with them. Absent and empty are no rules."""
    reader = _Reader(document=document, writer=writer)
    if isinstance(value, dict):
        reader.read_map(place, value)
    elif isinstance(value, list):
        reader.read_list(place, value)
    elif value is not None:
        reader.report(place, "rules are a map or a list", 'write `{"*": allow}`, or a list of {permission, pattern, action}')
    return tuple(reader.rules), tuple(reader.faults)


def parse_flag(text: str, action: Action) -> Rule | Complaint:
    """The rule of one `--allow/--ask/--deny 'permission(pattern)'`; without parentheses the pattern is `*`."""
    permission, opened, rest = text.partition("(")
    if opened and not rest.endswith(")"):
        return f"`{text}` has no closing parenthesis at its end", "write 'permission(pattern)'"
    pattern = rest[:-1] if opened else "*"
    permission = permission.strip()
    complaint = permission_complaint(permission) or pattern_complaint(permission, pattern)
    return complaint or Rule(permission=permission, pattern=pattern, action=action, origin=f"--{action.word}")


@dataclass(slots=True, kw_only=True)
class _Reader:
    document: Document
    writer: Writer
    rules: list[Rule] = field(default_factory=list[Rule])
    faults: list[Fault] = field(default_factory=list[Fault])

    def report(self, place: Place, problem: str, remedy: str) -> None:
        self.faults.append(self.document.fault(place, problem, remedy))

    def sound(self, place: Place, complaint: Complaint | None) -> bool:
        if complaint is not None:
            self.report(place, *complaint)
        return complaint is None

    def origin(self, place: Place) -> str:
        return f"{self.document.file}:{self.document.line(place)}"

    # ---- the map --------------------------------------------------------------------------------

    def read_map(self, place: Place, value: dict[str, Plain]) -> None:
        for permission, said in value.items():
            here = (*place, permission)
            known = self.sound(here, permission_complaint(permission))
            if isinstance(said, dict):
                for pattern, action in said.items():
                    there = (*here, pattern)
                    if not known or self.sound(there, pattern_complaint(permission, pattern)):
                        self.add(there, permission, pattern, action)
            else:
                self.add(here, permission, "*", said)

    def add(self, place: Place, permission: str, pattern: str, action: Plain) -> None:
        if isinstance(action, dict | list):
            self.report(place, "an action is one word", "write allow, ask or deny; for a reason or a scope use the list form")
        elif self.sound(place, action_complaint(action)):
            word = ACTIONS[str(action)]
            self.rules.append(Rule(permission=permission, pattern=pattern, action=word, origin=self.origin(place)))

    # ---- the list -------------------------------------------------------------------------------

    def read_list(self, place: Place, items: list[Plain]) -> None:
        for index, item in enumerate(items):
            here = (*place, index)
            if not isinstance(item, dict):
                self.report(here, "a rule of the list is not a map", "write {permission: …, pattern: …, action: …}")
                continue
            before = len(self.faults)
            rule = self.read_item(here, item)
            if rule is not None and len(self.faults) == before:
                self.rules.append(rule)

    def read_item(self, place: Place, item: dict[str, Plain]) -> Rule | None:
        self.known_keys(place, item, _KEYS)
        permission = self.word(place, item, "permission")
        pattern = "*" if "pattern" not in item else self.word(place, item, "pattern")
        action = item.get("action")
        acts = self.sound(
            (*place, "action"), action_complaint(action) if "action" in item else ("the rule has no `action`", "add allow, ask or deny")
        )
        if permission is None or pattern is None or not acts:
            return None
        if self.sound((*place, "permission"), permission_complaint(permission)):
            self.sound((*place, "pattern"), pattern_complaint(permission, pattern))
        return Rule(
            permission=permission,
            pattern=pattern,
            action=ACTIONS[str(action)],
            scope=self.scope(place, item),
            when=self.conditions(place, item, permission),
            reason=self.word(place, item, "reason") if "reason" in item else None,
            opaque=self.opaque(place, item),
            answer_by=self.role(place, item),
            reach=self.reach(place, item),
            origin=self.origin(place),
        )

    def known_keys(self, place: Place, item: dict[str, Plain], known: tuple[str, ...]) -> None:
        for key in item:
            if key not in known:
                meant = nearest(key, known)
                self.report((*place, key), f"unknown key `{key}`", f"did you mean `{meant}`?" if meant else f"use {', '.join(known)}")

    def word(self, place: Place, item: dict[str, Plain], key: str) -> str | None:
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
        problem = f"`{key}` is not text" if key in item else f"the rule has no `{key}`"
        self.report((*place, key), problem, f"write the {key} as text, in quotes if it starts with * or a digit")
        return None

    def scope(self, place: Place, item: dict[str, Plain]) -> Literal["tree", "self"]:
        match item.get("scope", "tree"):
            case "tree":
                return "tree"
            case "self" if self.writer is Writer.AGENT:
                return "self"
            case "self":
                self.report(
                    (*place, "scope"),
                    f"`scope: self` has no meaning in {self.writer.value}",
                    "use it in agent definitions only; remove it here",
                )
            case _:
                self.report((*place, "scope"), "`scope` is neither tree nor self", "write tree or self, or leave it out for tree")
        return "tree"

    def opaque(self, place: Place, item: dict[str, Plain]) -> bool:
        if "opaque" not in item:
            return False
        if item["opaque"] != "allow":
            self.report((*place, "opaque"), "`opaque` is not allow", "write `opaque: allow`, or remove it")
        elif item.get("action") != "allow":
            self.report((*place, "opaque"), "`opaque: allow` stands in a rule that does not allow", "remove it, or make the action allow")
        return True

    def role(self, place: Place, item: dict[str, Plain]) -> str | None:
        """Who must answer: the role that is named, or any other member."""
        named = self.word(place, item, "answer_by") if self.for_asks(place, item, "answer_by") else None
        if named is not None and named not in ROLES:
            self.report((*place, "answer_by"), f"`{named}` is no role", f"write one of {', '.join(ROLES)}")
        return named or ("member" if self.four_eyes(place, item) else None)

    def four_eyes(self, place: Place, item: dict[str, Plain]) -> bool:
        if not self.for_asks(place, item, "four_eyes"):
            return False
        if item["four_eyes"] is not True:
            self.report((*place, "four_eyes"), "`four_eyes` is not true", "write `four_eyes: true`, or remove it")
        return True

    def reach(self, place: Place, item: dict[str, Plain]) -> Reach | None:
        if not self.for_asks(place, item, "reach"):
            return None
        if item["reach"] not in list(Reach):
            self.report((*place, "reach"), "`reach` is not a ruling's reach", "write once, session or tree")
            return None
        if item["reach"] != Reach.ONCE and ("answer_by" in item or "four_eyes" in item):
            self.report(
                (*place, "reach"), "an answer of somebody else counts once, however far `reach` goes", "remove `reach`, or write once"
            )
        return Reach(str(item["reach"]))

    def for_asks(self, place: Place, item: dict[str, Plain], key: str) -> bool:
        """The key is there, and may be: in an ask of managed settings."""
        if key not in item:
            return False
        if self.writer is not Writer.MANAGED:
            self.report((*place, key), f"`{key}` is for managed settings alone", "remove it here")
        elif item.get("action") != "ask":
            self.report((*place, key), f"`{key}` stands in a rule that does not ask", "remove it, or make the action ask")
        return self.writer is Writer.MANAGED

    # ---- when -----------------------------------------------------------------------------------

    def conditions(self, place: Place, item: dict[str, Plain], permission: str) -> tuple[Condition, ...]:
        if "when" not in item:
            return ()
        here, written = (*place, "when"), item["when"]
        if "__" not in permission:
            self.report(
                here,
                f"`when` tests arguments of upstream tools, and `{permission}` names none",
                "use a permission of the form <server>__<tool>",
            )
        if not isinstance(written, dict) or not written:
            self.report(here, "`when` is not a map of tests", "write {argument: value} or {argument: {matches: pattern}}")
            return ()
        found = [self.condition((*here, name), name, test) for name, test in written.items()]
        return tuple(condition for condition in found if condition is not None)

    def condition(self, place: Place, name: str, test: Plain) -> Condition | None:
        path = tuple(name.split("."))
        if not all(path):
            self.report(place, f"`{name}` names no argument", "write its name, inner ones after a dot: owner.login")
            return None
        if (starred := _starred(test)) is not None:
            # A deny that is meant for many would deny none.
            self.report(
                place,
                f"the test of `{name}` compares with `{starred}` itself; its * stands for nothing else",
                f"write {{matches: {json.dumps(starred)}}}; where the star itself is meant, {{equals: …}} or {{one_of: […]}}",
            )
            return None
        if isinstance(test, list):
            return Condition(path=path, one_of=tuple(test))
        if test is None:
            self.report(place, f"the test of `{name}` is empty", "write the value that the argument must have")
            return None
        if not isinstance(test, dict):
            return Condition(path=path, equals=test)
        self.known_keys(place, test, _TESTS)
        return self.tests(place, path, test)

    def tests(self, place: Place, path: tuple[str, ...], test: dict[str, Plain]) -> Condition | None:
        matches, one_of = test.get("matches"), test.get("one_of")
        low, high = test.get("minimum"), test.get("maximum")
        wrong = [
            *(["matches"] if matches is not None and not isinstance(matches, str) else []),
            *(["one_of"] if one_of is not None and not isinstance(one_of, list) else []),
            *[key for key, bound in (("minimum", low), ("maximum", high)) if bound is not None and not _number(bound)],
            *[key for key in test if key in _TESTS and test[key] is None],
        ]
        for key in wrong:
            self.report(
                (*place, key), f"`{key}` has a value of the wrong kind", "matches takes text, one_of a list, minimum and maximum a number"
            )
        if not test:
            self.report(place, "the test is empty", f"use one of {', '.join(_TESTS)}")
        if wrong or not test:
            return None
        return Condition(
            path=path,
            equals=test.get("equals"),
            matches=matches if isinstance(matches, str) else None,
            minimum=float(low) if isinstance(low, int | float) else None,
            maximum=float(high) if isinstance(high, int | float) else None,
            one_of=tuple(one_of) if isinstance(one_of, list) else None,
        )


def _starred(test: Plain) -> str | None:
    """What stands, in the short form of a test, as if it were a pattern."""
    values = test if isinstance(test, list) else [test]
    return next((value for value in values if isinstance(value, str) and "*" in value), None)


def _number(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
