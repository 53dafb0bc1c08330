"""Past calls under the rules of today: decided as the gate decides, without rulings, and never run.

What children called is in their transcripts, as long as those are kept. Of a client's own calls the audit has digests, and the
arguments where settings keep them: those count where nothing of them was redacted.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_server.cli.asking import NotACall, requests_for
from mcp_server.cli.enclosing import enclose_for
from mcp_server.cli.here import Here, here
from mcp_server.cli.members import Cast, cast_of
from mcp_server.errors import RemitError
from mcp_server.policy.chain import Member, authority, stricter
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, ToolCall
from mcp_server.policy.verdicts import SessionId, Step, Verdict
from mcp_server.records import AuditEvent, ModelTurn, SessionRecord
from mcp_server.sessions.events import call_of, deciding_rules
from mcp_server.store.protocol import Store

ASKED_AFTER_ALL = frozenset({Step.RULING, Step.CHANNEL, Step.DONT_ASK})
"""Steps that say what became of an ask. The rules said ask."""


class NotReplayed(RemitError):
    """Why a call cannot be decided again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One call, then and now."""

    event: AuditEvent
    then: Action
    now: Action
    step: Step
    rules: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """The rules say something else today."""
        return self.then is not self.now


class Stage:
    """Workspaces, sessions and transcripts, each read once. For one look at the past."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: dict[str, tuple[Here, Cast] | str] = {}
        self._calls: dict[SessionId, Mapping[str, ToolCall]] = {}

    async def replay(self, event: AuditEvent) -> Replayed:
        """Decide the call of a decision again.

        Raises:
            NotReplayed: With the reason, the same words for all calls of a kind.
        """
        if event.action is None or event.step is None:
            raise NotReplayed("the event holds no verdict")
        chain = await self._store.chain(event.session_id)
        if not chain:
            raise NotReplayed("its session has been removed")
        call = await self._call(chain[-1], event)
        place, cast = self._place(chain[-1].workspace)
        verdict = self._decide(place, cast, _members(cast, chain), call)
        then = Action.ASK if event.step in ASKED_AFTER_ALL else event.action
        now = Action.ASK if verdict.step in ASKED_AFTER_ALL else verdict.action
        return Replayed(event=event, then=then, now=now, step=verdict.step, rules=deciding_rules(verdict))

    def _decide(self, place: Here, cast: Cast, members: tuple[Member, ...], call: ToolCall) -> Verdict:
        held = authority(members, cast.settings.commons)
        value = str(call.arguments.get("subagent_type", "")) if call.tool == "task" else json.dumps(call.arguments)
        try:
            return decide(held, requests_for(call.tool, value, cast, members, self._store, enclose_for(place, held)))
        except NotACall as error:
            raise NotReplayed("its tool needs no permission, is not here, or does not take its arguments") from error
        except RemitError as error:
            raise NotReplayed("its tool refuses its arguments as things are now") from error

    async def _call(self, session: SessionRecord, event: AuditEvent) -> ToolCall:
        if session.id not in self._calls:
            entries = [stored.entry for stored in await self._store.transcript(session.id)]
            self._calls[session.id] = {call.id: call for entry in entries if isinstance(entry, ModelTurn) for call in entry.calls}
        found = self._calls[session.id].get(event.ref)
        if found is not None:
            return found
        if event.arguments:
            kept = call_of(event)
            if kept is None:
                raise NotReplayed("no transcript holds it, and in the audit a value of its arguments was redacted or cut")
            return kept
        if session.parent_id is None:
            raise NotReplayed("it was the client's own: of its arguments only the digest is kept")
        raise NotReplayed("its arguments are not in the transcript")

    def _place(self, workspace: str) -> tuple[Here, Cast]:
        if workspace not in self._places:
            try:
                place = here(Path(workspace))
                self._places[workspace] = place, cast_of(place)
            except RemitError:
                self._places[workspace] = f"the workspace {workspace} cannot be read now"
        found = self._places[workspace]
        if isinstance(found, str):
            raise NotReplayed(found)
        return found


def _members(cast: Cast, chain: tuple[SessionRecord, ...]) -> tuple[Member, ...]:
    """The sessions as policy sees them today. A root keeps to the mode that it was opened with where that is stricter."""
    members: list[Member] = []
    for record in chain:
        member = cast.member(record.agent, record.id)
        if member is None:
            raise NotReplayed(f"no agent is called {record.agent} now")
        if record.parent_id is None:
            asked = [mode for mode in (record.mode, member.mode) if mode is not None]
            member = replace(member, mode=stricter(cast.settings.mode, *asked))
        members.append(replace(member, narrowed=record.narrowed))
    return tuple(members)
