"""`remit gateway usage` tells what was used, by whom, and of how much."""

import json
from collections.abc import Mapping
from typing import Any

from click.testing import CliRunner

from mcp_server.cli.gateway_usage import Counted, as_json_of, counted_in, row_of
from mcp_server.cli.main import remit
from mcp_server.settings.gateway import Gateway
from mcp_server.store.ledger import Charge, Place
from mcp_server.store.protocol import Store
from tests.cli.kept import Kept
from tests.store.samples import a_run, a_session

LOGIN = "https://login.example.org"
ALICE, ROBOT, TEAM, GONE = (
    json.dumps(one) for one in (["person", LOGIN, "alice"], ["person", "remit:keys", "robot"], ["team", "pay"], ["team", "old"])
)
DAY, AT = "2027-01-15", 1_800_014_400.0
SAID: dict[str, Any] = {
    "url": "https://remit.example.org/mcp",
    "issuers": [{"issuer": LOGIN}],
    "everyone": {"limits": {"tokens_per_day": 2000, "requests_per_minute": 60}},
    "teams": {
        "pay": {"who": [{"subject": "alice"}], "limits": {"tokens_per_day": 5000}, "together": {"concurrent_runs": 3, "cost_per_day": 2.5}},
        "idle": {"who": [{"subject": "nobody"}]},
    },
    "people": {"careful": {"who": [{"subject": "alice", "client": "phone"}], "limits": {"tokens_per_day": 900}}},
}


async def used(store: Store) -> Counted:
    for client in ("desktop", "phone"):
        root = a_session(client, principal=json.dumps([LOGIN, "alice", client], separators=(",", ":")))
        await store.add_session(root)
        child = a_session(f"child of {client}", parent=root, principal=root.principal)
        places = [Place(account=ALICE, most=None), Place(account=TEAM, most=None)]
        await store.add_child(child, a_run(child, client), (), (), places)
    await store.charge(Charge(accounts=[ALICE, TEAM], tokens=1200, cost=0.25), at=AT)
    await store.charge(Charge(accounts=[ROBOT, GONE], tokens=1, cost=0), at=AT)
    return await counted_in(store, Gateway.model_validate(SAID), DAY)


def test_each_account_is_told_with_what_binds_it_now(kept: Kept) -> None:
    counted = kept.use(used)
    rows = [row_of(account, counted) for account in counted.accounts]
    assert sorted(rows) == [
        ("alice (https://login.example.org)", "2", "1,200 of 900", "$0.2500", "60"),
        ("key robot", "0", "1 of 2,000", "$0.00", "60"),
        ("team idle", "0", "0", "$0.00", ""),
        ("team old", "0", "1", "$0.00", ""),
        ("team pay", "2 of 3", "1,200", "$0.2500 of $2.5", ""),
    ]
    told = {one["name"]: one for one in (as_json_of(account, counted) for account in counted.accounts)}
    assert told["alice"] == {
        "day": DAY,
        "kind": "person",
        "issuer": LOGIN,
        "name": "alice",
        "runs": 2,
        "tokens": 1200,
        "cost_usd": 0.25,
        "limits": {"requests_per_minute": 60, "tokens_per_day": 900},
    }
    assert (told["pay"]["issuer"], told["pay"]["limits"]) == (None, {"concurrent_runs": 3, "cost_per_day": 2.5})


def test_it_is_a_table_of_that_day(environment: Mapping[str, str], kept: Kept) -> None:
    runner = CliRunner(env=dict(environment))
    assert runner.invoke(remit, ["gateway", "usage"]).stdout == "nobody has used anything\n"
    kept.use(lambda store: store.charge(Charge(accounts=[ROBOT], tokens=7, cost=0), at=AT))
    assert "key robot  0         7       $0.00" in runner.invoke(remit, ["gateway", "usage", "--day", DAY]).stdout
    assert json.loads(runner.invoke(remit, ["gateway", "usage", "--day", DAY, "--json"]).stdout)["tokens"] == 7
