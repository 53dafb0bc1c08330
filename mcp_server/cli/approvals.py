"""`remit approvals`: the person's answers, from any terminal of the same user.

Answers the very prompts that a client's form would; the first answer wins. The channel for clients that cannot be asked.
"""

import time

import click

from mcp_server.cli.asked import json_of, row_of, text_of
from mcp_server.cli.channels import require_channel
from mcp_server.cli.lazy import LazyGroup
from mcp_server.cli.shown import find_one
from mcp_server.cli.state import ME, with_store
from mcp_server.cli.table import safe, table
from mcp_server.cli.terminal import terminal
from mcp_server.cli.wishes import NotAnswered, Wish, put
from mcp_server.records import Answer, Choice, Prompt, PromptState, QuestionSubject
from mcp_server.sessions.answers import close_with
from mcp_server.store.protocol import Store

LISTS = "remit approvals"


@click.group(cls=LazyGroup, places={"watch": "mcp_server.cli.watching:watch"}, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def approvals(ctx: click.Context, as_json: bool) -> None:
    """What agents wait for a person to answer."""
    if ctx.invoked_subcommand is None:
        _list(as_json)


@approvals.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_prompts(as_json: bool) -> None:
    """List the open prompts, oldest first."""
    _list(as_json)


def _list(as_json: bool) -> None:
    prompts = with_store(_open_prompts)
    if as_json:
        for prompt in prompts:
            click.echo(json_of(prompt))
    elif prompts:
        rows = [row_of(prompt) for prompt in prompts]
        click.echo(table(("ID", "AGE", "WHO", "WANTS"), rows))
        click.echo("\nremit approvals approve ID or deny ID answers one, show ID shows it whole, watch answers by keys")
    else:
        click.echo("nobody waits for an answer")


@approvals.command()
@click.argument("prompt_id", metavar="ID")
def show(prompt_id: str) -> None:
    """Show one prompt whole: the exact call, why it asks, and what each answer would allow."""
    prompt = find_one(with_store(_open_prompts), prompt_id, lambda p: p.id, "open prompt", LISTS)
    click.echo(safe(text_of(prompt)))
    if isinstance(prompt.subject, QuestionSubject):
        click.echo(f"\nAnswer it with: remit approvals approve {prompt.id}")
    else:
        click.echo(f"\nAnswer it with: remit approvals approve {prompt.id}\n            or: remit approvals deny {prompt.id}")


@approvals.command()
@click.argument("prompt_id", metavar="ID")
@click.option("--reach", type=click.Choice(["once", "session", "tree"]), help="How far the answer carries; asked for where it is left out.")
@click.option("--words", default="", help="Words to the model, beside the answer.")
def approve(prompt_id: str, reach: str | None, words: str) -> None:
    """Allow it, or answer the question. Needs your terminal, and a code typed back there."""
    allowed = {"once": Choice.ALLOW_ONCE, "session": Choice.ALLOW_SESSION, "tree": Choice.ALLOW_TREE}
    asked = allowed[reach] if reach else None
    _answer(Wish(typed=prompt_id, choices=tuple(allowed.values()), reach=asked, words=words))


@approvals.command()
@click.argument("prompt_id", metavar="ID")
@click.option("--session", "whole_session", is_flag=True, help="Deny it for the whole session, until you revoke that.")
@click.option("--words", default="", help="Words to the model, beside the answer.")
def deny(prompt_id: str, whole_session: bool, words: str) -> None:
    """Deny it. Needs your terminal, and a code typed back there."""
    choice = Choice.DENY_SESSION if whole_session else Choice.DENY
    _answer(Wish(typed=prompt_id, choices=(choice,), reach=choice, words=words))


def _answer(wish: Wish) -> None:
    require_channel("terminal")

    async def answered(store: Store) -> str:
        prompt = find_one(await _open_prompts(store), wish.typed, lambda p: p.id, "open prompt", LISTS)
        with terminal() as person:
            person.say(text_of(prompt))
            person.say()
            typed = put(person, prompt, wish)
        answer = Answer(choice=typed.choice, words=typed.words, by=ME, channel="approvals", at=time.time())
        if not await close_with(store, prompt, answer):
            raise NotAnswered("it was not open any more: somebody was first, or its time was up; nothing was changed")
        return typed.done

    click.echo(f"done: {safe(with_store(answered))}")


async def _open_prompts(store: Store) -> tuple[Prompt, ...]:
    return await store.prompts(principal=ME, state=PromptState.OPEN)
