"""What the demo shows, step by step: the calls a host's model would make, and the person who is asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio.to_thread
import click

from mcp_server.cli.state import FILE, ME
from mcp_server.cli.table import safe, table
from mcp_server.cli.terminal import Terminal
from mcp_server.protocol.visitor import Form, Said, Visit, visit
from mcp_server.sessions.searching import HEADS, row
from mcp_server.store.sqlite import open_store


async def tell(command: Sequence[str], environment: Mapping[str, str], folder: Path, person: Terminal | None) -> None:
    """Run the whole story. `person` None: the script answers, and says so."""

    async def on_form(form: Form) -> str | None:
        return await anyio.to_thread.run_sync(_ask, person, form) if person is not None else _script(form)

    async with visit(command, environment, on_form) as client:
        _title(f"A client is connected over stdio, protocol {client.era}")
        click.echo("The client's own calls run as the agent build, which has no rules of its own. It sees these tools:")
        click.echo("  " + " ".join(await client.tools()))
        await _read(client)
        await _delegate(client)
        await _ancestor(client)
        await _widening(client)
        await _background(client)
    _title("Who did what: the audit trail (remit audit)")
    await _audit(folder)


async def _read(client: Visit) -> None:
    _title("1. Reading inside the workspace needs nobody")
    _show(await client.call("read", filePath="README.md"))


async def _delegate(client: Visit) -> None:
    _title("2. build sends explore, which may read and search and nothing else")
    _show(await _task(client, "explore", "Find what is left to do", "What is left to do in this workspace? Name files and lines."))


async def _ancestor(client: Visit) -> None:
    _title("3. build sends reviewer, which sends general: reviewer's ban on editing binds all that is below it")
    report = await _task(client, "reviewer", "Review the script", "Review src/tidy.py, and have the heading fixed if you can.")
    _show(report)
    for call in report.structured.get("refused", []):
        click.echo(f"  refused: {safe(call['agent_path'])}: {call['tool']}: {call['ending']}: {safe(call['reason'])}")


async def _widening(client: Visit) -> None:
    _title("4. counter may run wc without asking, which build may not: sending it widens, so the person is asked")
    _show(await _task(client, "counter", "Count the notes", "How many lines has notes.txt? Use wc -l notes.txt."))


async def _background(client: Visit) -> None:
    _title("5. A child in the background, polled until it is done")
    started = await _task(client, "explore", "Look again", "What is left to do in this workspace?", background=True)
    _show(started)
    _show(await client.call("task_status", task_id=started.structured.get("task_id", ""), wait_seconds=45))


async def _task(client: Visit, agent: str, description: str, prompt: str, **more: bool) -> Said:
    return await client.call("task", description=description, prompt=prompt, subagent_type=agent, **more)


async def _audit(folder: Path) -> None:
    store = open_store(folder / "state" / FILE)
    try:
        events = await store.audit_log(principal=ME)
    finally:
        await store.close()
    click.echo(table(HEADS, [row(stored.event) for stored in events]))


# ---- the person ---------------------------------------------------------------------------------


def _ask(person: Terminal, form: Form) -> str | None:
    person.say("\n" + "-" * 20 + " Remit asks you " + "-" * 20)
    person.say(form.message)
    for number, choice in enumerate(form.choices, 1):
        person.say(f"  {number}  {choice.title}")
    typed = person.ask(f"1-{len(form.choices)}, or Enter to close the form: ")
    return form.choices[int(typed) - 1].value if typed.isdecimal() and 0 < int(typed) <= len(form.choices) else None


def _script(form: Form) -> str:
    chosen = form.choices[0]
    click.echo("  ---- Remit asks the person:")
    for line in form.message.splitlines():
        click.echo(f"  | {safe(line)}")
    for choice in form.choices:
        click.echo(f"  |   {'>' if choice is chosen else ' '} {safe(choice.title)}")
    click.echo(f"  ---- the script answers: {chosen.title}")
    return chosen.value


def _title(text: str) -> None:
    click.echo(f"\n== {text}")


def _show(said: Said) -> None:
    for line in safe(said.text).splitlines():
        click.echo(f"  {line}")
