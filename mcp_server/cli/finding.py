"""What `remit doctor` and `remit gateway check` say of one thing that they looked at, and how they tell it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import click

from mcp_server.cli.table import safe
from mcp_server.errors import Fault

State = Literal["ok", "note", "fault"]
"""`note`: good to know, and nothing is kept from working. `fault`: it must be mended first."""

MARKS = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at."""

    about: str
    state: State
    says: str
    remedy: str = ""
    where: str = ""
    """`file:line`, a file, an address; empty: it has no place, or `says` names it."""


def finding_of(about: str, fault: Fault, state: State = "fault") -> Finding:
    """What is wrong in a file that a person wrote."""
    where = fault.file if fault.line is None else f"{fault.file}:{fault.line}"
    return Finding(about=about, state=state, says=fault.problem, remedy=fault.remedy, where=where)


def findings_of(about: str, faults: Sequence[Fault], state: State = "fault") -> tuple[Finding, ...]:
    """Each of them."""
    return tuple(finding_of(about, fault, state) for fault in faults)


def tell(findings: Iterable[Finding], *, as_json: bool) -> None:
    """Print each as it comes.

    Raises:
        SystemExit: With 1, where something must be mended.
    """
    faults = 0
    for finding in findings:
        click.echo(json.dumps(asdict(finding), ensure_ascii=False) if as_json else _line(finding))
        faults += finding.state == "fault"
    if faults:
        raise SystemExit(1)


def _line(finding: Finding) -> str:
    place = f"{finding.where}: " if finding.where else ""
    told = f"{MARKS[finding.state]} {finding.about}: {place}{finding.says}"
    return safe(f"{told}\n      {finding.remedy}" if finding.remedy else told)
