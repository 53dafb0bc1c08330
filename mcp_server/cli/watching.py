"""`remit approvals watch`: what agents ask, as it comes, answered by keys in the person's own terminal."""

import os
import time
from contextlib import aclosing
from functools import partial

import anyio
import click
from anyio.abc import TaskGroup

from mcp_server.cli.channels import require_channel
from mcp_server.cli.filling import Filling, done
from mcp_server.cli.held import Held
from mcp_server.cli.inbox_screen import InboxScreen, draws_on
from mcp_server.cli.live import beats
from mcp_server.cli.state import ME, MYSELF, with_store
from mcp_server.cli.terminal import NobodyThere, Terminal, terminal
from mcp_server.gateway.cards import KEYS, Shown
from mcp_server.gateway.inbox import Inbox, inbox_of
from mcp_server.records import Answer, Choice, PromptState
from mcp_server.sessions.answers import close_with
from mcp_server.store.protocol import Store

CANNOT_DRAW = "this terminal cannot be drawn upon (TERM says so); use `remit approvals`, then `remit approvals approve ID` or `deny ID`"


@click.command()
def watch() -> None:
    """Show what agents ask as it comes, and answer by keys. Needs your terminal, and a code typed back there once."""
    require_channel("terminal")
    with terminal() as person:
        if not draws_on(person):
            raise NobodyThere(CANNOT_DRAW)
        person.confirm("to answer by keys from here")
        code = with_store(partial(_watch, person, os.path.expanduser("~")))
    if code:
        raise SystemExit(code)


async def _watch(person: Terminal, home: str, store: Store) -> int:
    inbox = inbox_of(MYSELF, store, home=home, clock=time.time)
    async with anyio.create_task_group() as group:
        watching = Watching(person, inbox, group)
        group.start_soon(watching.follow)
        code = await watching.screen.run()
        group.cancel_scope.cancel()
        return code
    return 1  # not reached: what fails inside is raised


class Watching:
    """One person's sitting at the inbox."""

    def __init__(self, person: Terminal, inbox: Inbox, group: TaskGroup) -> None:
        self._inbox = inbox
        self._group = group
        self._held = Held()
        self.screen = InboxScreen(person, self._held, self._on_answer)
        self._filling = Filling(self._held, self.screen.ask, self._said)

    async def follow(self) -> None:
        """Keep what is held as the store has it."""
        async with aclosing(beats(self._inbox.store)) as moments:
            async for changed in moments:
                news = await self._read() if changed else False
                self.screen.renew(news=news)

    async def _read(self) -> bool:
        """Open prompts, and those held that may be over by now. True: there is a new one."""
        prompts = await self._inbox.open_prompts()
        now = {prompt.id: prompt for prompt in prompts}
        for item in self._held.items:
            if item.prompt.id not in now and item.prompt.state is PromptState.OPEN:
                found = await self._inbox.store.prompt(item.prompt.id, ME)
                if found is not None:
                    now[found.id] = found
        before = {item.prompt.id: item for item in self._held.items}
        shown: list[Shown] = []
        for identity, prompt in now.items():
            held = before.get(identity)
            shown.append(held if held is not None and held.prompt == prompt else await self._inbox.shown(prompt))
        return self._held.take(shown)

    # ---- answers --------------------------------------------------------------------------------

    def _on_answer(self, item: Shown, key: str) -> None:
        if not self._filling.begun(item, key):
            choice = next(choice for choice, name in KEYS.items() if name == key)
            self._group.start_soon(self._answer, item, choice, self._held.words.get(item.prompt.id, ""))

    def _said(self, item: Shown, words: str) -> None:
        self._group.start_soon(self._answer, item, None, words)

    async def _answer(self, item: Shown, choice: Choice | None, words: str) -> None:
        answer = Answer(choice=choice, words=words, by=ME, channel="approvals", at=time.time())
        counted = await close_with(self._inbox.store, item.prompt, answer)
        await self._read()
        if counted:
            self._held.words.pop(item.prompt.id, None)
            self._held.note = done(item.prompt, choice)
        else:
            self._held.note = "it was not open any more: somebody was first, or its time was up; nothing was changed"
        self.screen.renew()
