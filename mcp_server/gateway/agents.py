"""Agents and rules as a page: who there is, and what would happen if the last of a chain called a tool."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyio import to_thread

from mcp_server.agents.definition import AgentDefinition, AgentSet
from mcp_server.errors import ConfigError, RemitError
from mcp_server.gateway.audit import table
from mcp_server.gateway.belongings import Belongings
from mcp_server.gateway.cards import agents
from mcp_server.gateway.explaining import Explained, Explains
from mcp_server.gateway.html import Child, Html, el, exact, said
from mcp_server.policy.explain import changes_of, finding
from mcp_server.policy.values import Mode, Rule
from mcp_server.policy.verdicts import Opinion, ValueVerdict
from mcp_server.sessions.visible import visible
from mcp_server.settings.values import Settings

FIELDS = ("workspace", "chain", "tool", "value", "mode")
MOST_CHARACTERS = 8000
"""Of one field. A longer line of shell is one for `remit explain`."""

HEADS = ("Layer", "Whose", "Says", "Rule", "Written in", "Note")
MODES = tuple(mode.value for mode in Mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the address asks, and the workspaces that it may ask of."""

    asked: Mapping[str, str]
    workspaces: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Agents, root first."""
        return [name.strip() for name in re.split(r"[,›>]", self.asked["chain"])]

    @property
    def mode(self) -> Mode | None:
        """The root's; None: the settings'."""
        return Mode(self.asked["mode"]) if self.asked["mode"] in MODES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsPage:
    """The page, and what it reads from."""

    explains: Explains
    workspace: str
    """Shown first. Of others than this and those of the person's own sessions nothing is read."""

    async def body(self, mine: Belongings, query: Mapping[str, str]) -> list[Child]:
        """For what the address asks."""
        question = await _question(mine, self.workspace, query)
        answer = await _answer(self.explains, mine, question) if question.asked["chain"] and question.asked["tool"] else []
        return [
            el("h1", None, "Agents and rules"),
            el("p", None, "What would happen if the last agent of a chain called a tool. Nothing is run; rulings are left out."),
            _form(question),
            *answer,
            *await _who(self.explains, question.asked["workspace"]),
        ]


async def _question(mine: Belongings, here: str, query: Mapping[str, str]) -> Question:
    asked = {name: query.get(name, "").strip()[:MOST_CHARACTERS] for name in FIELDS}
    known = dict.fromkeys((here, *(one.workspace for one in await mine.roots())))
    session = await mine.session(query.get("session", ""))
    if session is not None:
        chain = await mine.store.chain(session.id)
        mode = chain[0].mode if chain else None
        asked |= {"chain": ", ".join(one.agent for one in chain), "workspace": session.workspace, "mode": mode.value if mode else ""}
        known[session.workspace] = None
    if asked["workspace"] not in known:
        asked["workspace"] = here
    return Question(asked=asked, workspaces=tuple(known))


async def _answer(explains: Explains, mine: Belongings, question: Question) -> list[Child]:
    asked = question.asked
    try:
        found = await to_thread.run_sync(
            explains.explain, asked["workspace"], question.names, question.mode, asked["tool"], asked["value"] or "*", mine.store
        )
    except RemitError as error:
        return [el("section", {"class": "card"}, el("h2", None, "No answer"), *_faults(error))]
    return [_told(found)]


def _told(found: Explained) -> Html:
    verdict, mode = found.verdict, found.held.mode
    return el(
        "section",
        {"class": "card", "aria-labelledby": "verdict"},
        el("h2", {"id": "verdict"}, f"{verdict.action.word}: ", agents(found.chain), ", ", said(found.tool), " ", exact(found.value)),
        el("p", {"class": "when"}, f"at step {verdict.step.value}, mode {mode.value}"),
        el("p", None, said(finding(verdict, mode))),
        *(_part(part) for part in verdict.parts),
    )


def _part(part: ValueVerdict) -> Html:
    changes = [el("li", None, said(change)) for change in changes_of(part)]
    return el(
        "section",
        None,
        el("h3", None, exact(f"{part.permission} {part.value.text}"), f": {part.action.word} at step {part.step.value}"),
        table(HEADS, [_opinion(one) for one in part.opinions if one.layer.rules], of="What each layer says"),
        el("ul", {"class": "notes"}, *changes) if changes else None,
    )


def _opinion(one: Opinion) -> list[Child]:
    rule = one.rule
    return [
        one.layer.kind.value,
        said(one.layer.owner),
        "nothing" if one.action is None else one.action.word,
        exact(str(rule)) if rule is not None else None,
        said(rule.origin) if rule is not None and rule.origin else None,
        said(one.note) if one.note else None,
    ]


# ---- who there is -------------------------------------------------------------------------------


async def _who(explains: Explains, workspace: str) -> list[Child]:
    try:
        settings, found = await to_thread.run_sync(explains.agents, workspace)
    except RemitError as error:
        return [el("h2", None, "Agents"), *_faults(error)]
    notices = [el("p", {"class": "note"}, said(str(notice))) for notice in (*settings.notices, *found.notices)]
    return [el("h2", None, "Agents"), *notices, *(_agent(one, settings, found) for one in found.values())]


def _faults(error: RemitError) -> Iterator[Html]:
    told: Iterable[object] = error.faults if isinstance(error, ConfigError) else (error,)
    for fault in told:
        yield el("p", {"class": "note", "role": "status"}, said(str(fault)))


def _agent(one: AgentDefinition, settings: Settings, found: AgentSet) -> Html:
    tuning = settings.tuning(one.name)
    model = settings.model_for(one.model, hidden=one.hidden) or "not set"
    asks = "the person" if one.prompts == "bubble" else "nobody"
    mode = f", mode {one.permission_mode.value}" if one.permission_mode else ""
    tools = "what its rules do not wholly deny" if one.tools is None else ", ".join(one.tools) or "none"
    rules = [*_rules(one.permission, ""), *_rules(tuning.person, "your settings"), *_rules(tuning.managed, "managed settings")]
    return el(
        "details",
        None,
        el("summary", None, said(one.name), f" ({one.mode}{', hidden' if one.hidden else ''}): ", said(one.description)),
        el("p", {"class": "when"}, f"from {one.where}, ", said(one.source)),
        el("p", None, "model ", said(model), mode, f", asks {asks}; tools: ", said(tools)),
        el("ul", {"class": "box rules", "tabindex": "0"}, *rules) if rules else el("p", None, "No rules of its own."),
    )


def _rules(rules: Sequence[Rule], whose: str) -> Iterator[Html]:
    for rule in rules:
        about = "; ".join(
            part for part in (whose, "for itself alone" if rule.scope == "self" else "", rule.reason or "", rule.origin) if part
        )
        yield el("li", None, exact(str(rule)), el("span", {"class": "when"}, " ", said(about)) if about else None)


# ---- the form -----------------------------------------------------------------------------------


def _form(question: Question) -> Html:
    asked = question.asked
    return el(
        "form",
        {"method": "get", "class": "filters", "role": "search", "aria-label": "A call"},
        _choice("workspace", "Workspace", [(one, one) for one in question.workspaces], asked),
        _line("chain", "Agents, root first, with commas between", asked),
        _line("tool", "Tool or permission", asked),
        _line("value", "Value: a path, a command, or all arguments as JSON", asked),
        _choice("mode", "Mode of the root", [("", "your settings'"), *((mode, mode) for mode in MODES)], asked),
        el("button", {"type": "submit"}, "Explain"),
    )


def _choice(name: str, title: str, values: Sequence[tuple[str, str]], asked: Mapping[str, str]) -> Html:
    options = (el("option", {"value": value, "selected": value == asked[name]}, visible(words)) for value, words in values)
    return el("p", None, el("label", {"for": f"ask-{name}"}, title), el("select", {"id": f"ask-{name}", "name": name}, *options))


def _line(name: str, title: str, asked: Mapping[str, str]) -> Html:
    identity = f"ask-{name}"
    field = {"id": identity, "name": name, "type": "text", "value": asked[name], "autocomplete": "off", "spellcheck": "false"}
    return el("p", None, el("label", {"for": identity}, title), el("input", field))
