from pathlib import Path

import anyio
import pytest

from mcp_server.errors import ProviderFailed, ScriptFault
from mcp_server.records import Ending, ModelTurn, StoredEntry, Usage
from mcp_server.sessions.models.backends import Backends
from mcp_server.sessions.models.events import Events
from mcp_server.sessions.models.provider import ProviderBackend
from mcp_server.sessions.models.scripted import ScriptedBackend
from tests.bounds import LONG
from tests.models.transcripts import call, ended, request, said, stored, task


class Bench:
    """A folder with one script, and the back end that reads it."""

    def __init__(self, folder: Path, script: str, *, longest_hold: float = 20.0) -> None:
        self.file = folder / "story.yaml"
        self.file.write_text(script, encoding="utf-8")
        self.events = Events()
        scripted = ScriptedBackend(base=folder, events=self.events, longest_hold=longest_hold)
        self.backends = Backends(scripted=scripted, provider=ProviderBackend(environment={}))

    async def turn(self, *transcript: StoredEntry, agent: str = "explore", model: str = "scripted:story.yaml") -> ModelTurn:
        with anyio.fail_after(LONG):
            return await self.backends.turn(request(transcript, model=model, agent=agent))

    async def fault(self, *transcript: StoredEntry, agent: str = "explore") -> str:
        with pytest.raises(ScriptFault) as raised:
            await self.turn(*transcript, agent=agent)
        return str(raised.value).replace(str(self.file), "story.yaml")


TWO = """
explore:
  - text: Looking.
    calls:
      - tool: read
        arguments: {filePath: a.md, limit: 3}
      - tool: list
    usage: {input_tokens: 12, output_tokens: 5}
  - text: Done.
"""


async def test_a_turn_gives_its_text_calls_and_usage(tmp_path: Path) -> None:
    turn = await Bench(tmp_path, TWO).turn(*stored([task()]))
    assert turn.text == "Looking."
    assert [(c.tool, dict(c.arguments)) for c in turn.calls] == [("read", {"filePath": "a.md", "limit": 3}), ("list", {})]
    assert turn.usage == Usage(turns=1, input_tokens=12, output_tokens=5, tool_calls=2)
    assert (turn.model, turn.opaque) == ("scripted:story.yaml", None)


async def test_the_turn_is_found_from_the_transcript_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO)
    second = await bench.turn(*stored([task(), said("Looking.", call("x")), ended("x", "A")]))
    again = await Bench(tmp_path, TWO).turn(*stored([task(), said("Looking.", call("x")), ended("x", "A")]))
    assert second == again
    assert second.text == "Done."


async def test_a_turn_asked_for_twice_has_the_same_call_ids_and_no_two_calls_share_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "explore: [{calls: [{tool: list}, {tool: list}]}, {calls: [{tool: list}]}]")
    one, again = await bench.turn(*stored([task()])), await bench.turn(*stored([task()]))
    ids = [c.id for c in one.calls]
    assert ids == [c.id for c in again.calls]
    two = await bench.turn(*stored([task(), one, *(ended(id) for id in ids)]))
    assert len({*ids, *(c.id for c in two.calls)}) == 3


async def test_a_resumed_session_goes_on_with_its_script(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "explore: [{text: one}, {text: two}]")
    transcript = (*stored([task("a"), said("one")]), *stored([task("b")], run="run_2", start=2))
    assert (await bench.turn(*transcript)).text == "two"


async def test_running_past_the_script_names_agent_turn_and_file(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TWO)
    fault = await bench.fault(*stored([task(), said("a", call("x")), ended("x"), said("b"), task()]))
    assert fault == "story.yaml: agent `explore`, turn 3: the script has only 2 turns"


async def test_an_agent_without_a_script_is_named_with_those_that_have_one(tmp_path: Path) -> None:
    fault = await Bench(tmp_path, "build: [{text: a}]\nplan: [{text: b}]").fault(*stored([task()]))
    assert fault == "story.yaml: agent `explore` has no script; there is one for build, plan"


# ---- expect, fail, await -------------------------------------------------------------------------

EXPECTING = """
explore:
  - calls: [{tool: read}, {tool: read}]
  - expect: denied.*
    text: As thought.
"""


async def test_an_expectation_is_looked_for_in_the_last_results(tmp_path: Path) -> None:
    bench = Bench(tmp_path, EXPECTING)
    turn = await bench.turn(*stored([task(), said("", call("x"), call("y")), ended("x", "A"), ended("y", "denied by rule")]))
    assert turn.text == "As thought."


async def test_a_missed_expectation_names_agent_turn_file_line_and_what_was_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, EXPECTING)
    fault = await bench.fault(*stored([task("denied"), said("", call("x"), call("y")), ended("x", "A"), ended("y", "B")]))
    assert fault == "story.yaml:4: agent `explore`, turn 2: `expect` (denied.*) is not found in: A\nB"


async def test_an_expectation_of_a_first_turn_is_looked_for_in_the_task(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "explore: [{expect: around, text: ok}]")
    assert (await bench.turn(*stored([task("look around")]))).text == "ok"
    assert "is not found in: elsewhere" in await bench.fault(*stored([task("elsewhere")]))


async def test_a_scripted_failure_is_the_providers(tmp_path: Path) -> None:
    with pytest.raises(ProviderFailed, match=r"^overloaded$"):
        await Bench(tmp_path, "explore: [{fail: overloaded}]").turn(*stored([task()]))


async def test_a_failed_turn_is_behind_once_the_session_gets_another_task(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "explore: [{calls: [{tool: list}]}, {fail: overloaded}, {text: better}, {fail: again}, {text: last}]")
    failed = stored([task("a"), said("", call("x")), ended("x")])
    resumed = (*failed, *stored([task("b")], run="run_2", start=3))
    assert (await bench.turn(*resumed)).text == "better"
    finished = (*resumed, *stored([said("better"), task("c")], run="run_3", start=4))
    with pytest.raises(ProviderFailed, match=r"^again$"):
        await bench.turn(*finished)
    assert (await bench.turn(*finished, *stored([task("d")], run="run_4", start=6))).text == "last"


HELD = "explore: [{await: go, text: Gone.}]"


async def test_a_turn_is_held_until_the_event_is_released_in_the_process(tmp_path: Path) -> None:
    bench = Bench(tmp_path, HELD)
    turns: list[ModelTurn] = []

    async def ask() -> None:
        turns.append(await bench.turn(*stored([task()])))

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)
            await bench.events.held("go", turns=3)
            assert turns == []
            bench.events.release("go")
    assert [turn.text for turn in turns] == ["Gone."] * 3


async def test_a_turn_is_held_until_the_file_beside_the_script_is_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, HELD)
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.turn, *stored([task()]))
            await bench.events.held("go")
            (tmp_path / "story.yaml.go").touch()


async def test_event_files_may_have_a_folder_of_their_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "events: signs\nagents:\n  explore: [{await: go, text: Gone.}]")
    (tmp_path / "signs").mkdir()
    (tmp_path / "signs" / "go").touch()
    assert (await bench.turn(*stored([task()]))).text == "Gone."


async def test_an_event_that_was_released_before_holds_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, HELD)
    bench.events.release("go")
    assert (await bench.turn(*stored([task()]))).text == "Gone."


async def test_an_event_that_nobody_releases_ends_the_turn_in_bounded_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path, HELD, longest_hold=0.1)
    fault = await bench.fault(*stored([task()]))
    assert fault == "story.yaml:1: agent `explore`, turn 1: nobody released `go` in 0.1 s; make the file story.yaml.go"


# ---- several scripts of one agent ----------------------------------------------------------------

SEVERAL = """
agents:
  explore:
    - when: (?i)docs
      turns: [{text: docs one}, {text: docs two}]
    - when: ^tests
      turns: [{text: tests one}]
    - turns: [{text: the rest}]
"""


@pytest.mark.parametrize(("given", "text"), [("Read the DOCS", "docs one"), ("tests first", "tests one"), ("not tests", "the rest")])
async def test_the_first_script_that_fits_the_task_is_used(tmp_path: Path, given: str, text: str) -> None:
    assert (await Bench(tmp_path, SEVERAL).turn(*stored([task(given)]))).text == text


async def test_a_resumed_session_keeps_the_script_of_its_first_task(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SEVERAL)
    transcript = (*stored([task("docs"), said("docs one")]), *stored([task("tests")], run="run_2", start=2))
    assert (await bench.turn(*transcript)).text == "docs two"


async def test_a_task_that_no_script_fits_is_a_fault(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "explore: [{when: docs, turns: [{text: a}]}]")
    assert await bench.fault(*stored([task("tests")])) == "story.yaml: agent `explore` has no script whose `when` fits its task: tests"


# ---- substitution --------------------------------------------------------------------------------


def with_results(text: str) -> str:
    return f"""
explore:
  - calls: [{{tool: task}}, {{tool: read}}]
  - calls: [{{tool: list}}]
  - text: '{text}'
    calls: [{{tool: task_status, arguments: {{value: '{text}', deep: [{{in: '{text}'}}], plain: 3}}}}]
"""


SO_FAR = stored(
    [
        task("find it"),
        said("", call("t", "task"), call("r")),
        ended("r", "the text"),
        ended("t", "<task>", tool="task", structured={"task_id": "ses_7", "usage": {"turns": 4}, "ids": ["p", "q"], "text": "no"}),
        said("", call("l", "list")),
        ended("l", "a\nb", tool="list", ending=Ending.FAILED),
    ]
)


@pytest.mark.parametrize(
    ("written", "value", "as_text"),
    [
        ("{{task}}", "find it", "find it"),
        ("{{ results[0].text }}!", "a\nb!", "a\nb!"),
        ("{{turns[0].results[0].task_id}}", "ses_7", "ses_7"),
        ("id={{turns[0].results[0].task_id}}, {{task}}", "id=ses_7, find it", "id=ses_7, find it"),
        ("{{turns[0].results[0].usage.turns}}", 4, "4"),
        ("{{turns[0].results[0].ids}}", ["p", "q"], '["p", "q"]'),
        ("{{turns[0].results[0].ids[1]}}", "q", "q"),
        ("{{turns[0].results[0].text}}", "<task>", "<task>"),
        ("{{turns[0].results[1].text}}", "the text", "the text"),
        ("n={{turns[0].results[0].usage.turns}}", "n=4", "n=4"),
        (r"\{{task}} and {{task}}", "{{task}} and find it", "{{task}} and find it"),
        ("{one} }} {", "{one} }} {", "{one} }} {"),
    ],
)
async def test_substitutions_reach_text_and_arguments_however_deep(tmp_path: Path, written: str, value: object, as_text: str) -> None:
    turn = await Bench(tmp_path, with_results(written)).turn(*SO_FAR)
    assert turn.text == as_text
    assert dict(turn.calls[0].arguments) == {"value": value, "deep": [{"in": value}], "plain": 3}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{{results[0].task_id}}", "`{{results[0].task_id}}` is not known: there is no `task_id`, only text"),
        ("{{results[1].text}}", "`{{results[1].text}}` is not known: there is no [1], the list holds 1"),
        ("{{nothing}}", "`{{nothing}}` is not known: there is no `nothing`, only results, task, turns"),
        ("{{task.id}}", "`{{task.id}}` is not known: there is no `id`, only nothing"),
        ("{{results[-1].text}}", "`{{results[-1].text}}` cannot be read; write names and [numbers], such as `results[0].text`"),
        ("{{}}", "`{{}}` names nothing"),
        ("{{task", "`{{` is not closed; write `\\{{` for two braces that stand for themselves"),
    ],
)
async def test_an_unknown_substitution_names_turn_and_file(tmp_path: Path, written: str, problem: str) -> None:
    fault = await Bench(tmp_path, with_results(written)).fault(*SO_FAR)
    assert fault == f"story.yaml:5: agent `explore`, turn 3: {problem}"


async def test_what_a_result_says_is_not_substituted_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "explore: [{calls: [{tool: read}]}, {text: '{{results[0].text}}'}]")
    turn = await bench.turn(*stored([task("secret"), said("", call("x")), ended("x", "{{task}}")]))
    assert turn.text == "{{task}}"
