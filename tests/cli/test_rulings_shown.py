import json
import time
from collections.abc import Mapping
from dataclasses import replace

from mcp_server.policy.values import Reach
from mcp_server.store.protocol import Store
from tests.cli.kept import CHILD, Kept
from tests.cli.test_showing import run
from tests.store.samples import a_ruling, a_session


def test_a_ruling_tells_for_whom_by_whom_how_often_used_and_when_it_ends(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    standing = a_ruling(a_session(CHILD), "rul_standing", Reach.TREE)
    once = replace(a_ruling(a_session(CHILD), "rul_once", Reach.ONCE), expires_at=time.time() + 7200.5)

    async def add(store: Store) -> None:
        await store.add_rulings((standing, once), ())
        await store.use_rulings((standing.id,), now=time.time(), events=())

    kept.use(add)
    heads, first, second = run(environment, "rulings").output.splitlines()
    assert heads.split() == ["ID", "AGE", "WHO", "REACH", "RULE", "STATE", "USED", "ENDS", "BY"]
    assert "build › explore  tree" in first
    assert first.endswith("stands  1     its session  local, approvals")
    assert "stands  0     2 h 00 min" in second
    assert "that one call" in second
    told = json.loads(run(environment, "rulings", "--json").output.splitlines()[0])
    assert (told["given_by"], told["used"], told["expires_at"], told["revoked_at"]) == ("local", 1, None, None)
