"""A channel that settings leave out is not used, whatever a client declares."""

from pathlib import Path

from mcp_server.protocol.timing import Timing
from tests.app.panel_user import RendersApps
from tests.app.test_panel import meets_nothing
from tests.behaviour.stories import NEAR, each_era, team_world, until_told
from tests.behaviour.test_tasks import using
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import Cell, Person, decides
from tests.protocol.task_client import accepts

WITHOUT_FORMS = {"channels": ["console", "terminal"]}


@each_era
async def test_without_elicitation_among_the_channels_no_form_is_sent(cell: Cell, tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=WITHOUT_FORMS)
    person = Person(decides("allow_once"))
    async with connect(world, cell, person=person, timing=Timing(patience=0.1)) as connected:
        waiting = await until_told(connected, "write", filePath="a.txt", content="x")
        (prompt,) = await connected.open_prompts()
        assert f"remit approvals approve {prompt.id}" in text_of(waiting)
    assert person.forms == []
    assert not (world.workspace / "a.txt").exists()


async def test_nor_does_an_update_of_a_task_answer_then(tmp_path: Path) -> None:
    world = make_world(tmp_path, settings=WITHOUT_FORMS)
    async with using(world) as (user, connected):
        task_id = await user.task("write", filePath="a.txt", content="x")
        task = await user.get(task_id)
        assert "inputRequests" not in task
        (prompt,) = await connected.open_prompts()
        await user.update(task_id, {prompt.id: accepts()})
        assert [one.id for one in await connected.open_prompts()] == [prompt.id]
    assert not (world.workspace / "a.txt").exists()


async def test_without_the_panel_among_the_channels_a_client_that_renders_apps_is_given_none(tmp_path: Path) -> None:
    world = team_world(tmp_path, settings={**WITHOUT_FORMS, "limits": {"task_wait": 0.5}})
    async with connect(world, NEAR, extensions=[RendersApps()]) as connected:
        await meets_nothing(connected)
