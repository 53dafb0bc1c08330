"""The panel: the same prompts as in the console's inbox, inside a client that renders MCP Apps, and the answers that a person gives there.

What it shows and the secrets that it answers with leave in `_meta`, for the app. What a model may see of its calls is one fixed line.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp_types import CallToolRequestParams, CallToolResult, TextContent, Tool
from pydantic import ValidationError

from mcp_server.gateway.answering import Answering, NotCounted
from mcp_server.gateway.cards import card
from mcp_server.gateway.inbox import LOOK, detailed
from mcp_server.gateway.panel_page import document
from mcp_server.gateway.panel_tools import ANSWER, OPEN, TOOLS, AnswerArguments, OpenArguments
from mcp_server.gateway.panes import Pane, Panes
from mcp_server.gateway.vouchers import Bound, Vouchers, bound_to
from mcp_server.protocol.apps import META
from mcp_server.records import Answer, Prompt, PromptState, SessionRecord
from mcp_server.sessions.front import Caller, Front
from mcp_server.store.ids import is_id
from mcp_server.store.protocol import Store

PANEL = "panel"

MOST_CARDS = 8
"""Prompts that a panel shows whole. It stands in a conversation: past that, the console is the better place."""

MOST_CHARACTERS = 1_000_000
"""Of the cards in one result, but for the first of them."""

REFUSED = "this did not count, and nothing was changed: prompts are answered by a person, in the panel that their client shows"
"""To every answer that does not count, whatever the reason."""

TAKEN = "the answer was taken"
LOOKED = "the panel was brought up to date"


@dataclass(slots=True, kw_only=True)
class Panels:
    """See `protocol.apps.Panel`. Every panel of one server."""

    front: Front
    store: Store
    home: str
    """What `$HOME` stands for in lines of shell."""
    revision: Callable[[], str]
    """Of the settings and agents that are in force."""
    clock: Callable[[], float]
    vouchers: Vouchers = field(init=False)
    panes: Panes = field(init=False)
    _answering: dict[str, Answering] = field(default_factory=dict[str, Answering])

    def __post_init__(self) -> None:
        self.vouchers = Vouchers(clock=self.clock)
        self.panes = Panes(clock=self.clock)

    def tools(self) -> Sequence[Tool]:
        return TOOLS

    def document(self) -> str:
        return document()

    def missing(self, root: SessionRecord, prompts: Sequence[Prompt]) -> bool:
        pane = self._lent(root, prompts)
        return not self.panes.in_sight(pane) and any(prompt.id not in pane.handed for prompt in prompts)

    async def handed(self, caller: Caller, root: SessionRecord, prompts: Sequence[Prompt]) -> Mapping[str, Any]:
        return await self._told(caller, root, self._lent(root, prompts), prompts)

    def _lent(self, root: SessionRecord, prompts: Sequence[Prompt]) -> Pane:
        """The root's panels, which from now on may show what a request of this root may."""
        pane = self.panes.of(root.id)
        pane.lent.update(prompt.id for prompt in prompts if prompt.root_id != root.id)
        return pane

    async def call(self, caller: Caller, root: SessionRecord, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        if params.name == ANSWER:
            return await self._answer(caller, root, arguments)
        try:
            return await self._look(caller, root, OpenArguments.model_validate(arguments))
        except ValidationError:
            return _says(f"the arguments do not fit `{OPEN}`", error=True)

    # ---- showing --------------------------------------------------------------------------------

    async def _look(self, caller: Caller, root: SessionRecord, asked: OpenArguments) -> CallToolResult:
        pane = self.panes.of(root.id)
        if not self.panes.heard(pane, asked.panel):
            return _says(LOOKED, meta={"newer": True})
        known, renew = frozenset(asked.known), frozenset(asked.renew)
        prompts = await self._open_until(caller, root, pane, asked)
        if not self.panes.heard(pane, asked.panel):
            return _says(LOOKED, meta={"newer": True})
        told = await self._told(caller, root, pane, prompts, known=known, renew=renew)
        over = [prompt_id for prompt_id in asked.known if prompt_id not in {prompt.id for prompt in prompts}]
        return _says(LOOKED, meta={**told, "over": await self._over(caller, root, pane, over)})

    async def _open_until(self, caller: Caller, root: SessionRecord, pane: Pane, asked: OpenArguments) -> tuple[Prompt, ...]:
        """The open prompts, once they are others than the panel was told last, or it has waited long enough."""
        until, seen = anyio.current_time() + asked.wait_seconds, -1
        prompts: tuple[Prompt, ...] = ()
        while True:
            changed = await self.store.changed()
            if changed != seen:
                seen, prompts = changed, await self._open(caller, root, pane)
            ids = {str(prompt.id) for prompt in prompts}
            if ids != set(asked.seen) or asked.renew or pane.newest != asked.panel or anyio.current_time() >= until:
                return prompts
            await anyio.sleep(LOOK)

    async def _open(self, caller: Caller, root: SessionRecord, pane: Pane) -> tuple[Prompt, ...]:
        """Those of the caller's own tree, and those that a request of the caller's may show."""
        own = await self.store.prompts(principal=caller.principal.key, root_id=root.id, state=PromptState.OPEN)
        lent = [await self.store.prompt(prompt_id, caller.principal.key) for prompt_id in sorted(pane.lent)]
        mine = [prompt for prompt in own if not prompt.asked_of]
        return (*mine, *(prompt for prompt in lent if prompt is not None and prompt.state is PromptState.OPEN))

    async def _told(
        self,
        caller: Caller,
        root: SessionRecord,
        pane: Pane,
        prompts: Sequence[Prompt],
        *,
        known: frozenset[str] = frozenset(),
        renew: frozenset[str] = frozenset(),
    ) -> dict[str, Any]:
        """What a panel is told: every open prompt's id, and of those that it does not know the card and a secret."""
        told: list[dict[str, Any]] = []
        room, revision, principal = MOST_CARDS - len(known & {prompt.id for prompt in prompts}), self.revision(), caller.principal.key
        spent = 0
        for prompt in prompts:
            fresh = prompt.id not in known
            if not (fresh or prompt.id in renew):
                continue
            if fresh and (room <= 0 or spent > MOST_CHARACTERS):
                continue
            shown = prompt if prompt.shown_at is not None else await self.front.show(prompt.id)
            if shown is None:
                continue
            one: dict[str, Any] = {"id": shown.id, "secret": self.vouchers.issue(bound_to(shown, principal, root.id, revision))}
            if fresh:
                one["card"] = await self._card(shown)
                spent, room = spent + len(json.dumps(one["card"])), room - 1
            pane.handed.add(shown.id)
            told.append(one)
        return {"open": [prompt.id for prompt in prompts], "prompts": told}

    async def _over(self, caller: Caller, root: SessionRecord, pane: Pane, ids: Sequence[str]) -> list[dict[str, Any]]:
        """How those ended that the panel shows and that are open no more."""
        ended = list[dict[str, Any]]()
        for prompt_id in ids:
            prompt = await self._mine(caller, root, pane, prompt_id)
            if prompt is not None:
                self.vouchers.forget(prompt.id)
                ended.append({"id": prompt.id, "card": await self._card(prompt)})
        return ended

    async def _card(self, prompt: Prompt) -> list[Any]:
        return card(await detailed(prompt, self.store, self.home), action="", form_key="", here=PANEL).tree

    async def _mine(self, caller: Caller, root: SessionRecord, pane: Pane, prompt_id: str) -> Prompt | None:
        """The prompt, where this caller may be shown it."""
        prompt = await self.store.prompt(prompt_id, caller.principal.key)
        return prompt if prompt is not None and (prompt.root_id == root.id or prompt.id in pane.lent) else None

    # ---- answering ------------------------------------------------------------------------------

    async def _answer(self, caller: Caller, root: SessionRecord, arguments: Mapping[str, Any]) -> CallToolResult:
        answering, at = self._answering_for(caller), self.clock()
        try:
            asked = AnswerArguments.model_validate(arguments)
        except ValidationError:
            return await self._refused(answering, "it is no answer that the panel sends", at)
        bound = self.vouchers.take(asked.secret)
        prompt = await self._mine(caller, root, self.panes.of(root.id), asked.prompt)
        if prompt is None:
            return await self._refused(answering, "no such prompt is this caller's", at, ref=asked.prompt)
        expected = bound_to(prompt, caller.principal.key, root.id, self.revision())
        if bound != expected:
            return await self._refused(answering, _mismatch(bound, expected), at, prompt=prompt)
        refused = await answering.answer(prompt, asked.fields, by=caller.principal.key, at=at)
        if isinstance(refused, NotCounted):
            return _says(REFUSED, error=True)
        self.vouchers.forget(prompt.id)
        return _says(TAKEN)

    def _answering_for(self, caller: Caller) -> Answering:
        async def close(prompt: Prompt, answer: Answer) -> bool:
            return await self.front.answer(prompt.id, answer, caller.principal)

        key = caller.principal.key
        return self._answering.setdefault(key, Answering(store=self.store, principal=key, channel=PANEL, close=close))

    async def _refused(
        self, answering: Answering, reason: str, at: float, *, prompt: Prompt | None = None, ref: str = ""
    ) -> CallToolResult:
        # What was sent in place of an id may be anything, also a secret: it is not written down.
        await answering.refuse(reason, at=at, prompt=prompt, ref=ref if is_id("prm", ref) else "")
        return _says(REFUSED, error=True)


def _mismatch(bound: Bound | None, expected: Bound) -> str:
    """For the audit alone."""
    if bound is None:
        return "it came without a secret that lives: none, an old one, one used before, or one made up"
    if bound.principal != expected.principal:
        return "its secret was handed to somebody else"
    if bound.root_id != expected.root_id:
        return "its secret was handed to another session"
    if bound.prompt_id != expected.prompt_id:
        return "its secret is another prompt's"
    return "the rules or the call have changed since it was shown"


def _says(text: str, *, error: bool = False, meta: Mapping[str, Any] | None = None) -> CallToolResult:
    told = None if meta is None else {META: dict(meta)}
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=error, _meta=told)
