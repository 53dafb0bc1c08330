"""Asks that somebody else must answer, and nobody can: for `remit gateway check`, `remit doctor`, and the log at a gateway's start."""

from collections.abc import Iterator

from mcp_server.cli.finding import Finding, State
from mcp_server.policy.values import Rule
from mcp_server.settings.teams import RoleHolders, TeamRoles
from mcp_server.settings.values import Settings


def unanswered(settings: Settings) -> Iterator[Finding]:
    """Each such ask, at its rule."""
    for team, rule in _left_to_others(settings):
        problem = _unanswerable(settings, rule, team)
        if problem is not None:
            (state, says), remedy = problem, "see `answer_by` in docs/gateway.md"
            yield Finding(about="rules", state=state, says=f"`{rule}` {says}", remedy=remedy, where=rule.origin)


def _left_to_others(settings: Settings) -> Iterator[tuple[str | None, Rule]]:
    """Rules whose asks somebody else must answer, and the team that they bind; None: more than one."""
    everyone = (*settings.commons.managed, *(rule for tuning in settings.agents.values() for rule in tuning.managed))
    yield from ((None, rule) for rule in everyone if rule.answer_by)
    yield from ((team, rule) for team, rules in settings.team_rules.items() for rule in rules if rule.answer_by)
    yield from ((None, rule) for rules in settings.people_rules.values() for rule in rules if rule.answer_by)


def _unanswerable(settings: Settings, rule: Rule, team: str | None) -> tuple[State, str] | None:
    """Why nobody can, or not for everybody."""
    gateway, role = settings.gateway, rule.answer_by or ""
    if gateway is None:
        return "note", "can be answered at a gateway alone, and settings have none: each such call is denied in the end"
    if gateway.console is None or "console" not in settings.channels:
        lacks = "`gateway.console`" if gateway.console is None else "`console` among the `channels`"
        return "fault", f"can be answered in the gateway's console alone, and settings have no {lacks}: each such call is denied in the end"
    if gateway.console_issuer is None:
        return "fault", "can be answered by nobody: people come into the console with API keys alone, and no key answers for somebody else"
    if role == "member" or _holds(gateway.roles, role):
        return None
    teams = [name for name, one in gateway.teams.items() if _holds(one.roles, role)]
    if team in teams:
        return None
    if team is None and teams:
        return "note", f"can be answered for the people of {', '.join(teams)} alone: over nobody else does anybody hold `{role}`"
    return "fault", f"can be answered by nobody: nobody is named as `{role}`"


def _holds(block: RoleHolders | TeamRoles, role: str) -> bool:
    """Is anybody named as that but API keys, which answer for nobody?"""
    named = {"approver": block.approver, "operator": block.operator, "auditor": block.auditor}
    return any(who.key is None for who in named.get(role, ()))
