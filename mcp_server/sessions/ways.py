"""By what a person can answer here: the channels that settings leave in, in the settings' order, and the words that lead there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from mcp_server.principal import LOCAL
from mcp_server.records import Prompt
from mcp_server.sessions.refusals import shortened
from mcp_server.sessions.wants import wanted
from mcp_server.settings.schema import CHANNELS, ChannelName

_NOWHERE = (
    "a person answers in the client, where it can show the question; where it cannot, there is no other way until whoever runs this server "
    "opens one in its settings: `channels`, and for a team `gateway.console`"
)


def _none_open() -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Of one process. The first channel is preferred."""

    channels: tuple[ChannelName, ...] = CHANNELS
    console: Callable[[], str | None] = _none_open
    """The bare address of this machine's own console, if one is open at this moment, as `http://127.0.0.1:PORT`."""
    team: str | None = None
    """The address of a gateway's console, for everybody but this machine's user. It is open as long as the server is."""

    def page_of(self, prompt: Prompt) -> str | None:
        """Where a prompt is shown in a console that is open now, to a browser that has signed in there. It opens nothing by itself.
        None: settings leave that way out, or no console that would show it is open.
        """
        address = self._leads_to(prompt.principal)
        return None if address is None else f"{address}/prompts/{prompt.id}"

    def leads(self, principal: str) -> bool:
        """Is there such a page now, for a prompt of that principal?"""
        return self._leads_to(principal) is not None

    def address(self, principal: str) -> str | None:
        """Of the console that shows that principal's prompts, to whoever has signed in there as its person. None: none is open."""
        return self.console() if principal == LOCAL.key else self.team

    def _leads_to(self, principal: str) -> str | None:
        return self.address(principal) if {"url", "console"} <= set(self.channels) else None

    def to_answer(self, prompt: Prompt) -> str:
        """What a person does about a prompt where nothing in their client reaches them."""
        if roles := prompt.asked_of:
            page = self.page_of(prompt)
            where = "" if page is None else f" at {page}"
            return f"somebody else, in the role {' and '.join(roles)}, answers{where}; nobody can in this client"
        ways = [way for name in self.channels if (way := self._walked(name, prompt))]
        return f"a person answers with {_either(ways)}" if ways else _NOWHERE

    def _walked(self, name: ChannelName, prompt: Prompt) -> str:
        match name:
            case "elicitation" | "app" | "desktop" | "webhook":
                return ""
            case "url":
                page = self.page_of(prompt)
                return "" if page is None else f"{page} in a browser that has signed in to the console"
            case "console":
                return self._in_console(prompt)
            case "terminal":
                return f"`remit approvals approve {prompt.id}`, `remit approvals watch`" if prompt.principal == LOCAL.key else ""
            case _:
                assert_never(name)

    def _in_console(self, prompt: Prompt) -> str:
        if prompt.principal == LOCAL.key:
            return "`remit console`"
        return f"the console at {self.team}" if self.team is not None and "url" not in self.channels else ""

    def line(self, prompt: Prompt) -> str:
        """One open prompt in a line, with what leads a person to it."""
        return f"{' › '.join(prompt.session_path)}: {shortened(wanted(prompt))} ({self.to_answer(prompt)})"

    def lines(self, prompts: Sequence[Prompt]) -> tuple[str, ...]:
        """Likewise, of each."""
        return tuple(map(self.line, prompts))

    def named(self, principal: str) -> tuple[str, ...]:
        """Every one, for whoever wants to know how that principal's person can be asked."""
        if principal == LOCAL.key:
            return tuple(_NAMES[name] for name in self.channels if name in _NAMES)
        ways = {**{name: _NAMES[name] for name in _ANYBODYS}, **({} if self.team is None else self._team_names(self.team))}
        return tuple(ways[name] for name in self.channels if name in ways)

    def _team_names(self, team: str) -> dict[ChannelName, str]:
        link = "a link to the console, where the client can show one"
        return {**({"url": link} if "console" in self.channels else {}), "console": f"{team}, in a browser"}


_ANYBODYS: tuple[ChannelName, ...] = ("elicitation", "app")
"""Those that lead to whoever's client it is. The others lead to this machine's user, or to a gateway's console."""

_NAMES: dict[ChannelName, str] = {
    "elicitation": "the client's own form, where it can show one",
    "url": "a link to the console, where the client can show one and a console is open",
    "app": "a panel inside the client, where it can show one",
    "console": "`remit console`, in a browser",
    "terminal": "`remit approvals watch`, in a terminal",
}


def _either(ways: Sequence[str]) -> str:
    *before, last = ways
    return f"{', '.join(before)} or {last}" if before else last
