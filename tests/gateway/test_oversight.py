"""Who may answer for somebody else: roles by the settings, and what no role opens."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from mcp_server.gateway.belongings import Belongings
from mcp_server.gateway.oversight import Oversight
from mcp_server.policy.values import Action, Mode
from mcp_server.principal import API_KEYS, LOCAL, Principal, TokenPrincipal
from mcp_server.sessions.book import Rulebook
from mcp_server.settings.membership import NOBODY, Membership, commons_for, membership_of
from mcp_server.store.sqlite import open_store
from tests.settings.ground import lay
from tests.settings.test_membership import BASE, LOGIN, gateway

ALICE = TokenPrincipal(issuer=LOGIN, subject="alice", client="desktop")
BOB = TokenPrincipal(issuer=LOGIN, subject="bob", client="web")
KEY = TokenPrincipal(issuer=API_KEYS, subject="nightly", client="key_1")
ROLES = {"approver": [{"subject": "bob"}, {"key": "nightly"}]}


@dataclass(frozen=True, slots=True)
class Settled:
    """The one question that is asked of a rulebook."""

    roles: Mapping[str, Any]

    def membership(self, principal: Principal, claims: Mapping[str, Any]) -> Membership | None:
        return membership_of(gateway(roles=dict(self.roles)), principal, claims) if isinstance(principal, TokenPrincipal) else None


async def over(folder: Path, by: TokenPrincipal, principal: str, roles: Mapping[str, Any]) -> set[str]:
    book, store = Settled(roles), open_store(folder / "remit.db")
    claims = await store.everybodys_claims()
    known = book.membership(by, {})
    assert known is not None
    held = Oversight(store=store, rulebook=cast("Rulebook", book), by=by, membership=known, claims=claims).roles_over(principal)
    await store.close()
    return set(held)


@pytest.mark.parametrize(
    ("by", "asker", "roles", "held"),
    [
        (BOB, ALICE.key, {}, {"member"}),
        (BOB, ALICE.key, ROLES, {"member", "approver"}),
        (BOB, LOCAL.key, ROLES, set[str]()),
        (BOB, TokenPrincipal(issuer=LOGIN, subject="bob", client="desktop").key, ROLES, set[str]()),
        (KEY, ALICE.key, {}, set[str]()),
        (KEY, ALICE.key, ROLES, {"member", "approver"}),
        (ALICE, KEY.key, {}, set[str]()),
        (BOB, KEY.key, ROLES, {"member", "approver"}),
    ],
    ids=["a colleague", "an approver", "this machine's user", "oneself", "a key", "a key with a role", "for a key", "a role over a key"],
)
async def test_what_somebody_is_over_whoever_asks(
    tmp_path: Path, by: TokenPrincipal, asker: str, roles: Mapping[str, Any], held: set[str]
) -> None:
    assert await over(tmp_path, by, asker, roles) == held


@pytest.mark.parametrize(
    ("who", "several", "called"),
    [
        (ALICE, False, "alice"),
        (ALICE, True, "alice of login.example.org"),
        (TokenPrincipal(issuer=f"{LOGIN}/realms/shop/", subject="alice", client="web"), True, "alice of login.example.org/realms/shop"),
        (KEY, False, "the key nightly"),
    ],
    ids=["one issuer", "several", "one of several on a host", "a key"],
)
async def test_a_name_says_who_somebody_is_also_where_two_are_called_alike(
    tmp_path: Path, who: TokenPrincipal, several: bool, called: str
) -> None:
    store, book = open_store(tmp_path / "remit.db"), cast("Rulebook", Settled({}))
    mine = Belongings(
        store=store,
        by=BOB.key,
        keys=(BOB.key,),
        oversight=Oversight(store=store, rulebook=book, by=BOB, membership=Membership(member=True), claims={}, several=several),
    )
    assert mine.named(who.key) == f"for {called}"
    await store.close()


@pytest.mark.parametrize("whose", [NOBODY, Membership(member=True, workspaces=("shop",))], ids=["no member", "not of this workspace"])
def test_who_was_let_out_of_a_workspace_does_nothing_there_any_more(tmp_path: Path, whose: Membership) -> None:
    ground = lay(tmp_path)
    ground.managed_file.write_text(BASE + "permission: {'*': allow}\n")
    settings = ground.load()
    found = commons_for(settings, whose)
    assert (found.granted_tools, found.granted_agents) == ((), ())
    inside = commons_for(settings, Membership(member=True, workspaces=("default",)))
    assert (inside.granted_tools, inside.granted_agents) == (None, None)
    assert [rule.action for rule in found.managed] == [Action.ALLOW], "its rules stay: what is not given is denied beside them"
    assert commons_for(settings, NOBODY).max_mode is Mode.DONT_ASK
