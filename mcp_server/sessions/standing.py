"""Where a session stands: its chain, read from the store, and the authority that follows from it now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from mcp_server.agents.definition import AgentDefinition
from mcp_server.errors import StoreError
from mcp_server.policy.chain import Authority, Commons, Member, authority, stricter
from mcp_server.policy.derived import joined
from mcp_server.policy.layers import Held
from mcp_server.policy.values import Action, CallId, Mode, Reach, Rule
from mcp_server.policy.verdicts import Ruling, SessionId
from mcp_server.records import Prompt, PromptId, RulingRecord, SessionRecord
from mcp_server.sessions.book import Rulebook
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.shared_layers import shared_layers

GONE = "its definition is gone"
"""Why a session whose agent nobody defines any more may do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One session, seen from its own end of the chain. Made afresh for each decision."""

    session: SessionRecord
    records: tuple[SessionRecord, ...]
    """Root first, `session` last."""
    members: tuple[Member, ...]
    commons: Commons
    definitions: Mapping[str, AgentDefinition]
    rulebook: Rulebook
    """As it stood at the look that this was made by."""
    rulings: tuple[RulingRecord, ...]
    """Those that stand now, of the whole chain."""

    @property
    def path(self) -> tuple[str, ...]:
        """Agents, root first."""
        return tuple(record.agent for record in self.records)

    @property
    def definition(self) -> AgentDefinition | None:
        """The session's own; None where it is gone."""
        return self.definitions.get(self.session.agent)


async def standing_of(deployment: Deployment, session: SessionRecord) -> Standing:
    """Read the chain and the rules as they are now."""
    records = await deployment.store.chain(session.id)
    if not records:  # without its chain it would have no restrictions
        raise StoreError(f"session {session.id} is not there any more: it was silent for so long that it was removed; connect anew")
    rulebook = deployment.rulebook.pinned(session.workspace)
    definitions = rulebook.definitions(session.workspace)
    rulings = await deployment.store.rulings(
        principal=session.principal,
        session_ids=[record.id for record in records],
        standing_at=deployment.clock(),
    )
    return Standing(
        session=session,
        records=records,
        members=tuple(member_of(rulebook, record, definitions, deployment.outputs) for record in records),
        commons=await shared_layers(deployment, rulebook, records),
        definitions=definitions,
        rulebook=rulebook,
        rulings=rulings,
    )


def member_of(rulebook: Rulebook, record: SessionRecord, definitions: Mapping[str, AgentDefinition], outputs: Path) -> Member:
    """A session as policy sees it, its folder for saved output included."""
    member = bare_member(rulebook, record, definitions)
    return replace(member, rules=_with_outputs(str(outputs / record.id), Held(member.rules)))


def bare_member(rulebook: Rulebook, record: SessionRecord, definitions: Mapping[str, AgentDefinition]) -> Member:
    """A session with nothing but what its definition and the settings say of it: what a spawn is judged by."""
    definition = definitions.get(record.agent)
    named = rulebook.agent_rules(record.agent)
    if definition is None:
        banned = Rule(permission="*", pattern="*", action=Action.DENY, reason=GONE)
        return Member(session_id=record.id, agent=record.agent, rules=(banned,), may_ask=False)
    return Member(
        session_id=record.id,
        agent=record.agent,
        rules=joined(definition.permission, named.person),
        person=named.person,
        managed=named.managed,
        mode=_mode(rulebook, record, definition),
        may_ask=definition.prompts == "bubble",
        narrowed=record.narrowed,
    )


def _mode(rulebook: Rulebook, record: SessionRecord, definition: AgentDefinition) -> Mode | None:
    """What the session asks for now. None: its parent's.

    A root keeps to the mode that it was opened with where that is stricter than today's: a wider one begins with another root.
    """
    if record.parent_id is not None:
        return definition.permission_mode
    asked = (record.mode, definition.permission_mode, rulebook.root_mode(record.agent))
    return stricter(*(mode for mode in asked if mode is not None))


@lru_cache(maxsize=1024)
def _with_outputs(folder: str, held: Held) -> tuple[Rule, ...]:
    """Let a session read back what was saved for it because it was too long to show.

    Put before the first rule that names `external_directory` itself, so that an agent's own word on folders still has the last say,
    and after its `*` rules, which do not speak of folders in particular. Kept, because policy compiles a list once as long as it is
    the very same one.
    """
    ours = Rule(
        permission="external_directory",
        pattern=f"{folder}/*",
        action=Action.ALLOW,
        reason="output saved for this session",
        origin="built in",
    )
    rules = held.rules
    place = next((i for i, rule in enumerate(rules) if rule.permission == "external_directory"), len(rules))
    return (*rules[:place], ours, *rules[place:])


def authority_for(standing: Standing, call_id: CallId, digest: str, prompts: tuple[Prompt, ...]) -> Authority:
    """The authority for one call. A `once` ruling is heard only for the very calls that its prompt covered.

    `prompts` are those of the session with this digest.
    """
    mine = {prompt.id for prompt in prompts if call_id in prompt.calls}
    heard = tuple(record.ruling for record in standing.rulings if _hears(record, digest, mine))
    return authority(standing.members, standing.commons, heard)


def _hears(record: RulingRecord, digest: str, mine: set[PromptId]) -> bool:
    if record.ruling.reach is not Reach.ONCE:
        return True
    return record.ruling.digest == digest and record.prompt_id in mine


def handed_down(record: RulingRecord, *, to: SessionId, new_id: str) -> RulingRecord:
    """The copy of a ruling that a person let a caller hand to its child: for the child's session alone."""
    ruling = Ruling(
        id=type(record.ruling.id)(new_id),
        session_id=to,
        reach=Reach.SESSION,
        rule=record.ruling.rule,
        answers=record.ruling.answers,
    )
    return replace(record, ruling=ruling, used=0)
