"""The page on telemetry lists what is told, all of it and nothing else."""

import re
from pathlib import Path
from typing import Any

from mcp_server.telemetry import names
from tests.behaviour.stories import NEAR, bounded, errand, team_world
from tests.behaviour.world import connect
from tests.docs.pages import DOCS
from tests.protocol.connect import Person, decides
from tests.telemetry.listening import Listener

PAGE = (DOCS / "telemetry.md").read_text("utf-8")
SPANS = {names.ADVANCE, names.TURN, names.EXECUTION, names.DECISION, names.PROMPT}
DOTTED = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str) and "." in value}


def rows(section: str) -> dict[str, list[str]]:
    """The table below that heading: the first cell's name, and the others."""
    below = PAGE.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("|").split("|") for line in below.splitlines() if line.startswith("| `")]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells[1:]] for cells in lines}


def named(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def test_every_name_stands_on_the_page_and_the_page_has_no_other() -> None:
    spans, attributes, metrics = rows("Spans"), rows("Attributes"), rows("Metrics")
    assert {name.split(" ")[0] for name in spans} == SPANS
    assert set(attributes) | set(metrics) == DOTTED
    used = {name for row in (*spans.values(), *metrics.values()) for name in named(row[-1])}
    assert used == set(attributes)


async def test_what_is_told_of_a_tree_is_what_the_tables_say(tmp_path: Path) -> None:
    ear = Listener()
    async with connect(team_world(tmp_path), NEAR, person=Person(decides("allow_once")), telemetry=ear.recorder) as connected:
        with ear.traced():
            await bounded(connected.call("task", **errand("lead")))
        metrics = ear.metrics()
    spans: dict[str, set[str]] = {}
    kinds: dict[str, str] = {}
    for told in ear.ours():
        kind = told.name.split(" ")[0]
        spans[kind] = spans.get(kind, set()) | set(told.attributes) | {names.ERROR}
        kinds[kind] = told.span.kind.name.lower()
    listed = {name.split(" ")[0]: row for name, row in rows("Spans").items()}
    assert spans == {name: named(row[-1]) | {names.ERROR} for name, row in listed.items()}
    assert kinds == {name: row[0] for name, row in listed.items()}
    table = rows("Metrics")
    for metric in metrics:
        kind, unit, _, attributes = table[metric.name]
        points: list[Any] = list(metric.data.data_points)
        assert metric.unit == unit.strip("`")
        assert type(metric.data).__name__.lower() == {"counter": "sum"}.get(kind, kind)
        assert {name for point in points for name in point.attributes} | {names.ERROR} == named(attributes) | {names.ERROR}
    of_gateways = {names.REQUEST_SECONDS, names.REQUESTS, names.LIMITS}
    assert {metric.name for metric in metrics} == set(table) - {names.COST} - of_gateways  # what a script says costs nothing
