"""Calls that another server makes tasks of, through Remit, in every pairing of eras."""

from pathlib import Path

import pytest

from tests.behaviour.stories import bounded
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import ERAS, Cell, Era, Person, accepts
from tests.upstream.task_server import Job, TaskServer
from tests.upstream.test_elicitation import NAME, SETTINGS, SLOWLY

each_upstream = pytest.mark.parametrize("theirs", ERAS)
each_of_ours = pytest.mark.parametrize("ours", ERAS)


@each_of_ours
@each_upstream
async def test_a_task_is_followed_to_its_end_and_its_words_are_progress(ours: Era, theirs: Era, tmp_path: Path) -> None:
    heard = list[str | None]()

    async def works(job: Job) -> None:
        for words in ("reads\x1b", "writes"):
            job.change("working", words)
            await job.seen()
        job.end("worked")

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    world, cell = make_world(tmp_path, settings=SETTINGS), Cell(transport="memory", era=ours)
    server = TaskServer(era=theirs, does=works)
    async with server.running() as way, connect(world, cell, opener=way) as connected:
        result = await bounded(connected.client.call_tool("play__work", {}, progress_callback=hear))
    assert (text_of(result), result.is_error) == ("worked", False)
    assert [words for words in heard if words in ("reads\ufffd", "writes")] == ["reads\ufffd", "writes"]
    assert server.methods.count("tools/call") == 1


@each_of_ours
@each_upstream
async def test_what_a_task_asks_is_put_before_the_person_and_the_answer_goes_to_it(ours: Era, theirs: Era, tmp_path: Path) -> None:
    async def wonders(job: Job) -> None:
        (answer,) = await job.ask(NAME)
        job.end(f"{answer['action']} {answer['content']}")

    world, cell, person = make_world(tmp_path, settings=SETTINGS), Cell(transport="memory", era=ours), Person(accepts(decision="Ada"))
    server = TaskServer(era=theirs, does=wonders)
    async with server.running() as way, connect(world, cell, person=person, timing=SLOWLY, opener=way) as connected:
        result = await bounded(connected.call("play__work"))
    assert text_of(result) == "accept {'decision': 'Ada'}"
    (form,) = person.forms
    assert form.message.startswith("The MCP server `play` asks you, while build uses play__work:")
    assert server.jobs[0].updates == (1 if theirs == "2026-07-28" else 0)
