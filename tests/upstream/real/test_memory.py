"""`@modelcontextprotocol/server-memory` behind Remit: what one caller has it remember is there for the next, also after a new start."""

import json
from pathlib import Path

from tests.behaviour.stories import NEAR, bounded, calls, errand, says
from tests.behaviour.world import connect, make_world, text_of
from tests.upstream.real.installed import both_eras, needs_servers, of_npm

pytestmark = needs_servers


def about(name: str, said: str) -> dict[str, object]:
    return {"entities": [{"name": name, "entityType": "person", "observations": [said]}]}


async def test_a_graph_is_kept_over_eras_subagents_and_a_new_start(tmp_path: Path) -> None:
    script = {
        "general": [
            calls(("memory__search_nodes", {"query": "Ada"}), ("memory__delete_entities", {"entityNames": ["Ada"]})),
            says("{{results[0].text}}|{{results[1].text}}"),
        ]
    }
    memory = of_npm("server-memory", env={"MEMORY_FILE_PATH": str(tmp_path / "graph.jsonl")})
    rules = {"memory__*": "allow", "memory__delete_*": "deny"}
    world = make_world(tmp_path, script=script, settings={"mcpServers": {"memory": memory}, "permission": rules})
    async with both_eras(world) as (connected, (older, newer)):
        made = await bounded(older.call_tool("memory__create_entities", about("Ada", "writes programs")))
        assert not made.is_error, text_of(made)
        await bounded(newer.call_tool("memory__create_entities", about("Bob", "reads them")))
        tie = {"relations": [{"from": "Bob", "to": "Ada", "relationType": "reads"}]}
        tied = await bounded(newer.call_tool("memory__create_relations", tie))
        assert not tied.is_error, text_of(tied)
        lost = await bounded(older.call_tool("memory__add_observations", {"observations": [{"entityName": "Eve", "contents": ["x"]}]}))
        assert (lost.is_error, "Eve not found" in text_of(lost)) == (True, True)
        found, denied = text_of(await bounded(connected.call("task", **errand("general")))).split("|")
    assert "writes programs" in found
    assert denied.startswith("denied by rule")
    async with connect(world, NEAR) as connected:
        graph = await bounded(connected.call("memory__read_graph"))
    kept = graph.structured_content or json.loads(text_of(graph))
    assert sorted(one["name"] for one in kept["entities"]) == ["Ada", "Bob"]
    assert [(one["from"], one["to"]) for one in kept["relations"]] == [("Bob", "Ada")]
