"""Agents as prompts of the protocol: listed and got in every cell, and nothing but words."""

from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, TextContent

from tests.behaviour.stories import TEAM
from tests.behaviour.world import connect, make_world
from tests.protocol.cells import playing
from tests.protocol.connect import Cell, each_cell, each_near_cell


@each_cell
async def test_every_agent_that_may_be_sent_is_a_prompt_with_a_task(cell: Cell) -> None:
    async with playing(cell) as client:
        listed = (await client.list_prompts()).prompts
    assert [(prompt.name, prompt.description) for prompt in listed] == [("explore", "Looks."), ("writer", "Writes.")]
    assert [[(argument.name, argument.required) for argument in prompt.arguments or []] for prompt in listed] == [[("task", True)]] * 2


@each_cell
async def test_the_prompt_tells_the_model_to_send_that_agent_with_that_task(cell: Cell) -> None:
    async with playing(cell) as client:
        got = await client.get_prompt("writer", {"task": "Mend the readme."})
    (message,) = got.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    assert '`subagent_type` "writer"' in message.content.text
    assert message.content.text.endswith("The task:\nMend the readme.")


@each_near_cell
@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("nobody", {"task": "x"}, "there are: explore, writer"),
        ("writer", {}, "`task` is missing"),
        ("writer", {"task": "  "}, "`task` is missing"),
    ],
)
async def test_a_prompt_that_cannot_be_made_says_why(cell: Cell, name: str, arguments: dict[str, str], words: str) -> None:
    async with playing(cell) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
    assert caught.value.error.code == INVALID_PARAMS
    assert words in caught.value.error.message


@each_near_cell
async def test_prompts_follow_the_definitions_and_leave_out_what_task_would_refuse(cell: Cell, tmp_path: Path) -> None:
    world = make_world(tmp_path, agents=TEAM)
    async with connect(world, cell) as connected:
        before = {prompt.name for prompt in (await connected.client.list_prompts()).prompts}
        (world.places.config / "agents" / "late.md").write_text("---\ndescription: Came later.\nmode: subagent\n---\nYou wait.\n")
        after = {prompt.name for prompt in (await connected.client.list_prompts(cache_mode="bypass")).prompts}
    assert before == {"explore", "general", "lead", "writer"}
    assert after - before == {"late"}


@each_near_cell
async def test_an_agent_that_the_rules_deny_is_no_prompt(cell: Cell, tmp_path: Path) -> None:
    rules = {"task": {"*": "ask", "explore": "deny"}}
    world = make_world(
        tmp_path, agents=TEAM, settings={"permission": rules, "agents": {"build": {"permission": {"task": {"lead": "deny"}}}}}
    )
    async with connect(world, cell) as connected:
        assert {prompt.name for prompt in (await connected.client.list_prompts()).prompts} == {"general", "writer"}
        with pytest.raises(MCPError, match="no agent is called `explore`"):
            await connected.client.get_prompt("explore", {"task": "Look."})
