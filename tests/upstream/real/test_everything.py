"""`@modelcontextprotocol/server-everything` behind Remit: texts, pictures, structure, errors, progress,
what it asks and logs, and a subagent with a ban.
"""

from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp_types import (
    ElicitRequestFormParams,
    ElicitResult,
    EmptyResult,
    ImageContent,
    LoggingMessageNotification,
    SetLevelRequest,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)

from mcp_server.protocol.timing import Timing
from tests.behaviour.stories import bounded, calls, errand, says, until
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import ERAS, Cell, Person, client_of
from tests.upstream.real.installed import needs_servers, of_npm

pytestmark = needs_servers

BEHIND = "remit://servers/everything/"

RULES: dict[str, Any] = {"permission": {"everything__*": "allow", "everything__get-env": "deny"}}


async def reads(client: Client) -> None:
    """What is not a tool: resources, what lies behind a template, and prompts."""
    uris = {str(one.uri) for one in (await bounded(client.list_resources())).resources}
    document = f"{BEHIND}demo://resource/static/document/architecture.md"
    assert document in uris
    (text,) = (await bounded(client.read_resource(document))).contents
    assert isinstance(text, TextResourceContents)
    assert "Everything Server" in text.text
    templates = {one.uri_template for one in (await bounded(client.list_resource_templates())).resource_templates}
    assert f"{BEHIND}demo://resource/dynamic/text/{{resourceId}}" in templates
    (made,) = (await bounded(client.read_resource(f"{BEHIND}demo://resource/dynamic/text/1"))).contents
    assert isinstance(made, TextResourceContents)
    assert "Resource 1" in made.text
    prompts = {one.name for one in (await bounded(client.list_prompts())).prompts}
    assert {"everything__simple-prompt", "everything__args-prompt"} <= prompts
    (asked,) = (await bounded(client.get_prompt("everything__args-prompt", {"city": "Paris"}))).messages
    assert isinstance(asked.content, TextContent)
    assert "What's weather in Paris?" in asked.content.text


async def researches(client: Client, reports: list[str]) -> None:
    """Its one tool that is nothing but a task, which asks what is meant when it is halfway."""
    found = await bounded(client.call_tool("everything__simulate-research-query", {"topic": "python", "ambiguous": True}))
    reports.append(text_of(found).splitlines()[0])


CONTENT: dict[str, str | int | float | bool | list[str] | None] = {
    "name": "Ada",
    "check": True,
    "email": "ada@example.org",
    "birthdate": "1815-12-10",
    "integer": 42,
    "titledMultipleSelectEnum": ["fish-1", "fish-3"],
    "legacyTitledEnum": "pet-5",
}


async def fills_in(params: ElicitRequestFormParams) -> ElicitResult:
    """What its research asks, and its tool that asks for something of each kind."""
    research = "interpretation" in params.requested_schema["properties"]
    return ElicitResult(action="accept", content={"interpretation": "snake"} if research else CONTENT)


async def is_asked(client: Client, reports: list[str]) -> None:
    """Its form with a field of each kind."""
    told = text_of(await bounded(client.call_tool("everything__trigger-elicitation-request")))
    reports += [line for line in told.splitlines() if line.startswith(("✅", "- "))]


async def test_everything_is_used_by_clients_of_both_eras_and_by_a_subagent_as_far_as_it_may(tmp_path: Path) -> None:
    script = {
        "general": [
            calls(("everything__echo", {"message": "hi"}), ("everything__get-sum", {"a": 1, "b": 2}), ("everything__get-env", {})),
            says("{{results[0].text}}|{{results[1].text}}|{{results[2].text}}"),
        ]
    }
    world = make_world(tmp_path, script=script, settings={"mcpServers": {"everything": of_npm("server-everything", "stdio")}, **RULES})
    steps: list[float] = []
    reports: list[str] = []
    inputs: list[str] = []
    logged: list[str] = []
    person = Person(fills_in)

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def hears(message: object) -> None:
        if isinstance(message, LoggingMessageNotification):
            logged.append(f"{message.params.logger}: {message.params.data}")

    timing = Timing(progress_every=0.02, reflex=0.0)
    async with connect(world, Cell(transport="memory", era=ERAS[0]), person=person, timing=timing, heard=hears) as connected:
        assert connected.parts is not None
        async with client_of(connected.parts.server, ERAS[1], person) as newer, anyio.create_task_group() as group:
            for client in (connected.client, newer):
                group.start_soon(researches, client, reports)
            for client in (connected.client, newer):
                listed = {tool.name: tool for tool in (await bounded(client.list_tools())).tools}
                assert {"everything__echo", "everything__get-sum", "everything__get-tiny-image"} <= set(listed)
                assert (listed["everything__echo"].description or "").startswith("From the MCP server `everything`, in its own words:")

                echo = await bounded(client.call_tool("everything__echo", {"message": "hello"}))
                assert (text_of(echo), echo.is_error) == ("Echo: hello", False)
                wrong = await bounded(client.call_tool("everything__get-sum", {"a": "two", "b": 3}))
                assert wrong.is_error
                assert "expected number" in text_of(wrong)
                banned = await bounded(client.call_tool("everything__get-env"))
                assert text_of(banned).startswith("denied by rule")

                picture = await bounded(client.call_tool("everything__get-tiny-image"))
                assert [one.mime_type for one in picture.content if isinstance(one, ImageContent)] == ["image/png"]
                weather = await bounded(client.call_tool("everything__get-structured-content", {"location": "Chicago"}))
                assert set(weather.structured_content or {}) == {"temperature", "conditions", "humidity"}

                await reads(client)
                await is_asked(client, inputs)
                steps.clear()
                long = {"duration": 0.2, "steps": 2}
                (slow,) = (name for name in listed if name.startswith("everything__trigger-long"))
                assert len(slow) <= 40  # its whole name is longer
                done = await bounded(client.call_tool(slow, long, progress_callback=heard))
                assert text_of(done) == "Long running operation completed. Duration: 0.2 seconds, Steps: 2."
                assert steps

        wanted = SetLevelRequest(params=SetLevelRequestParams(level="debug"))
        await bounded(connected.client.session.send_request(wanted, EmptyResult))
        for said in ("Started", "Stopped"):
            assert f"{said} simulated" in text_of(await bounded(connected.call("everything__toggle-simulated-logging")))

        async def told_of() -> bool:
            return any(one.startswith("everything: ") and "level" in one for one in logged)

        await until(told_of)
        story = text_of(await bounded(connected.call("task", **errand("general"), tools=["everything__echo", "everything__get-env"])))
    assert reports == ["# Research Report: python (snake)"] * 2
    assert sorted("multiple interpretations" in form.message for form in person.forms) == [False, False, True, True]
    assert all(form.message.startswith("The MCP server `everything` asks you, while build uses everything__") for form in person.forms)
    given = ["Name: Ada", "Agreed to terms: true", "Email: ada@example.org", "Birthdate: 1815-12-10", "Favorite Integer: 42"]
    assert inputs == ["✅ User provided the requested information!", *(f"- {line}" for line in given)] * 2
    said, left_out, banned_too = story.split("|")
    assert "From the MCP server `everything`" in said
    assert "Echo: hi" in said
    assert "it was left fewer tools" in left_out
    assert banned_too.startswith("denied by rule")
