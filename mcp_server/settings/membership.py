"""What the gateway's settings come to for one caller: teams, roles, and what they may use. Pure; asked anew whenever it matters."""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, cast

from mcp_server.policy.chain import Commons, stricter
from mcp_server.policy.derived import joined
from mcp_server.policy.values import MODES_STRICTEST_FIRST, Mode
from mcp_server.principal import API_KEYS, TokenPrincipal
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.teams import Grant, RoleHolders, TeamRoles, Who
from mcp_server.settings.values import Settings
from mcp_server.settings.vocabulary import Role

NO_CLAIMS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One caller, as the settings see them."""

    member: bool
    """May they use the gateway's tools at all?"""
    teams: tuple[str, ...] = ()
    """In the order of the settings."""
    people: tuple[str, ...] = ()
    """The entries of `people` that fit, in that order."""
    roles: frozenset[Role] = frozenset()
    """Over everybody."""
    team_roles: Mapping[str, frozenset[Role]] = field(default_factory=dict[str, frozenset[Role]])
    """Over single teams, by their names. Only those with any."""
    agents: tuple[str, ...] | None = None
    """None: any. So with the next two."""
    tools: tuple[str, ...] | None = None
    workspaces: tuple[str, ...] | None = None
    max_mode: Mode | None = None

    def holds(self, role: Role, teams: Collection[str]) -> bool:
        """Do they hold it over somebody of these teams? A member does over whoever shares a team, or over whoever is in none."""
        if role == "member":
            return self.member and (not teams or not frozenset(teams).isdisjoint(self.teams))
        return role in self.roles or any(role in self.team_roles.get(team, ()) for team in teams)

    @property
    def every_role(self) -> frozenset[Role]:
        """Over anybody."""
        return self.roles.union(*self.team_roles.values())


def membership_of(gateway: Gateway, principal: TokenPrincipal, claims: Mapping[str, Any] = NO_CLAIMS) -> Membership:
    """Who somebody is. `claims`: as their issuer said them last."""

    def fits(whos: Iterable[Who]) -> bool:
        return any(_fits(who, principal, claims) for who in whos)

    teams = {name: team for name, team in gateway.teams.items() if fits(team.who)}
    people = {name: person for name, person in gateway.people.items() if fits(person.who)}
    everywhere = _held(gateway.roles, fits)
    team_roles = {name: held for name, team in gateway.teams.items() if (held := _held(team.roles, fits))}
    given = _Given(everyone=gateway.everyone, teams=tuple(teams.values()), people=tuple(people.values()))
    return Membership(
        member=gateway.roles.member is None or fits(gateway.roles.member),
        teams=tuple(teams),
        people=tuple(people),
        roles=everywhere,
        team_roles=MappingProxyType(team_roles),
        agents=given.names([grant.agents for grant in given.grants]),
        tools=given.names([grant.tools for grant in given.grants]),
        workspaces=given.names([grant.workspaces for grant in given.grants]),
        max_mode=given.max_mode,
    )


def commons_for(settings: Settings, whose: Membership) -> Commons:
    """The shared layers as one caller meets them: their teams' rules and their own after everyone's, and what they are given."""
    commons = settings.commons
    lists = (*(settings.team_rules.get(name, ()) for name in whose.teams), *(settings.people_rules.get(name, ()) for name in whose.people))
    caps = [mode for mode in (commons.max_mode, whose.max_mode) if mode is not None]
    return replace(
        commons,
        managed=functools.reduce(joined, lists, commons.managed),
        max_mode=stricter(*caps) if caps else None,
        granted_tools=whose.tools,
        granted_agents=whose.agents,
    )


def claims_heard(gateway: Gateway, claims: Mapping[str, Any]) -> dict[str, Any]:
    """What of a token's claims these settings ask for: the rest is nobody's business here, and is not kept."""
    asked = {name for who in gateway.selectors for name in who.claims}
    return {name: claims[name] for name in sorted(asked) if name in claims}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What was given, by whom. What one team gives another does not take; everyone's and a person's own words bind beside them."""

    everyone: Grant
    teams: Sequence[Grant]
    people: Sequence[Grant]

    @property
    def grants(self) -> tuple[Grant, ...]:
        return (self.everyone, *self.teams, *self.people)

    def names(self, said: Sequence[list[str] | None]) -> tuple[str, ...] | None:
        """`said`: of each of `grants`, one list."""
        teams = [one for one in said[1 : 1 + len(self.teams)] if one is not None]
        together = list(dict.fromkeys(name for one in teams for name in one)) if teams else None
        binding = [one for one in (said[0], together, *said[1 + len(self.teams) :]) if one is not None]
        if not binding:
            return None
        return tuple(name for name in dict.fromkeys(binding[0]) if all(name in one for one in binding))

    @property
    def max_mode(self) -> Mode | None:
        teams = [one.max_mode for one in self.teams if one.max_mode is not None]
        together = max(teams, key=MODES_STRICTEST_FIRST.index, default=None)
        binding = [one for one in (self.everyone.max_mode, together, *(person.max_mode for person in self.people)) if one is not None]
        return stricter(*binding) if binding else None


def _held(block: RoleHolders | TeamRoles, fits: Callable[[Iterable[Who]], bool]) -> frozenset[Role]:
    holders: Mapping[Role, Sequence[Who]] = {"approver": block.approver, "operator": block.operator, "auditor": block.auditor}
    return frozenset(role for role, whos in holders.items() if fits(whos))


def _fits(who: Who, principal: TokenPrincipal, claims: Mapping[str, Any]) -> bool:
    if who.key is not None:
        return principal.issuer == API_KEYS and principal.subject == who.key
    if principal.issuer == API_KEYS:
        return False
    named = ((who.issuer, principal.issuer), (who.subject, principal.subject), (who.client, principal.client))
    return all(wanted is None or wanted == is_ for wanted, is_ in named) and all(
        _says(claims.get(name), wanted) for name, wanted in who.claims.items()
    )


def _says(said: object, wanted: object) -> bool:
    """Does a claim hold what is wanted of it? Of a list one is enough, here and there. `true` is not 1."""
    if isinstance(wanted, dict):
        return isinstance(said, dict) and all(
            _says(cast("dict[str, object]", said).get(name), inner) for name, inner in cast("dict[str, object]", wanted).items()
        )
    if isinstance(wanted, list):
        return any(_says(said, one) for one in cast("list[object]", wanted))
    if isinstance(said, list):
        return any(_same(one, wanted) for one in cast("list[object]", said))
    return _same(said, wanted)


def _same(said: object, wanted: object) -> bool:
    return type(said) is type(wanted) and said == wanted
