"""A read-only agent cannot change the workspace by any of the ways in `ways.yaml`, because the kernel refuses."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from mcp_server.sandbox import kernel
from tests.sandbox.stage import BACKENDS, IDENTITIES, Line, Who, act, staged


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One of them."""

    name: str
    run: str
    needs: tuple[str, ...] = ()
    by: tuple[Who, ...] = ("root", "user")
    only: str | None = None
    seen: tuple[str, ...] = field(default_factory=tuple[str, ...])


WAYS = tuple(Way(**way) for way in yaml.safe_load((Path(__file__).parent / "ways.yaml").read_text(encoding="utf-8"))["ways"])
HERE = tuple(way for way in WAYS if way.only in (None, kernel.machine()))


def _lines() -> list[Line]:
    return [Line(name=way.name, run=way.run) for way in HERE]


def test_there_are_more_than_a_hundred_ways() -> None:
    assert len({way.run for way in WAYS}) == len({way.name for way in WAYS}) == len(WAYS) > 100


@pytest.mark.parametrize("who", IDENTITIES)
def test_without_a_sandbox_every_way_changes_the_workspace(who: Who) -> None:
    with staged(who) as stage:
        ran = act(stage, "none", "reading", _lines())
    harmless = {way.name: ran[way.name].output for way in HERE if who in way.by and not ran[way.name].changed}
    assert harmless == {}


@pytest.mark.parametrize("who", IDENTITIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_in_a_sandbox_no_way_changes_the_workspace_of_a_read_only_agent(backend: str, who: Who) -> None:
    with staged(who) as stage:
        ran = act(stage, backend, "reading", _lines())
    assert {name: (one.changed, one.output) for name, one in ran.items() if one.changed} == {}
    assert {name: one.cannot_hold for name, one in ran.items() if one.cannot_hold} == {}
    assert {name for name, one in ran.items() if one.escaped or one.code is None} == set()
