"""Who works or has worked, as a tree; and one session's transcript with the verdicts in place."""

import json
from collections.abc import Iterable, Iterator, Mapping

from mcp_server.gateway.belongings import Belongings
from mcp_server.gateway.cards import agents, moment
from mcp_server.gateway.html import Child, Html, el, join, lined, said
from mcp_server.policy.values import CallId, ToolCall
from mcp_server.records import FINAL, CallEnded, CallStarted, Compacted, ModelTurn, SessionRecord, StoredEntry, TaskGiven
from mcp_server.sessions.ending import end_runs, end_session
from mcp_server.sessions.forest import Forest, Listed, began, ended, read_forest
from mcp_server.sessions.plain_entries import text_of
from mcp_server.sessions.story import Story, beside, story_of, used, verdicts
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import elapsed_of

MOST_LISTED = 100
"""Finished sessions that are listed where they are asked for: the newest of them, with their ancestors."""

MOST_ENTRIES = 400
"""Entries of a transcript on one page, the last ones; `remit sessions show` has all."""

MOST_CHARACTERS = 20_000
"""Of one entry."""


async def sessions_page(mine: Belongings, door: str, *, finished: bool, now: float) -> list[Child]:
    """The body of the page with the tree."""
    forest = await read_forest(mine.store, principals=mine.listed, workspace=None, limit=MOST_LISTED, finished=finished)
    other = ("Only what goes on", f"/{door}/sessions") if finished else ("Finished ones too", f"/{door}/sessions?all=1")
    names = {key: mine.named(key) for key in {one.session.principal for one in forest.listed}}
    rows = [_row(depth, one, door, now, mine, names) for depth, one in forest.tree()]
    return [
        el("h1", None, "Sessions"),
        el("p", None, el("a", {"href": other[1]}, other[0])),
        el("ul", {"class": "tree"}, *rows) if rows else el("p", None, "Nothing is going on."),
        _apart(forest),
    ]


def _apart(forest: Forest) -> Html | None:
    apart = forest.folded.get(None, 0)
    return el("p", {"class": "when"}, f"{apart} finished session{'' if apart == 1 else 's'} not shown.") if apart else None


def _row(depth: int, one: Listed | int, door: str, now: float, mine: Belongings, names: Mapping[str, str]) -> Html:
    """Each row says its depth to those who cannot see it."""
    place = {"class": f"depth-{min(depth, 8)}", "aria-level": str(depth + 1), "role": "listitem"}
    if isinstance(one, int):
        return el("li", place, f"{one} finished")
    link = el("a", {"href": f"/{door}/sessions/{one.session.id}"}, said(one.session.agent))
    span = elapsed_of(ended(one, now) - began(one))
    return el(
        "li",
        place,
        link,
        " ",
        el("span", {"class": "state"}, one.state),
        f" · {span} · ",
        *_about(one, door, mine, names[one.session.principal]),
    )


def _about(one: Listed, door: str, mine: Belongings, whose: str) -> Iterator[Child]:
    """What an operator is shown of others says that they work, and not at what."""
    if whose:
        yield el("span", {"class": "whose"}, said(whose))
    if not mine.reads(one.session):
        return
    reason = one.run.reason if one.run is not None else ""
    yield said(", ".join(part for part in (reason, one.session.title) if part))
    for prompt in one.prompts:
        yield el(
            "p",
            {"class": "note"},
            el("a", {"href": f"/{door}/prompts/{prompt.id}"}, "asks: " if whose else "asks you: ", said(wanted(prompt)[:200])),
        )


async def session_page(
    mine: Belongings, door: str, session_id: str, *, explained: bool, form_key: str = "", note: str = ""
) -> list[Child] | None:
    """The body of one session's page. None: there is no such session that this person may see.

    Args:
        mine: What they may see and do.
        door: What every path begins with.
        session_id: Which session.
        explained: There is a page of rules.
        form_key: Of the visit, for forms that end something.
        note: What has become of such a form.
    """
    session = await mine.session(session_id)
    if session is None:
        return None
    whose = mine.named(session.principal)
    if not mine.reads(session):
        return await _outline(mine, session, door, whose, ends=await _ends(mine, session, door, form_key, note))
    story = await story_of(mine.store, session)
    children = await mine.store.children(session.id)
    left = len(story.entries) - MOST_ENTRIES
    return [
        el("h1", None, agents(story.path)),
        el("p", {"class": "when"}, session.id, " · ", said(session.workspace), join(" · ", said(whose)) if whose else None),
        el("p", None, el("a", {"href": f"/{door}/agents?session={session.id}"}, "What it may do")) if explained else None,
        el("p", None, said(session.title)) if session.title else None,
        el("p", None, el("span", {"class": "state"}, story.listed.state), *_usage(story)),
        *await _ends(mine, session, door, form_key, note),
        *(el("p", None, "sent ", el("a", {"href": f"/{door}/sessions/{one.id}"}, said(one.agent))) for one in children),
        el("p", {"class": "note"}, f"{left} earlier entries are not shown.") if left > 0 else None,
        *(_entry(story, stored) for stored in story.entries[-MOST_ENTRIES:]),
        *(_beside(story, call, tool, end) for call, tool, end in ((c, event.tool, end) for c, event, end in beside(story))),
        _changes(story),
    ]


async def _ends(mine: Belongings, session: SessionRecord, door: str, form_key: str, note: str) -> list[Child]:
    """What came of ending it, and the forms that end what goes on, for whoever may."""
    told: list[Child] = [el("p", {"class": "note", "role": "status"}, note)] if note else []
    if not mine.may_end(session):
        return told
    run = await mine.store.latest_run(session.id)
    if run is not None and run.state not in FINAL:
        told.append(_end_form(door, session, form_key, "run", "End this run and all below it"))
    if session.parent_id is None and session.ended_at is None:
        told.append(_end_form(door, session, form_key, "session", "End this session and all of its runs"))
    return told


def _end_form(door: str, session: SessionRecord, form_key: str, what: str, label: str) -> Html:
    return el(
        "form",
        {"method": "post", "action": f"/{door}/sessions/{session.id}/end"},
        el("input", {"type": "hidden", "name": "key", "value": form_key}),
        el("button", {"type": "submit", "class": "deny", "name": "what", "value": what}, label),
    )


async def end(mine: Belongings, session: SessionRecord, what: str, *, now: float) -> str:
    """End a run or a session, as the form asks. What was wrong with that; empty: it was asked to end."""
    own = mine.is_own(session.principal)
    by = "the person, in the console" if own else "an operator, in the console"
    if what == "session" and session.parent_id is None and session.ended_at is None:
        await end_session(mine.store, session, by, at=now, ruled_by=mine.by)
        return ""
    if what == "run" and await end_runs(mine.store, session.id, by, at=now, ruled_by=mine.by):
        return ""
    return "Nothing of it goes on any more; nothing was changed."


async def _outline(mine: Belongings, session: SessionRecord, door: str, whose: str, *, ends: list[Child]) -> list[Child]:
    """That a session works, how far it is and what it has used: nothing of what it reads and writes."""
    chain, run = await mine.store.chain(session.id), await mine.store.latest_run(session.id)
    state = ("open" if session.ended_at is None else "ended") if run is None else run.state.value
    children = await mine.store.children(session.id)
    return [
        el("h1", None, agents([one.agent for one in chain])),
        el("p", {"class": "when"}, session.id, " · ", said(session.workspace), " · ", said(whose)),
        el("p", None, el("span", {"class": "state"}, state), f" · {used(run.usage)}" if run is not None else None),
        *ends,
        *(el("p", None, "sent ", el("a", {"href": f"/{door}/sessions/{one.id}"}, said(one.agent))) for one in children),
        el("p", {"class": "note"}, "You see that it works, and not what it reads and writes."),
    ]


def _usage(story: Story) -> Iterator[Child]:
    run = story.listed.run
    if run is None:
        return
    yield join_reason(run.reason)
    yield f" · {used(run.usage)}"
    if run.outcome is not None and run.outcome.refused:
        refused = (
            el("li", None, agents(call.session_path), ": ", said(f"{call.tool} {call.summary}: {call.ending.value}: {call.reason}"))
            for call in run.outcome.refused
        )
        yield el("span", None, " · refused:")
        yield el("ul", {"class": "box"}, *refused)


def join_reason(reason: str) -> Html | None:
    """Why it is so, where that is known."""
    return el("span", None, ": ", said(reason)) if reason else None


def _entry(story: Story, stored: StoredEntry) -> Html | None:
    match stored.entry:
        case TaskGiven() as given:
            return _block("Task", stored.at, lined(given.text, of="The task", most=MOST_CHARACTERS))
        case ModelTurn() as turn:
            text = lined(turn.text, of="What the model said", most=MOST_CHARACTERS) if turn.text else None
            return _block(el("span", None, "Model ", said(turn.model)), stored.at, text, *(_call(story, call) for call in turn.calls))
        case CallStarted():
            return None
        case CallEnded() as done:
            title = el("span", None, said(done.tool), f": {done.ending.value}")
            return _block(title, stored.at, lined(text_of(done), of="What the model was told", most=MOST_CHARACTERS))
        case Compacted() as compacted:
            return _block(
                "Shortened: in place of all before, the model now reads",
                stored.at,
                lined(compacted.summary, of="The summary", most=MOST_CHARACTERS),
            )


def _block(title: Child, at: float, *body: Child | Iterable[Child]) -> Html:
    return el("section", {"class": "entry"}, el("h2", None, title), el("p", {"class": "when"}, moment(at)), *body)


def _call(story: Story, call: ToolCall) -> Html:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False, indent=1)
    return el(
        "div",
        None,
        el("h3", None, "calls ", said(call.tool)),
        lined(arguments, of="Its arguments", most=MOST_CHARACTERS),
        _verdicts(story, call.id),
    )


def _verdicts(story: Story, call: CallId) -> Html:
    return el("ul", {"class": "because"}, *(el("li", None, said(line)) for line in verdicts(story, call)))


def _beside(story: Story, call: CallId, tool: str, end: str) -> Html:
    return el("section", {"class": "entry"}, el("h2", None, said(tool), f": {end}"), _verdicts(story, call))


def _changes(story: Story) -> Html | None:
    if not story.changes:
        return None
    lines = (el("li", None, moment(one.at), f" {one.state.value}", join_reason(one.reason)) for one in story.changes)
    return el("section", None, el("h2", None, "Steps"), el("ol", {"class": "box", "tabindex": "0"}, *lines))
