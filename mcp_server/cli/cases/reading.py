"""Reads case files. Every fault of every file at once, with its line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from mcp_server.cli.cases.rule_text import problem_of
from mcp_server.cli.cases.written import (
    Case,
    DecisionCase,
    ModeCase,
    PolicyCase,
    ShellCase,
    SpawnCase,
    WildcardCase,
)
from mcp_server.errors import ConfigError, Fault
from mcp_server.strict_yaml import Document, Place, Plain, read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCase:
    """A case, and where it stands."""

    file: Path
    line: int
    case: Case

    @property
    def name(self) -> str:
        """Its own name, else what it is about."""
        match self.case:
            case WildcardCase():
                value = "a repeated text" if self.case.value is None else repr(self.case.value)
                return self.case.name or f"{self.case.pattern!r} and {value}"
            case ShellCase():
                return self.case.name or (self.case.command or "a repeated command")
            case _:
                return self.case.name


def read_cases(files: Sequence[Path]) -> tuple[PlacedCase, ...]:
    """All cases of all files.

    Raises:
        ConfigError: A file is not what a case file must be.
    """
    faults: list[Fault] = []
    cases = [case for file in files for case in _file(file, faults)]
    if faults:
        raise ConfigError(tuple(faults))
    return tuple(cases)


def _file(file: Path, faults: list[Fault]) -> tuple[PlacedCase, ...]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        faults.append(Fault(file=str(file), line=None, problem=f"cannot be read: {reason}", remedy="name a case file"))
        return ()
    document = read_yaml(text, str(file))
    faults.extend(document.faults)
    if not isinstance(document.value, list) or not document.value:
        faults.append(document.fault((), "holds no list of cases", "write one case an item, each starting with `- `"))
        return ()
    found = (_case(document, index, item, file, faults) for index, item in enumerate(document.value))
    return tuple(case for case in found if case is not None)


def _case(document: Document, index: int, item: Plain, file: Path, faults: list[Fault]) -> PlacedCase | None:
    shape = _shape(item)
    if shape is None:
        keys = "pattern, layers, chain, modes or command"
        faults.append(document.fault((index,), "no kind of case has these keys", f"a case has one of {keys}"))
        return None
    try:
        case = shape.model_validate(item)
    except ValidationError as error:
        faults.extend(_faults(document, index, error, shape))
        return None
    before = len(faults)
    faults.extend(_unsound(document, index, case))
    faults.extend(_rule_faults(document, (index,), item))
    if len(faults) > before:
        return None
    return PlacedCase(file=file, line=document.line((index,)), case=case)


def _shape(item: Plain) -> type[Case] | None:
    if not isinstance(item, dict):
        return None
    by_key: tuple[tuple[str, type[Case]], ...] = (
        ("policy", PolicyCase),
        ("chain", SpawnCase),
        ("layers", DecisionCase),
        ("modes", ModeCase),
        ("command", ShellCase),
        ("command_repeat", ShellCase),
        ("pattern", WildcardCase),
    )
    return next((shape for key, shape in by_key if key in item), None)


_REMEDIES = {"extra_forbidden": "remove it, or mend its name", "missing": "add it"}


def _faults(document: Document, index: int, error: ValidationError, shape: type[BaseModel]) -> list[Fault]:
    known = ", ".join(shape.model_fields)
    made: list[Fault] = []
    for wrong in error.errors(include_url=False, include_input=False):
        place: Place = (index, *wrong["loc"])
        key = wrong["loc"][-1] if wrong["loc"] else ""
        problem = {"extra_forbidden": f"unknown key `{key}`", "missing": f"`{key}` is missing"}.get(wrong["type"])
        remedy = _REMEDIES.get(wrong["type"], "see the case format")
        if wrong["type"] == "extra_forbidden" and len(wrong["loc"]) == 1:
            remedy = f"this kind of case knows {known}"
        made.append(document.fault(place, problem or f"`{'.'.join(map(str, wrong['loc']))}`: {wrong['msg']}", remedy))
    return made


def _unsound(document: Document, index: int, case: Case) -> list[Fault]:
    """What the keys alone do not say."""
    problem = _problem(case)
    return [] if problem is None else [document.fault((index,), problem, "mend the case")]


def _problem(case: Case) -> str | None:
    match case:
        case WildcardCase() if (case.value is None) == (case.repeat is None):
            return "needs either `value` or `repeat`"
        case ShellCase() if (case.command is None) == (case.command_repeat is None):
            return "needs either `command` or `command_repeat`"
        case ShellCase() if (case.at_least is None) == (case.exactly is None):
            return "needs either `at_least` or `exactly`"
        case DecisionCase() | SpawnCase() | PolicyCase() if not case.asked:
            return "asks for nothing: `request` or `requests` is missing"
        case SpawnCase() if case.asker is not None and case.asker not in {member.agent for member in case.chain}:
            return f"`asker` names `{case.asker}`, which is not in the chain"
        case _:
            return None


def _rule_faults(document: Document, place: Place, item: Plain) -> list[Fault]:
    """Rules that cannot be read, wherever they stand."""
    if isinstance(item, list):
        return [fault for number, each in enumerate(item) for fault in _rule_faults(document, (*place, number), each)]
    if not isinstance(item, dict):
        return []
    made: list[Fault] = []
    for key, value in item.items():
        if key == "rules" and isinstance(value, list):
            made += [_rule(document, (*place, key, number), each) for number, each in enumerate(value) if problem_of(each)]
        elif key == "rule" and problem_of(value):
            made.append(_rule(document, (*place, key), value))
        else:
            made += _rule_faults(document, (*place, key), value)
    return made


def _rule(document: Document, place: Place, value: Plain) -> Fault:
    return document.fault(place, f"`{value}` is no rule: {problem_of(value)}", "write permission 'pattern' action")
