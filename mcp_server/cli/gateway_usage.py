"""`remit gateway usage`: what each person and each team has used today, and what they may."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import click

from mcp_server.cli.here import here, workspace_option
from mcp_server.cli.state import with_store
from mcp_server.cli.table import table
from mcp_server.principal import API_KEYS, TokenPrincipal, principal_of
from mcp_server.sessions.allowance import UNUSED, Account, accounts_for, number_of, uses_at
from mcp_server.sessions.visible import json_line
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.membership import membership_of
from mcp_server.settings.teams import Quota
from mcp_server.store.ledger import DayUse, day_of
from mcp_server.store.protocol import Store

HEADS = ("WHO", "RUNS NOW", "TOKENS", "COST", "REQUESTS A MINUTE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What stands in the store."""

    day: str
    use: Mapping[str, DayUse]
    runs: Mapping[str, int]
    accounts: tuple[Account, ...]
    """Of all that have used anything, or that have something going on, and of every team."""


@click.command()
@workspace_option
@click.option("--day", type=click.DateTime(["%Y-%m-%d"]), help="Another day of UTC, by the limits of now.  [today]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def usage(workspace: Path, day: Any, as_json: bool) -> None:
    """Say how much each person and each team has used in a day, of how much. Run it as the user whose server it is."""
    gateway = here(workspace).settings.gateway or Gateway.model_construct()
    wanted = day_of(time.time()) if day is None else date.isoformat(day.date())
    counted = with_store(lambda store: counted_in(store, gateway, wanted))
    if as_json:
        for account in counted.accounts:
            click.echo(json_line(as_json_of(account, counted)))
    elif counted.accounts:
        click.echo(table(HEADS, [row_of(account, counted) for account in counted.accounts]))
    else:
        click.echo("nobody has used anything")


async def counted_in(store: Store, gateway: Gateway, day: str) -> Counted:
    """What was used in that day, by whom."""
    use, runs = await store.day_use(day), await store.counted_runs()
    teams = (Account(key=json.dumps(["team", name]), team=name, quota=team.together) for name, team in gateway.teams.items())
    found: dict[str, Account] = {account.key: account for account in teams}
    for key in sorted({*use, *runs} - set(found)):
        kind, *named = json.loads(key)
        found[key] = Account(key=key, team=named[0], quota=Quota()) if kind == "team" else await _person(store, gateway, key, *named)
    return Counted(day=day, use=use, runs=runs, accounts=tuple(found.values()))


async def _person(store: Store, gateway: Gateway, key: str, issuer: str, subject: str) -> Account:
    """With what binds them by every client of theirs."""
    someone = TokenPrincipal(issuer=issuer, subject=subject, client="")
    known = await store.principals(someone.beginning) or (someone.key,)
    quotas: list[Quota] = []
    for principal in map(principal_of, known):
        if isinstance(principal, TokenPrincipal):
            own = accounts_for(principal, membership_of(gateway, principal, await store.claims(principal.key)))[0]
            quotas.append(own.quota)
    return Account(key=key, quota=Quota.model_validate(dict(_tightest(quotas))))


def _tightest(quotas: Iterable[Quota]) -> Iterator[tuple[str, float]]:
    said = [quota.model_dump(exclude_none=True) for quota in quotas]
    for name in Quota.model_fields:
        if most := [one[name] for one in said if name in one]:
            yield name, min(most)


def _who(account: Account) -> str:
    if account.team:
        return f"team {account.team}"
    _, issuer, subject = json.loads(account.key)
    return f"key {subject}" if issuer == API_KEYS else f"{subject} ({issuer})"


def row_of(account: Account, counted: Counted) -> tuple[str, ...]:
    """For people: how much, and of how much."""
    used, most = counted.use.get(account.key, UNUSED), {use.limit: use.most for use in uses_at(account, counted.runs, counted.use)}
    asked = most.get("requests_per_minute")
    return (
        _who(account),
        _of(number_of("concurrent_runs", counted.runs.get(account.key, 0)), most.get("concurrent_runs")),
        _of(number_of("tokens_per_day", used.tokens), most.get("tokens_per_day")),
        _of(number_of("cost_per_day", used.cost), most.get("cost_per_day"), "$"),
        "" if asked is None else f"{asked:,.0f}",
    )


def _of(used: str, most: float | None, unit: str = "") -> str:
    return used if most is None else f"{used} of {unit}{most:,.10g}"


def as_json_of(account: Account, counted: Counted) -> dict[str, Any]:
    """For programs."""
    kind, *named = json.loads(account.key)
    used = counted.use.get(account.key, UNUSED)
    return {
        "day": counted.day,
        "kind": kind,
        "issuer": None if kind == "team" else named[0],
        "name": named[-1],
        "runs": counted.runs.get(account.key, 0),
        "tokens": used.tokens,
        "cost_usd": used.cost,
        "limits": account.quota.model_dump(exclude_none=True),
    }
