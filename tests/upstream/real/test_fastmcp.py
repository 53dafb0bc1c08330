"""A server that was written with FastMCP, behind Remit."""

from pathlib import Path
from typing import Any

from mcp_types import ImageContent

from tests.behaviour.stories import bounded, calls, errand, says
from tests.behaviour.world import make_world, text_of
from tests.upstream.real.installed import FASTMCP, both_eras, needs_fastmcp

pytestmark = needs_fastmcp

FAST = {"command": str(FASTMCP), "args": [str(Path(__file__).with_name("fast.py"))], "shareable": True, "handshake_seconds": 120}
RULES: list[dict[str, Any]] = [
    {"permission": "fast__*", "action": "allow"},
    {"permission": "fast__add", "action": "deny", "when": {"a": {"minimum": 100}}, "reason": "too much"},
]


async def test_a_server_of_fastmcp_is_used_by_clients_of_both_eras_and_by_a_subagent_as_far_as_it_may(tmp_path: Path) -> None:
    script = {
        "general": [
            calls(("fast__add", {"a": 1, "b": 2}), ("fast__add", {"a": 100, "b": 2}), ("fast__fail", {"why": "no"})),
            says("{{results[0].text}}|{{results[1].text}}|{{results[2].text}}"),
        ]
    }
    world = make_world(tmp_path, script=script, settings={"mcpServers": {"fast": FAST}, "permission": RULES})
    async with both_eras(world) as (connected, clients):
        for client in clients:
            listed = {tool.name for tool in (await bounded(client.list_tools())).tools}
            assert {"fast__add", "fast__count", "fast__fail", "fast__dot"} <= listed
            added = await bounded(client.call_tool("fast__add", {"a": 2, "b": 3}))
            assert (added.structured_content, added.is_error) == ({"sum": 5, "terms": [2, 3]}, False)
            assert text_of(await bounded(client.call_tool("fast__add", {"a": 200, "b": 3}))).startswith("denied by rule")
            assert text_of(await bounded(client.call_tool("fast__count", {"to": 3}))) == "counted to 3"
            failed = await bounded(client.call_tool("fast__fail", {"why": "asked to"}))
            assert (failed.is_error, "it failed: asked to" in text_of(failed)) == (True, True)
            picture = await bounded(client.call_tool("fast__dot"))
            assert [one.mime_type for one in picture.content if isinstance(one, ImageContent)] == ["image/png"]
        story = text_of(await bounded(connected.call("task", **errand("general"), tools=["fast__add"])))
    added, denied, left_out = story.split("|")
    assert '"sum":3' in added.replace(" ", "")
    assert denied.startswith("denied by rule")
    assert "it was left fewer tools" in left_out
    store = world.store()
    (found,) = await store.every_found()
    await store.close()
    assert "2026-07-28" in found.said
