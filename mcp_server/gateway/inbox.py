"""The inbox: every open prompt, oldest first, and one prompt by itself. Reads the store; answers nothing."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

import anyio
from anyio import to_thread

from mcp_server.gateway.belongings import Belongings, belongings_of
from mcp_server.gateway.cards import Shown, card, moment, path
from mcp_server.gateway.details import diff_of, parts_of
from mcp_server.gateway.html import Child, Html, el, said
from mcp_server.principal import Principal
from mcp_server.records import ApprovalSubject, Prompt
from mcp_server.sessions.wants import wanted
from mcp_server.store.protocol import Store

MOST_CARDS = 40
"""Prompts that are shown whole; of those behind them one line each. More than anybody answers at a sitting."""

LOOK = 0.2
"""Seconds between two looks at the store's change number, as a server does it: people take it for at once."""

STILL_HERE = 15.0
"""Seconds of silence after which a stream says that it lives, so that one whose browser is gone is found out."""


@dataclass(slots=True, kw_only=True)
class Inbox:
    """The open prompts of one person."""

    store: Store
    whose: Callable[[], Awaitable[Belongings]]
    """What is theirs now."""
    home: str
    """What `$HOME` stands for in lines of shell."""
    clock: Callable[[], float]

    async def open_prompts(self) -> tuple[Prompt, ...]:
        """Oldest first."""
        return await (await self.whose()).open_prompts()

    async def shown(self, prompt: Prompt) -> Shown:
        """The prompt with its details, whose it is, and what may be done about it."""
        mine = await self.whose()
        whose, roles = mine.named(prompt.principal), mine.answers_as(prompt)
        return replace(await detailed(prompt, self.store, self.home), whose=whose, roles=roles)

    async def happenings(self, still_in: Callable[[], Awaitable[bool]]) -> AsyncGenerator[str]:
        """Server-sent events: which prompts are open, at once and whenever that has changed. Ends when the visit does."""
        seen, told, heard = -1, None, self.clock()
        while await still_in():
            changed = await self.store.changed()
            if changed != seen:
                seen = changed
                ids = [prompt.id for prompt in await self.open_prompts()]
                if ids != told:
                    told, heard = ids, self.clock()
                    yield f"event: prompts\ndata: {json.dumps(ids)}\n\n"
            if self.clock() - heard > STILL_HERE:
                heard = self.clock()
                yield ": still here\n\n"
            await anyio.sleep(LOOK)


def inbox_of(principal: Principal, store: Store, *, home: str, clock: Callable[[], float]) -> Inbox:
    """That of one principal."""
    return Inbox(store=store, whose=partial(belongings_of, principal, store), home=home, clock=clock)


async def detailed(prompt: Prompt, store: Store, home: str) -> Shown:
    """The prompt with its details, found out anew each time: a diff is against the file as it is now. `home`: what `$HOME` stands for in
    lines of shell.
    """
    subject = prompt.subject
    if not isinstance(subject, ApprovalSubject) or subject.tool not in ("bash", "edit", "write"):
        return Shown(prompt=prompt)
    session = await store.session(prompt.session_id, prompt.principal)
    workspace = session.workspace if session is not None else None
    if subject.tool == "bash":
        return Shown(prompt=prompt, parts=await to_thread.run_sync(partial(parts_of, subject.arguments, workspace, home)))
    return Shown(prompt=prompt, diff=await to_thread.run_sync(partial(diff_of, subject.tool, subject.arguments, workspace)))


async def inbox_page(inbox: Inbox, door: str, form_key: str) -> list[Child]:
    """The body of the inbox."""
    prompts = await inbox.open_prompts()
    shown = [await inbox.shown(prompt) for prompt in prompts[:MOST_CARDS]]
    cards = [card(one, action=f"/{door}/prompts/{one.prompt.id}", form_key=form_key) for one in shown]
    live = {"id": "inbox", "data-events": f"/{door}/events", "data-prompts": f"/{door}/prompts/", "data-most": str(MOST_CARDS)}
    return [
        el("h1", None, "Inbox"),
        el("p", {"id": "live", "role": "status", "class": "live"}, "Load the page again to see what is new."),
        el("p", {"id": "count", "aria-live": "polite"}, counted(len(prompts))),
        el("div", {"class": "tools"}, el("button", {"id": "clear", "type": "button", "hidden": True}, "Clear what is over")),
        el("div", live, *cards),
        _further(prompts[MOST_CARDS:], door),
        _keys(),
    ]


async def prompt_page(inbox: Inbox, prompt: Prompt, door: str, form_key: str, *, note: str) -> list[Child]:
    """The body of one prompt's page, open or over."""
    shown = await inbox.shown(prompt)
    return [el("h1", None, "Prompt"), card(shown, action=f"/{door}/prompts/{prompt.id}", form_key=form_key, note=note)]


def counted(count: int) -> str:
    """How many wait, in words."""
    if not count:
        return "Nobody waits for an answer."
    return f"{count} {'prompt waits' if count == 1 else 'prompts wait'} for you."


def _further(prompts: tuple[Prompt, ...], door: str) -> Html:
    """Empty and hidden where there is none; the page's script keeps it up to date."""
    rows = (
        el(
            "li",
            {"data-prompt": p.id},
            el("a", {"href": f"/{door}/prompts/{p.id}"}, path(p), ": ", said(wanted(p)[:200])),
            " ",
            moment(p.created_at, "age"),
        )
        for p in prompts
    )
    head = el("h2", None, f"{len(prompts)} more behind these")
    return el("section", {"id": "further", "class": "further", "hidden": not prompts}, head, el("ul", None, *rows))


def _keys() -> Html:
    keys = (
        ("j, k", "next, previous prompt"),
        ("a", "allow once"),
        ("s", "allow for the session"),
        ("t", "allow for it and its subagents"),
        ("d", "deny"),
        ("x", "deny for the session"),
        ("w", "write words to the model"),
    )
    rows = (el("div", None, el("dt", None, el("kbd", None, key)), el("dd", None, deed)) for key, deed in keys)
    whose = el("p", None, "They act on the prompt that has the focus.")
    return el("details", {"class": "keys"}, el("summary", None, "Keys"), whose, el("dl", None, *rows))
