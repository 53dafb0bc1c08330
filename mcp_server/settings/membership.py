"""What the gateway's settings come to for one caller: teams, roles, and what they may use. Pure; asked anew whenever it matters."""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, cast

from mcp_server.policy import wildcards
from mcp_server.policy.chain import Commons, stricter
from mcp_server.policy.derived import joined
from mcp_server.policy.values import MODES_STRICTEST_FIRST, Mode
from mcp_server.principal import API_KEYS, TokenPrincipal
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.teams import Grant, Quota, RoleHolders, TeamRoles, Who
from mcp_server.settings.values import Settings
from mcp_server.settings.vocabulary import Role

NO_QUOTA = Quota()
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
    limits: Quota = NO_QUOTA
    """Their own."""
    together: Mapping[str, Quota] = field(default_factory=dict[str, Quota])
    """What each of their teams may use together, by its name."""

    def holds(self, role: Role, teams: Collection[str]) -> bool:
        """Do they hold it over somebody of these teams? A member does over whoever shares a team, or over whoever is in none."""
        if role == "member":
            return self.member and (not teams or not frozenset(teams).isdisjoint(self.teams))
        return role in self.roles or any(role in self.team_roles.get(team, ()) for team in teams)

    @property
    def every_role(self) -> frozenset[Role]:
        """Over anybody."""
        return self.roles.union(*self.team_roles.values())


NOBODY = Membership(member=False, agents=(), tools=(), workspaces=(), max_mode=Mode.DONT_ASK)
"""Whoever came by a gateway that settings do not speak of any more."""


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
        agents=given.names(lambda grant: grant.agents),
        tools=given.names(lambda grant: grant.tools),
        workspaces=given.names(lambda grant: grant.workspaces),
        max_mode=given.max_mode,
        limits=given.limits,
        together=MappingProxyType({name: team.together for name, team in teams.items()}),
    )


def commons_for(settings: Settings, whose: Membership) -> Commons:
    """The shared layers as one caller meets them: their teams' rules and their own after everyone's, and what they are given."""
    commons = settings.commons
    lists = (*(settings.team_rules.get(name, ()) for name in whose.teams), *(settings.people_rules.get(name, ()) for name in whose.people))
    inside = _serves(settings, whose)
    caps = [mode for mode in (commons.max_mode, whose.max_mode) if mode is not None]
    return replace(
        commons,
        managed=functools.reduce(joined, lists, commons.managed),
        max_mode=stricter(*caps) if caps else None,
        granted_tools=whose.tools if inside else (),
        granted_agents=whose.agents if inside else (),
    )


def _serves(settings: Settings, whose: Membership) -> bool:
    """Are they let into this workspace now? What they began there stays, and does nothing."""
    if not whose.member or settings.gateway is None:
        return False
    return whose.workspaces is None or not settings.called.isdisjoint(whose.workspaces)


def claims_heard(gateway: Gateway, claims: Mapping[str, Any]) -> dict[str, Any]:
    """What of a token's claims these settings ask for: the rest is nobody's business here, and is not kept."""
    asked = {name for who in gateway.selectors for name in who.claims}
    return {name: claims[name] for name in sorted(asked) if name in claims}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What was given, by whom. What one team gives another does not take; where no team speaks of it, what everyone is given holds. A
    person's own entries only take away.
    """

    everyone: Grant
    teams: Sequence[Grant]
    people: Sequence[Grant]

    def names(self, of: Callable[[Grant], Sequence[str] | None]) -> tuple[str, ...] | None:
        """`of`: one list of a grant."""
        teams = [said for grant in self.teams if (said := of(grant)) is not None]
        base = [name for said in teams for name in said] if teams else of(self.everyone)
        binding = [said for said in (base, *map(of, self.people)) if said is not None]
        if not binding:
            return None
        # Of a pattern and a name that it matches, the name is what both give.
        every = dict.fromkeys(name for said in binding for name in said)
        return tuple(name for name in every if all(any(wildcards.contains(one, name) for one in said) for said in binding))

    @property
    def max_mode(self) -> Mode | None:
        teams = [one.max_mode for one in self.teams if one.max_mode is not None]
        base = max(teams, key=MODES_STRICTEST_FIRST.index) if teams else self.everyone.max_mode
        binding = [one for one in (base, *(person.max_mode for person in self.people)) if one is not None]
        return stricter(*binding) if binding else None

    @property
    def limits(self) -> Quota:
        return Quota.model_validate({name: self._most(name) for name in Quota.model_fields})

    def _most(self, limit: str) -> float | None:
        def of(grant: Grant) -> float | None:
            return getattr(grant.limits, limit)

        teams = [said for grant in self.teams if (said := of(grant)) is not None]
        base = max(teams) if teams else of(self.everyone)
        return min((said for said in (base, *map(of, self.people)) if said is not None), default=None)


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
