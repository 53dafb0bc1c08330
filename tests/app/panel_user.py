"""A client that renders MCP Apps, as far as the protocol goes: what its app is given and sends, and what its model is given."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mcp.client.extension import ClientExtension
from mcp_types import CallToolResult

from mcp_server.protocol.apps import IDENTIFIER, META
from mcp_server.records import Choice
from tests.behaviour.world import Connected

MIME = "text/html;profile=mcp-app"
OPEN = "approvals_open"
ANSWER = "approvals_answer"


class RendersApps(ClientExtension):
    """What Claude Desktop declares, and nothing else."""

    identifier = IDENTIFIER
    kinds: ClassVar[Sequence[str]] = (MIME,)

    def settings(self) -> dict[str, Any]:
        return {"mimeTypes": list(self.kinds)}


class RendersOthers(RendersApps):
    """Knows the extension, but documents of another kind."""

    kinds = ("text/html;profile=later",)


@dataclass(slots=True, kw_only=True)
class PanelUser:
    """One panel of one connection. `read` is all that a host may have shown its model so far."""

    connected: Connected
    name: str = "one"
    seen: list[str] = field(default_factory=list[str])
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    cards: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    handed: list[str] = field(default_factory=list[str])
    """Every secret that ever came."""
    read: list[str] = field(default_factory=list[str])

    async def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """A call of the model's, whose panel is given what came with the result."""
        result = await self.connected.call(tool, **arguments)
        self._keep(result)
        return result

    async def look(self, *, wait: float = 0.0, renew: Sequence[str] = ()) -> Mapping[str, Any]:
        result = await self.connected.call(
            OPEN, panel=self.name, seen=self.seen, known=list(self.cards), renew=list(renew), wait_seconds=wait
        )
        assert not result.is_error, result
        self._keep(result)
        return meta_of(result)

    async def answer(
        self, prompt: str, choice: Choice | None = None, *, secret: str | None = None, **fields: Sequence[str]
    ) -> CallToolResult:
        """What the panel sends when a button is pressed."""
        form = {name: values for name, values in hidden_in(self.cards.get(prompt, [])).items() if name != "key"}
        sent = {**form, **fields, **({"choice": [choice.value]} if choice is not None else {})}
        given = self.secrets.pop(prompt, "none") if secret is None else secret
        result = await self.connected.call(ANSWER, prompt=prompt, secret=given, fields=sent)
        self._keep(result)
        return result

    def _keep(self, result: CallToolResult) -> None:
        self.read.append(json.dumps([result.model_dump(mode="json", include={"content", "structured_content"})]))
        told = meta_of(result)
        self.seen = list(told.get("open", self.seen))
        for one in told.get("prompts", ()):
            self.secrets[one["id"]] = one["secret"]
            self.handed.append(one["secret"])
            self.cards[one["id"]] = one.get("card") or self.cards[one["id"]]
        for one in told.get("over", ()):
            self.cards.pop(one["id"])
            self.secrets.pop(one["id"], None)


def meta_of(result: CallToolResult) -> Mapping[str, Any]:
    return (result.meta or {}).get(META, {})


def words_of(tree: Any) -> str:
    """All text of a card."""
    return tree if isinstance(tree, str) else "".join(map(words_of, tree[2:] if tree and isinstance(tree[0], str) else tree))


def elements_in(tree: Any) -> list[list[Any]]:
    """Every element of a card."""
    if isinstance(tree, str):
        return []
    if tree and isinstance(tree[0], str):
        return [tree, *(found for child in tree[2:] for found in elements_in(child))]
    return [found for child in tree for found in elements_in(child)]


def hidden_in(tree: Any) -> dict[str, list[str]]:
    """The hidden fields of its form."""
    inputs = [attributes for name, attributes, *_ in elements_in(tree) if name == "input" and attributes.get("type") == "hidden"]
    return {one["name"]: [one["value"]] for one in inputs}


def choices_in(tree: Any) -> list[str]:
    """What its buttons answer."""
    return [attributes["value"] for name, attributes, *_ in elements_in(tree) if name == "button" and attributes.get("name") == "choice"]
