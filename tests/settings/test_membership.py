"""Who somebody is at a gateway, by its settings: teams, roles, and what they may use."""

from typing import Any

import pytest
from pydantic import ValidationError

from mcp_server.policy.values import Mode
from mcp_server.principal import API_KEYS, TokenPrincipal
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.membership import Membership, claims_heard, membership_of
from tests.settings.ground import Ground

LOGIN = "https://login.example.org"
URL = "https://remit.example.org/mcp"
ALICE = TokenPrincipal(issuer=LOGIN, subject="alice", client="desktop")
KEY = TokenPrincipal(issuer=API_KEYS, subject="nightly", client="key_1")


def gateway(**said: Any) -> Gateway:
    return Gateway.model_validate({"url": URL, "issuers": [{"issuer": LOGIN}], **said})


def alice(claims: dict[str, Any] | None = None, **said: Any) -> Membership:
    return membership_of(gateway(**said), ALICE, claims or {})


def team(*who: dict[str, Any], **said: Any) -> dict[str, Any]:
    return {"who": list(who), **said}


PAYMENTS = {"claims": {"groups": "payments"}}


def test_a_caller_of_whom_nothing_is_said_is_a_member_without_a_team_and_without_a_limit() -> None:
    found = alice()
    assert (found.member, found.teams, found.every_role, found.agents, found.tools, found.max_mode) == (
        True,
        (),
        frozenset(),
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("who", "claims", "fits"),
    [
        (PAYMENTS, {"groups": ["a", "payments"]}, True),
        (PAYMENTS, {"groups": "payments"}, True),
        (PAYMENTS, {"groups": "payments-old"}, False),
        (PAYMENTS, {"groups": {"payments": True}}, False),
        (PAYMENTS, {}, False),
        ({"claims": {"groups": ["x", "payments"]}}, {"groups": ["payments"]}, True),
        ({"claims": {"groups": "payments", "level": 2}}, {"groups": ["payments"]}, False),
        ({"claims": {"staff": True}}, {"staff": 1}, False),
        ({"claims": {"staff": True}}, {"staff": True}, True),
        ({"claims": {"realm_access": {"roles": "dev"}}}, {"realm_access": {"roles": ["dev"]}}, True),
        ({"claims": {"realm_access": {"roles": "dev"}}}, {"realm_access": "dev"}, False),
        ({"subject": "alice"}, {}, True),
        ({"subject": "alice", "client": "web"}, {}, False),
        ({"subject": "Alice"}, {}, False),
        ({"issuer": LOGIN, "subject": "alice"}, {}, True),
        ({"issuer": "https://other.example.org", "subject": "alice"}, {}, False),
        ({"key": "alice"}, {}, False),
    ],
)
def test_a_team_holds_whom_all_that_is_said_fits(who: dict[str, Any], claims: dict[str, Any], fits: bool) -> None:
    assert alice(claims, teams={"pay": team(who)}).teams == (("pay",) if fits else ())


def test_an_api_key_is_known_by_its_name_alone() -> None:
    said = gateway(teams={"machines": team({"key": "nightly"}), "others": team({"subject": "nightly"}, {"claims": {"groups": "a"}})})
    assert membership_of(said, KEY).teams == ("machines",)
    pretender = TokenPrincipal(issuer=LOGIN, subject="nightly", client="key_1")
    assert membership_of(said, pretender).teams == ("others",)


def test_what_one_team_gives_another_does_not_take_and_a_team_that_says_nothing_adds_nothing() -> None:
    everybody = {"subject": "alice"}
    teams = {
        "one": team(everybody, agents=["explore"], max_mode="default"),
        "two": team(everybody, agents=["plan"]),
        "three": team(everybody),
    }
    found = alice(teams=teams)
    assert (found.agents, found.max_mode) == (("explore", "plan"), Mode.DEFAULT)
    wider = alice(teams={**teams, "three": team(everybody, max_mode="acceptEdits")})
    assert wider.max_mode is Mode.ACCEPT_EDITS


def test_where_no_team_speaks_everyones_words_hold_and_a_persons_own_only_take_away() -> None:
    found = alice(
        everyone={"agents": ["explore"], "max_mode": "acceptEdits", "tools": ["read", "task"]},
        teams={"one": team({"subject": "alice"}, agents=["plan", "build"], max_mode="bypassPermissions")},
        people={"alice": team({"subject": "alice"}, max_mode="dontAsk", tools=["task", "bash"], agents=["plan", "explore"])},
    )
    assert (found.agents, found.tools, found.max_mode) == (("plan",), ("task",), Mode.DONT_ASK)


def test_a_token_without_the_claim_of_a_team_has_what_everyone_has() -> None:
    said: dict[str, Any] = {"everyone": {"tools": ["read"]}, "teams": {"dev": team(PAYMENTS, tools=["read", "bash"])}}
    assert alice({"groups": "payments"}, **said).tools == ("read", "bash")
    assert alice(**said).tools == ("read",)


def test_lists_that_share_nothing_leave_nothing() -> None:
    assert alice(everyone={"tools": ["read"]}, people={"a": team({"subject": "alice"}, tools=["bash"])}).tools == ()


def test_a_role_over_one_team_is_none_over_another() -> None:
    found = alice(
        {"groups": ["payments"]}, teams={"pay": team({"subject": "bob"}, roles={"approver": [PAYMENTS]}), "ops": team({"subject": "eve"})}
    )
    assert found.holds("approver", ["pay"])
    assert found.holds("approver", ["ops", "pay"])
    assert not found.holds("approver", ["ops"])
    assert not found.holds("approver", [])
    assert not found.holds("auditor", ["pay"])
    assert found.every_role == {"approver"}


def test_a_role_over_everybody_is_one_over_those_in_no_team_too() -> None:
    found = alice(roles={"auditor": [{"subject": "alice"}]})
    assert found.holds("auditor", [])
    assert found.holds("auditor", ["pay"])
    assert not found.holds("operator", [])


def test_another_member_is_one_who_shares_a_team_or_anybody_where_there_is_none() -> None:
    found = alice(teams={"pay": team({"subject": "alice"})})
    assert found.holds("member", [])
    assert found.holds("member", ["ops", "pay"])
    assert not found.holds("member", ["ops"])


def test_who_is_no_member_is_none_whatever_their_team() -> None:
    found = alice(roles={"member": [{"subject": "bob"}]}, teams={"pay": team({"subject": "alice"})})
    assert not found.member
    assert not found.holds("member", ["pay"])


def test_only_claims_that_settings_ask_for_are_kept() -> None:
    said = gateway(teams={"pay": team(PAYMENTS)}, roles={"auditor": [{"claims": {"level": 3}}]})
    assert claims_heard(said, {"groups": ["x"], "level": 1, "email": "alice@example.org"}) == {"groups": ["x"], "level": 1}


TEAM = """
gateway:
  teams:
    payments:
      who: [{claims: {groups: payments}}]
      permission: {bash: deny}
"""

BASE = f"gateway:\n  url: {URL}\n  issuers: [{{issuer: '{LOGIN}'}}]\n"


def test_teams_may_stand_in_files_of_their_own_with_their_rules_and_where_they_are_written(ground: Ground) -> None:
    ground.managed_file.write_text(BASE)
    (ground.places.managed / "settings.d" / "payments.yaml").write_text(TEAM)
    other = TEAM.replace("payments:", "ops:").replace("deny", "ask")
    (ground.places.managed / "settings.d" / "zops.yaml").write_text(other)
    settings = ground.load()
    assert settings.gateway is not None
    assert list(settings.gateway.teams) == ["payments", "ops"]
    (rule,) = settings.team_rules["payments"]
    assert str(rule) == "bash * deny"
    assert rule.origin.endswith("settings.d/payments.yaml:6")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.yaml": TEAM, "b.yaml": TEAM}, "`gateway.teams.payments` stands in"),
        ({"a.yaml": TEAM.replace("who:", "whom:")}, "unknown key `whom`"),
        ({"a.yaml": TEAM.replace("{groups: payments}}", "{groups: payments}, subject: }")}, "`subject` has no value"),
        ({"a.yaml": TEAM.replace("[{claims: {groups: payments}}]", "[{key: }]")}, "`key` has no value"),
        ({"a.yaml": TEAM.replace("payments:", "guard:").replace("permission:", "tools:\n      permission:")}, "`tools` has no value"),
        ({"a.yaml": "gateway: {everyone: {tools: [read]}}", "b.yaml": "gateway: {everyone: {agents: []}}"}, "`gateway.everyone` stands in"),
        (
            {"a.yaml": "gateway: {workspaces: {shop: /a}}", "b.yaml": "gateway: {workspaces: {shop: /b}}"},
            "`gateway.workspaces.shop` stands",
        ),
        (
            {"a.yaml": "gateway: {workspaces: {shop: /srv/shop}}", "b.yaml": "gateway: {workspaces: {till: /srv/./shop/till/}}"},
            "the workspace `till` lies in the workspace `shop`",
        ),
        ({"a.yaml": TEAM.replace("{groups: payments}", "{realm_access: {}}")}, "does not fit"),
        ({"a.yaml": TEAM.replace("groups: payments", "{}")}, ""),
        ({"a.yaml": TEAM.replace("permission:", "agents: [Explore]\n      permission:")}, "is not a name"),
        (
            {"a.yaml": TEAM.replace("permission:", "workspaces: [shop]\n      permission:")},
            "names the workspace `shop`, which is not served",
        ),
        ({"a.yaml": TEAM.replace("{bash: deny}", "[{permission: bash, action: ask, answer_by: boss}]")}, "`boss` is no role"),
        ({"a.yaml": TEAM.replace("{bash: deny}", "{bahs: deny}")}, "bahs"),
        ({"a.yaml": TEAM.replace("{claims: {groups: payments}}", "{issuer: 'https://x.example.org', subject: a}")}, "which is none of"),
        ({"a.yaml": TEAM.replace("{claims: {groups: payments}}", "{key: nightly, subject: a}")}, "says more of an API key than its name"),
        ({"a.yaml": TEAM.replace("[{claims: {groups: payments}}]", "[]")}, "does not fit"),
    ],
)
def test_what_is_wrong_with_a_team_is_said_with_its_file_and_line(ground: Ground, files: dict[str, str], said: str) -> None:
    ground.managed_file.write_text(BASE)
    for name, text in files.items():
        (ground.places.managed / "settings.d" / name).write_text(text)
    faults = ground.faults()
    assert any(said in fault.problem and fault.line and "settings.d" in fault.file for fault in faults), faults


def test_with_several_issuers_somebody_is_known_by_one_of_them(ground: Ground) -> None:
    ground.managed_file.write_text(BASE.replace("]\n", ", {issuer: 'https://other.example.org'}]\n") + TEAM.removeprefix("\ngateway:\n"))
    (fault,) = ground.faults()
    assert "does not say by which issuer" in fault.problem
    assert fault.line == 5


def limits(**said: float) -> dict[str, Any]:
    return {"limits": said}


MINE, OTHERS = {"subject": "alice"}, {"subject": "bob"}


@pytest.mark.parametrize(
    ("said", "tokens", "cost"),
    [
        ({}, None, None),
        ({"everyone": limits(tokens_per_day=5)}, 5, None),
        ({"everyone": limits(tokens_per_day=5, cost_per_day=2.0), "teams": {"a": team(MINE, **limits(tokens_per_day=9))}}, 9, 2.0),
        ({"teams": {"a": team(MINE, **limits(tokens_per_day=9)), "b": team(MINE, **limits(tokens_per_day=7))}}, 9, None),
        ({"teams": {"a": team(OTHERS, **limits(tokens_per_day=9))}, "everyone": limits(tokens_per_day=5)}, 5, None),
        ({"people": {"x": team(MINE, **limits(tokens_per_day=3))}, "everyone": limits(tokens_per_day=5)}, 3, None),
        ({"people": {"x": team(MINE, **limits(tokens_per_day=8))}, "everyone": limits(tokens_per_day=5)}, 5, None),
        ({"people": {"x": team(MINE, **limits(cost_per_day=8)), "y": team(OTHERS, **limits(cost_per_day=1))}}, None, 8.0),
    ],
)
def test_limits_are_given_like_everything_else_and_a_persons_entry_only_tightens(
    said: dict[str, Any], tokens: int | None, cost: float | None
) -> None:
    found = alice(**said).limits
    assert (found.tokens_per_day, found.cost_per_day) == (tokens, cost)
    assert (found.requests_per_minute, found.concurrent_runs) == (None, None)


def test_what_a_team_may_use_together_binds_its_people_alone_and_each_team_for_itself() -> None:
    said = {"a": team(MINE, together={"concurrent_runs": 4}), "b": team(MINE), "c": team(OTHERS, together={"concurrent_runs": 1})}
    together = alice(teams=said).together
    assert {name: quota.concurrent_runs for name, quota in together.items()} == {"a": 4, "b": None}


@pytest.mark.parametrize(
    "said",
    [
        {"everyone": {"limits": {"runs": 1}}},
        {"everyone": limits(concurrent_runs=0)},
        {"everyone": {"together": {}}},
        {"everyone": limits(cost_per_day=0)},
    ],
)
def test_a_limit_that_is_none_is_a_fault(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        gateway(**said)
