"""Every configuration in `client_examples` starts the server, and a client like the one it is for gets the work done."""

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner
from mcp.client.client import Client
from mcp_types import CallToolResult

from mcp_server.cli.main import remit
from mcp_server.records import Choice, Prompt, PromptState
from mcp_server.sessions.answers import close_with
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from tests.behaviour.stories import content_of, refused_in, typed, until
from tests.behaviour.world import text_of
from tests.cli.test_installing import PLACES
from tests.clients.configurations import EVERY, EXAMPLES, PROGRAM, Example
from tests.protocol.connect import Person, decides

BOUND = 240.0
MODEL = ("--model", "scripted:script.yaml")
ERRAND = {"description": "Tidy the notes", "prompt": "Take what is done off notes.txt.", "subagent_type": "general"}

each_example = pytest.mark.parametrize("example", EVERY, ids=lambda example: example.folder)


async def the_prompt(store: Store) -> Prompt:
    """The one open prompt, as soon as there is one."""

    async def is_open() -> bool:
        return bool(await store.prompts(state=PromptState.OPEN))

    await until(is_open)
    return (await store.prompts(state=PromptState.OPEN))[0]


async def finished(client: Client, result: CallToolResult) -> CallToolResult:
    """Poll as a model would."""
    while content_of(result)["state"] in ("running", "waiting"):
        result = await client.call_tool("task_status", {"task_id": content_of(result)["task_id"], "wait_seconds": 20})
    return result


def test_every_folder_of_an_example_says_what_the_person_will_see() -> None:
    folders = [folder for folder in sorted(EXAMPLES.iterdir()) if folder.is_dir() and folder.name != "__pycache__"]
    silent = [f.name for f in folders if f.name != "sample" and "## What you will see" not in (f / "README.md").read_text("utf-8")]
    assert silent == []
    assert {example.folder for example in EVERY} < {folder.name for folder in folders}


@each_example
async def test_a_client_with_this_configuration_lists_the_tools_and_the_agents(
    example: Example, sample: Path, environment: Mapping[str, str]
) -> None:
    with anyio.fail_after(BOUND):
        async with Client(example.server(sample, environment), mode="legacy") as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
    assert {"read", "task", "task_status", "session_info"} <= tools
    assert prompts == {"explore", "general"}


@pytest.mark.parametrize("example", [example for example in EVERY if example.asks], ids=lambda example: example.folder)
async def test_a_client_that_shows_forms_gets_the_prompt_of_a_subagent(
    example: Example, sample: Path, environment: Mapping[str, str]
) -> None:
    person = Person(decides("allow_once"))
    with anyio.fail_after(BOUND):
        async with Client(example.forked(sample, environment, *MODEL), mode="legacy", elicitation_callback=person) as client:
            result = await finished(client, await client.call_tool("task", ERRAND))
    assert (content_of(result)["state"], refused_in(result)) == ("completed", [])
    assert person.forms[0].message.startswith("build › general wants to use edit")
    assert (sample / "notes.txt").read_text() == "Call the printer.\n"


@pytest.mark.parametrize("example", [example for example in EVERY if not example.asks], ids=lambda example: example.folder)
async def test_a_client_that_shows_none_is_told_the_command_and_goes_on_after_the_answer(
    example: Example, sample: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "settings.yaml").write_text("limits: {task_wait: 1}\n")
    with anyio.fail_after(BOUND):
        async with Client(example.forked(sample, environment, *MODEL), mode="legacy") as client:
            waiting = await client.call_tool("task", ERRAND)
            while content_of(waiting)["state"] == "running":  # the agent may still be reading
                waiting = await client.call_tool("task", ERRAND)
            assert content_of(waiting)["state"] == "waiting"
            assert "a person answers with `remit console` or `remit approvals approve prm_" in text_of(waiting)
            assert (sample / "notes.txt").read_text().startswith("Buy paper.")
            store = open_store(tmp_path / "state" / "remit.db")
            try:
                assert await close_with(store, await the_prompt(store), typed(Choice.ALLOW_ONCE))
            finally:
                await store.close()
            result = await finished(client, await client.call_tool("task", ERRAND))
    assert (content_of(result)["state"], content_of(result)["task_id"]) == ("completed", content_of(waiting)["task_id"])
    assert (sample / "notes.txt").read_text() == "Call the printer.\n"


@pytest.mark.parametrize(
    ("folder", "client", "user"),
    [
        ("claude_desktop", "claude-desktop", False),
        ("claude_code", "claude-code", False),
        ("vscode", "vscode", False),
        ("cursor", "cursor", True),
    ],
)
def test_remit_install_writes_what_the_example_shows(
    folder: str, client: str, user: bool, sample: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    words = ["install", client, "--yes", "--workspace", str(sample), *(["--user"] if user else [])]
    ended = CliRunner(env={**environment, "XDG_CONFIG_HOME": None}).invoke(remit, words)
    assert ended.exit_code == 0, ended.output
    (example,) = (example for example in EVERY if example.folder == folder)
    place, key = PLACES[client, user]
    written = json.loads((tmp_path / place.replace("project/", "sample/")).read_text("utf-8"))[key]["remit"]
    shown = {**example.entry()}
    shown["args"] = [str(sample) if word == "/path/to/project" else word for word in shown["args"]]
    assert key == example.key
    assert {**written, "command": PROGRAM} == {**shown, "env": written["env"]}
