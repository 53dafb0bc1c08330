"""A small MCP client for a terminal: sends Remit's agents and shows their prompts. On the MCP Python SDK alone.

    python client.py [--era legacy|auto] COMMAND [ARGUMENT ...]

COMMAND starts the server, for example `remit serve --workspace .`. Then each line `AGENT: TASK` sends an agent.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any, cast

import anyio
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent

UNFINISHED = ("running", "waiting")


async def ask(text: str) -> str | None:
    """A line that the person types; None at the end of the input."""
    print(text, end="", flush=True)
    line = await anyio.to_thread.run_sync(sys.stdin.readline)
    return line.strip() if line else None


async def show_form(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Put a form before the person, field by field. A field left empty is left out; the end of the input closes the form."""
    if not isinstance(params, ElicitRequestFormParams):
        return ElicitResult(action="decline")
    print(f"\n{params.message}\n")
    answers: dict[str, str | int | float | bool | list[str] | None] = {}
    fields = cast(Mapping[str, Mapping[str, Any]], params.requested_schema.get("properties", {}))
    for name, field in fields.items():
        choices = [(str(one["const"]), str(one["title"])) for one in field.get("oneOf", [])]
        for number, (_, title) in enumerate(choices, 1):
            print(f"  {number}  {title}")
        typed = await ask(f"{field.get('title', name)}: ")
        if typed is None:
            return ElicitResult(action="cancel")
        if choices and typed.isdigit() and 0 < int(typed) <= len(choices):
            answers[name] = choices[int(typed) - 1][0]
        elif typed and not choices:
            answers[name] = typed
    return ElicitResult(action="accept", content=answers)


async def show_progress(progress: float, total: float | None, message: str | None) -> None:
    """What the server says while a call goes on."""
    if message:
        print(f"  … {message}")


async def send(client: Client, agent: str, task: str) -> None:
    """Send an agent and stay until it has ended."""
    errand = {"description": task[:60], "prompt": task, "subagent_type": agent}
    result = await client.call_tool("task", errand, progress_callback=show_progress)
    while (report := report_of(result)) is not None and report["state"] in UNFINISHED:
        again = {"task_id": report["task_id"], "wait_seconds": 30}
        result = await client.call_tool("task_status", again, progress_callback=show_progress)
    tell(result)


def report_of(result: CallToolResult) -> Mapping[str, Any] | None:
    """The state of a task, where the result is one: an agent that is not known is an error without it."""
    return cast(Mapping[str, Any] | None, result.structured_content)


def tell(result: CallToolResult) -> None:
    """The result, and what did not happen on the way to it."""
    report = report_of(result)
    if report is None:
        print("\n".join(block.text for block in result.content if isinstance(block, TextContent)))
        return
    print(f"\n{report['agent']}, {report['state']}: {report['result'] or report['error']}")
    for call in report["refused"]:
        print(f"  did not happen: {call['agent_path']}: {call['summary']} ({call['reason']})")


async def converse(server: StdioServerParameters, era: str) -> None:
    """One connection, line by line."""
    mode = "legacy" if era == "legacy" else "auto"
    async with Client(server, mode=mode, elicitation_callback=show_form, read_timeout_seconds=900) as client:
        agents = (await client.list_prompts()).prompts
        print(f"Connected, protocol {client.protocol_version}. Type AGENT: TASK, or nothing to leave.")
        for agent in agents:
            print(f"  {agent.name}: {agent.description}")
        while line := await ask("\n> "):
            name, colon, task = line.partition(":")
            if colon and task.strip():
                await send(client, name.strip(), task.strip())
            else:
                print("Write it as AGENT: TASK")


def main() -> None:
    """Read the command line and talk."""
    parser = argparse.ArgumentParser(description="Send Remit's agents from a terminal.")
    parser.add_argument("--era", choices=("legacy", "auto"), default="auto", help="legacy: the protocol up to 2025-11-25")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="starts the server")
    given = parser.parse_args()
    if not given.command:
        parser.error("say how the server is started, for example: remit serve --workspace .")
    program, *arguments = given.command
    anyio.run(converse, StdioServerParameters(command=program, args=arguments, env=dict(os.environ)), given.era)


if __name__ == "__main__":
    main()
