"""How much the people of a gateway may use: runs at once, and tokens and cost of models in a day of UTC.

What the settings say now of whoever it is binds; what was used stands in the store, so that all who serve it count together. It is looked
at before a run begins and before each turn of a model, never within one: of the last turn of a day the whole is counted.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from mcp_server.errors import NoPlace, ToolFailure
from mcp_server.principal import Principal, TokenPrincipal, principal_of
from mcp_server.records import Usage
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.memberships import membership_in
from mcp_server.settings.membership import Membership
from mcp_server.settings.teams import Quota
from mcp_server.store.ledger import Charge, DayUse, Place, day_of
from mcp_server.telemetry.base import LimitTold

Limit = Literal["requests_per_minute", "concurrent_runs", "tokens_per_day", "cost_per_day"]

UNUSED = DayUse()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whose use is counted as one: a person's by whatever clients, or that of all of a team."""

    key: str
    """As it is stored: JSON."""
    team: str = ""
    """Its name; empty: a person's own."""
    quota: Quota

    @property
    def whose(self) -> str:
        """For whom its limits are, in words."""
        return f"the team {self.team} together" if self.team else "each person"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """One limit, and how far it is used."""

    account: Account
    limit: Limit
    most: float
    used: float | None
    """None: it is counted by each server process for itself."""

    @property
    def words(self) -> str:
        """The limit, whose it is, and how much is used."""
        used = "" if self.used is None else f", {number_of(self.limit, self.used)} used"
        return f"the gateway's limit of {_most(self.limit, self.most)} for {self.account.whose} (`{self.limit}`){used}"


def accounts_for(principal: Principal, membership: Membership | None) -> tuple[Account, ...]:
    """Where somebody's use counts. Nowhere: no gateway's settings speak of them."""
    if membership is None or not isinstance(principal, TokenPrincipal):
        return ()
    own = Account(key=json.dumps(["person", principal.issuer, principal.subject]), quota=membership.limits)
    return (own, *(Account(key=json.dumps(["team", name]), team=name, quota=quota) for name, quota in membership.together.items()))


async def accounts_of(deployment: Deployment, principal: str) -> tuple[Account, ...]:
    """Likewise, by the settings as they are now."""
    return accounts_for(principal_of(principal), await membership_in(deployment.store, deployment.rulebook, principal))


def places_of(accounts: tuple[Account, ...]) -> tuple[Place, ...]:
    """Where a run counts that begins now."""
    return tuple(Place(account=account.key, most=account.quota.concurrent_runs) for account in accounts)


async def charge_of(deployment: Deployment, principal: str, usage: Usage) -> Charge | None:
    """What a turn of a model adds to the day. None: nothing is counted."""
    tokens, cost = usage.input_tokens + usage.output_tokens, usage.cost or 0.0
    accounts = await accounts_of(deployment, principal) if tokens or cost else ()
    return Charge(accounts=tuple(account.key for account in accounts), tokens=tokens, cost=cost) if accounts else None


async def used_up(deployment: Deployment, principal: str) -> str | None:
    """Why no turn of a model may be asked for today, in words, and counted as a refusal. None: it may."""
    found = await _day_used_up(deployment, await accounts_of(deployment, principal))
    return None if found is None else _refused(deployment, found)


async def admitted(deployment: Deployment, principal: str) -> tuple[Account, ...]:
    """Where the run counts that somebody is about to begin.

    Raises:
        ToolFailure: It would be asked for no turn today.
    """
    accounts = await accounts_of(deployment, principal)
    found = await _day_used_up(deployment, accounts)
    if found is not None:
        raise ToolFailure(f"no subagent can be sent today: {_refused(deployment, found)}. Do this part yourself, or say what is left to do")
    return accounts


def crowded(deployment: Deployment, accounts: tuple[Account, ...], full: NoPlace) -> ToolFailure:
    """What the model is told of a run that found no place."""
    account = next(account for account in accounts if account.key == full.account)
    most = account.quota.concurrent_runs or 0
    told = _refused(deployment, LimitUse(account=account, limit="concurrent_runs", most=most, used=full.taken))
    return ToolFailure(
        f"no other subagent can be sent now: {told}, their own subagents and those that wait for a person included. "
        "Wait for one of yours to end (task_status), or end one (task_cancel); then ask again"
    )


async def limit_uses(deployment: Deployment, principal: str) -> tuple[LimitUse, ...]:
    """Every limit that binds somebody, and how far it is used."""
    accounts = await accounts_of(deployment, principal)
    if all(account.quota == Quota() for account in accounts):
        return ()
    runs, day = await deployment.store.counted_runs(), await deployment.store.day_use(day_of(deployment.clock()))
    return tuple(use for account in accounts for use in uses_at(account, runs, day))


def uses_at(account: Account, runs: Mapping[str, int], day: Mapping[str, DayUse]) -> Iterator[LimitUse]:
    """Each limit of one account. `runs` and `day`: what the store counts, by account."""
    quota, used = account.quota, day.get(account.key, UNUSED)
    limits: tuple[tuple[Limit, float | None, float | None], ...] = (
        ("requests_per_minute", quota.requests_per_minute, None),
        ("concurrent_runs", quota.concurrent_runs, runs.get(account.key, 0)),
        ("tokens_per_day", quota.tokens_per_day, used.tokens),
        ("cost_per_day", quota.cost_per_day, used.cost),
    )
    for limit, most, so_much in limits:
        if most is not None:
            yield LimitUse(account=account, limit=limit, most=most, used=so_much)


async def _day_used_up(deployment: Deployment, accounts: tuple[Account, ...]) -> LimitUse | None:
    bound = [account for account in accounts if account.quota.tokens_per_day is not None or account.quota.cost_per_day is not None]
    if not bound:
        return None
    day = await deployment.store.used([account.key for account in bound], day=day_of(deployment.clock()))
    uses = (use for account in bound for use in uses_at(account, {}, day) if use.limit in ("tokens_per_day", "cost_per_day"))
    return next((use for use in uses if use.used is not None and use.used >= use.most), None)


def _refused(deployment: Deployment, use: LimitUse) -> str:
    """Its words, and that something was refused for it told."""
    told = LimitTold(limit=use.limit, shared_by="team" if use.account.team else "person", team=use.account.team)
    deployment.telemetry.limited(told)
    daily = use.limit in ("tokens_per_day", "cost_per_day")
    return f"{use.words}; the next day begins at 00:00 UTC" if daily else use.words


def _most(limit: Limit, number: float) -> str:
    things = {
        "requests_per_minute": (" request", " a minute"),
        "concurrent_runs": (" run", " at once"),
        "tokens_per_day": (" token", " a day"),
    }
    one, span = things.get(limit, ("", " a day"))
    return f"{number_of(limit, number)}{one}{'s' if one and number != 1 else ''}{span}"


def number_of(limit: Limit, number: float) -> str:
    """So much of it: `1,000`, `$2.50`."""
    if limit != "cost_per_day":
        return f"{number:,.0f}"
    return f"${number:,.2f}" if number >= 1 or number == 0 else f"${number:.4f}"
