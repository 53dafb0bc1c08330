"""Who is who at a gateway: roles, teams, single people, and what each may use. Part of the setting `gateway`."""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from mcp_server.settings.addresses import Address
from mcp_server.settings.blocks import Block, key
from mcp_server.settings.written import AgentName, ModeWord, ToolName, Written, checked_name

DEFAULT_WORKSPACE = "default"
"""In grants and addresses: the workspace that the server was started for."""


def _workspace(text: str) -> str:
    if checked_name(text) == DEFAULT_WORKSPACE:
        raise ValueError("is the name of the workspace that the server is started for; take another")
    return text


TeamName = Annotated[str, AfterValidator(checked_name)]
WorkspaceName = Annotated[str, AfterValidator(_workspace)]
Named = Annotated[str, Field(min_length=1, max_length=512)]

Claim = str | int | bool
_Leaf = Claim | Annotated[list[Claim], Field(min_length=1)]
_Inner = _Leaf | Annotated[dict[Named, _Leaf], Field(min_length=1)]
Wanted = _Leaf | Annotated[dict[Named, _Inner], Field(min_length=1)]
"""What a claim must hold: this, one of these, or a map in which these claims hold (three deep: `resource_access: {remit: {roles: x}}`)."""


class Who(Block):
    """Some of the callers. All that is said here must hold of one."""

    issuer: Address | None = key(
        None, "The issuer that knows them. Needed where the gateway has several.", example="https://login.example.org"
    )
    subject: Named | None = key(None, "The person, by the issuer's name for them.", example="alice")
    client: Named | None = key(None, "The client they use.", example="claude-desktop")
    claims: dict[Named, Wanted] = key(
        {}, "What their token says. Of a list one value is enough, here and there.", example={"groups": ["payments", "billing"]}
    )
    key: Named | None = key(None, "A machine, by the name of its API key; nothing else can be said of one.", example="nightly-build")

    @model_validator(mode="after")
    def _somebody(self) -> "Who":
        said = {name for name in self.model_fields_set if getattr(self, name) is not None}
        if not said - {"issuer"}:
            raise ValueError("names nobody in particular; add `subject`, `claims`, `client` or `key`")
        if "key" in said and said != {"key"}:
            raise ValueError("says more of an API key than its name; leave the rest out")
        if "claims" in said and not self.claims:
            raise ValueError("names no claim; write one: claims: {groups: payments}")
        return self


class RoleHolders(Block):
    """Who holds which role."""

    member: list[Who] | None = key(
        None, "Who may use the gateway at all; absent: whoever's token counts.", example=[{"claims": {"groups": "staff"}}]
    )
    approver: list[Who] = key([], "Who answers what rules give to an approver.", example=[{"claims": {"groups": "leads"}}])
    operator: list[Who] = key([], "Who sees everybody's sessions, how far they are, and may end them.", example=[{"subject": "carol"}])
    auditor: list[Who] = key([], "Who reads everybody's audit, sessions, prompts and rulings.", example=[{"claims": {"groups": "audit"}}])


class TeamRoles(Block):
    """Who holds which role over what a team's people do, and over nothing else."""

    approver: list[Who] = key([], "Who answers what rules give to an approver.", example=[{"subject": "dora"}])
    operator: list[Who] = key([], "Who sees the team's sessions, how far they are, and may end them.", example=[{"subject": "dora"}])
    auditor: list[Who] = key([], "Who reads the team's audit, sessions, prompts and rulings.", example=[{"subject": "dora"}])


class Quota(Block):
    """How much may be used. Absent: any amount."""

    requests_per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = key(
        None, "Requests to the gateway's address in any 60 seconds, counted by each server process for itself.", example=120
    )
    concurrent_runs: Annotated[int, Field(ge=1, le=100_000)] | None = key(
        None, "Subagents' runs that have not ended, those that wait and those that subagents sent themselves included.", example=10
    )
    tokens_per_day: Annotated[int, Field(ge=1)] | None = key(None, "Tokens of models in a day of UTC, in and out.", example=5_000_000)
    cost_per_day: Annotated[float, Field(gt=0)] | None = key(
        None, "US dollars of models in a day of UTC, as far as prices are known.", example=20.0
    )


class Grant(Block):
    """What somebody may use. Absent: nothing is said of it."""

    agents: list[AgentName] | None = key(
        None,
        "The agents that may be sent, or chosen by the address. The default root agent may always be used.",
        example=["explore", "review"],
    )
    tools: list[ToolName] | None = key(
        None, "The tools that are offered and may be used, by subagents too.", example=["read", "grep", "task"]
    )
    workspaces: list[TeamName] | None = key(
        None, "The workspaces, by the names in `gateway.workspaces`; `default` is the server's own.", example=["default", "shop"]
    )
    max_mode: ModeWord | None = key(None, "The least strict mode.", example="default")
    limits: Quota = key(Quota(), "How much each person may use, by whatever clients.", example={"tokens_per_day": 2_000_000})


class Team(Grant):
    """Callers with something in common."""

    who: Annotated[list[Who], Field(min_length=1)] = key(
        ..., "Who is in it: each that one of these fits.", example=[{"claims": {"groups": "pay"}}]
    )
    permission: Written = key(None, "Its rules: they follow the managed settings' own, in the same layer.", example={"bash": "ask"})
    roles: TeamRoles = key(TeamRoles(), "Who holds which role over it.", example={"approver": [{"subject": "dora"}]})
    together: Quota = key(Quota(), "How much all of it may use together.", example={"cost_per_day": 100.0})


class Person(Grant):
    """One caller, or a few."""

    who: Annotated[list[Who], Field(min_length=1)] = key(..., "Who it is.", example=[{"subject": "alice"}])
    permission: Written = key(None, "Their rules: they follow their teams', in the same layer.", example={"bash": "deny"})


def whos(block: RoleHolders | TeamRoles | Team | Person) -> tuple[Who, ...]:
    """Whoever it names."""
    match block:
        case RoleHolders():
            return (*(block.member or ()), *block.approver, *block.operator, *block.auditor)
        case TeamRoles():
            return (*block.approver, *block.operator, *block.auditor)
        case Team() | Person():
            return tuple(block.who)
