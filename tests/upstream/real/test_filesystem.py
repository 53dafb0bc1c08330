"""`@modelcontextprotocol/server-filesystem` behind Remit, held in a sandbox, with a rule that looks at where it writes."""

import base64
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp_types import ImageContent

from tests.behaviour.stories import bounded, calls, errand, says
from tests.behaviour.world import make_world, text_of
from tests.upstream.real.installed import NODE, SERVERS, both_eras, needs_servers, of_npm

pytestmark = needs_servers

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one point."""


async def test_files_are_written_where_the_server_the_rules_and_the_sandbox_all_allow_it(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    inside = {"write": [str(folder / "free"), str(folder / "secret")], "read": [str(NODE.parent), str(SERVERS)]}
    files = of_npm("server-filesystem", str(folder), cwd=str(folder), sandbox=inside)
    rules = [
        {"permission": "files__*", "action": "allow"},
        {"permission": "files__write_file", "action": "deny", "when": {"path": {"matches": "*/secret/*"}}, "reason": "not there"},
        {"permission": "files__move_file", "action": "deny"},
    ]
    script = {
        "general": [
            calls(
                ("files__write_file", {"path": f"{folder}/free/child", "content": "a child's"}),
                ("files__write_file", {"path": f"{folder}/secret/child", "content": "no"}),
                ("files__move_file", {"source": f"{folder}/free/child", "destination": f"{folder}/free/moved"}),
            ),
            says("{{results[0].text}}|{{results[1].text}}|{{results[2].text}}"),
        ]
    }
    world = make_world(
        tmp_path,
        script=script,
        settings={"mcpServers": {"files": files}, "permission": rules},
        files={"free/a": "one\ntwo\n", "secret/a": "", "kept/a": ""},
    )
    (folder / "free" / "dot.png").write_bytes(base64.b64decode(DOT))
    async with both_eras(world) as (connected, clients):
        for era, client in enumerate(clients):
            listed = {tool.name for tool in (await bounded(client.list_tools())).tools}
            if "files__write_file" not in listed and "none can hold it" in text_of(await bounded(connected.call("session_info"))):
                pytest.skip("there is no sandbox on this machine")

            async def write(where: Path, client: Client = client, era: int = era) -> str:
                result = await bounded(client.call_tool("files__write_file", {"path": str(where), "content": f"of era {era}"}))
                return text_of(result)

            assert "Successfully wrote" in await write(folder / "free" / f"era{era}")
            assert (folder / "free" / f"era{era}").read_text() == f"of era {era}"
            assert (await write(folder / "secret" / "b")).startswith("denied by rule")
            assert "Access denied" in await write(tmp_path / "elsewhere")  # by the server's own word
            assert "read-only file system" in (await write(folder / "kept" / "b")).lower()  # which the server would have done

            read = await bounded(client.call_tool("files__read_text_file", {"path": str(folder / "free" / "a"), "head": 1}))
            assert text_of(read) == "one"
            picture = await bounded(client.call_tool("files__read_media_file", {"path": str(folder / "free" / "dot.png")}))
            assert [one.data for one in picture.content if isinstance(one, ImageContent)] == [DOT]
            missing = await bounded(client.call_tool("files__read_text_file", {"path": str(folder / "free" / "none")}))
            assert (missing.is_error, "ENOENT" in text_of(missing)) == (True, True)

        story = text_of(await bounded(connected.call("task", **errand("general"))))
    wrote, denied, moved = story.split("|")
    assert "Successfully wrote" in wrote
    assert denied.startswith("denied by rule")
    assert moved.startswith("denied by rule")
    assert sorted(path.name for path in folder.glob("*/child")) == ["child"]
    assert not (folder / "secret" / "b").exists()
    assert not (folder / "kept" / "b").exists()
    assert not (tmp_path / "elsewhere").exists()
