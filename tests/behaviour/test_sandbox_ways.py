"""Explore, with every line of bash allowed, changes its workspace by none of the ways that the sandbox is tried with: through the
whole of Remit, rules first and the kernel behind them.
"""

from pathlib import Path

import yaml

from tests.behaviour.stories import NEAR, bounded
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import Person, decides
from tests.sandbox.stage import differences, furnish, picture

ROOT = Path(__file__).parents[2]
WAYS = {way["name"]: way["run"] for way in yaml.safe_load((ROOT / "tests/sandbox/ways.yaml").read_text())["ways"]}
LOOKER = (ROOT / "agent_defs/explore.md").read_text().replace("mode: subagent", "mode: primary", 1)
EVERYTHING = {"permission": [{"permission": "bash", "pattern": "*", "action": "allow", "opaque": "allow"}]}


async def test_explore_with_every_line_allowed_changes_nothing(tmp_path: Path) -> None:
    world = make_world(tmp_path, agents={"looker": LOOKER}, settings=EVERYTHING | {"agent": "looker"})
    for path in world.workspace.rglob("*"):
        if path.is_file():
            path.unlink()
    furnish(world.workspace)
    before = picture(world.workspace)
    changed: dict[str, tuple[str, ...]] = {}
    kept: set[str] = set()
    async with connect(world, NEAR, person=Person(decides("deny"))) as connected:
        for name, line in WAYS.items():
            told = text_of(await bounded(connected.call("bash", command=line, timeout=3_000)))
            if "exit code" in told or "timed out" in told:
                kept.add(name)
            after = picture(world.workspace)
            if before != after:
                changed[name] = differences(before, after)
                before = after
    assert changed == {}
    assert len(kept) > len(WAYS) / 3, "most of the rest are denied by rule before they run"
