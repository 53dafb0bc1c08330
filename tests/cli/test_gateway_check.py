"""`remit gateway check` finds what would let a deployment down, says where it is written, and finds nothing where nothing is wrong."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner
from structlog.testing import capture_logs

from mcp_server.cli.checks.gateway import findings
from mcp_server.cli.checks.unanswered import unanswered
from mcp_server.cli.finding import Finding
from mcp_server.cli.main import remit
from mcp_server.cli.serve import warn_of_unanswered
from mcp_server.settings.load import load_settings
from tests.behaviour.gated import manage
from tests.behaviour.world import World, make_world
from tests.gateway.authorization import issuing
from tests.gateway.inside import key_in
from tests.gateway.proxied import certificate_in

URL = "https://remit.example.org/mcp"
ISSUER = {"issuer": "https://login.example.org"}
CONSOLE = {"client_id": "remit-console"}
SIGNED = {"url": URL, "issuers": [ISSUER], "trusted_proxies": ["127.0.0.1"], "console": CONSOLE}
ASKS = [{"permission": "bash", "action": "ask", "answer_by": "approver"}]


def looked(world: World, *, case_files: Sequence[Path] = ()) -> list[Finding]:
    return list(findings(world.workspace, world.places, offline=True, case_files=case_files))


def wrong(world: World, **said: Any) -> list[Finding]:
    """What is not in order where only a store was not made yet."""
    return [finding for finding in looked(world, **said) if finding.state != "ok"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def test_nothing_is_wrong_with_a_gateway_in_order(world: World) -> None:
    manage(
        world,
        gateway={
            **SIGNED,
            "roles": {"approver": [{"subject": "dora"}]},
            "teams": {"payments": {"who": [{"claims": {"groups": "payments"}}], "agents": ["explore"], "permission": ASKS}},
        },
    )
    assert wrong(world) == []
    told = {finding.about: finding for finding in looked(world)}
    assert told["teams"].says == "1 team, 0 people by name"
    assert "not asked now" in told["issuer"].says
    assert not (world.places.state / "remit.db").exists()


TEAM = {"who": [{"claims": {"groups": "payments"}}]}
HELD = {"roles": {"approver": [{"subject": "dora"}]}}


@pytest.mark.parametrize(
    ("gateway", "state", "said"),
    [
        ({**SIGNED, "teams": {"a": {**TEAM, "agents": ["explorer"]}}}, "fault", "gives the agent `explorer`, which nobody defines"),
        ({**SIGNED, "teams": {"a": {**TEAM, "agents": ["summary"]}}}, "note", "for the server's own jobs alone"),
        ({**SIGNED, "roles": {"member": []}}, "fault", "nobody may use this gateway"),
        ({**SIGNED, "teams": {"a": {**TEAM, "permission": ASKS}}}, "fault", "nobody is named as `approver`"),
        ({**SIGNED, **HELD, "console": None, "teams": {"a": {**TEAM, "permission": ASKS}}}, "fault", "settings have no `gateway.console`"),
        ({**SIGNED, **HELD, "console": {}, "teams": {"a": {**TEAM, "permission": ASKS}}}, "fault", "with API keys alone"),
        (
            {**SIGNED, "people": {"p": {**TEAM, "permission": ASKS}}, "teams": {"a": {**TEAM, "roles": HELD["roles"]}}},
            "note",
            "can be answered for the people of a alone",
        ),
        ({**SIGNED, "teams": {"a": {"who": [{"claims": {"email_verified": "true"}}]}}}, "fault", "something else than true or false"),
        ({**SIGNED, "teams": {"a": {"who": [{"claims": {"sub": 7}}]}}}, "fault", "no text, and it is always one"),
        ({**SIGNED, "teams": {"a": {"who": [{"claims": {"exp": 7}}]}}}, "fault", "which no two tokens have in common"),
        ({**SIGNED, "teams": {"a": {"who": [{"claims": {"iss": "x"}}]}}}, "fault", "another issuer than the one"),
        ({**SIGNED, "teams": {"a": {"who": [{"claims": {"scope": "admin"}}]}}}, "note", "'admin' as a whole"),
        ({**SIGNED, "people": {"robot": {"who": [{"key": "robot"}]}}}, "note", "names the API key `robot`, and none of that name counts"),
        ({**SIGNED, "trusted_proxies": []}, "note", "only an address of this machine can be listened on"),
        ({"url": URL, "trusted_proxies": ["10.0.0.1"]}, "fault", "nobody can come in"),
        ({**SIGNED, "console": {**CONSOLE, "client_secret_file": "/nowhere"}}, "fault", "is not there"),
        ({**SIGNED, "tls": {"certificate": "/nowhere.pem", "private_key": "/nowhere.key"}}, "fault", "cannot be read"),
        ({**SIGNED, "workspaces": {"shop": "/nowhere/at/all"}}, "fault", "does not exist"),
        ({"issuers": [ISSUER]}, "fault", "names no `url`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_what_to_do(world: World, gateway: Mapping[str, Any], state: str, said: str) -> None:
    manage(world, gateway={key: value for key, value in gateway.items() if value is not None})
    found = [finding for finding in wrong(world) if said in finding.says]
    assert [(one.state, bool(one.remedy)) for one in found][:1] == [(state, True)], wrong(world)
    assert found[0].where or found[0].about == "keys"


def test_what_another_server_must_be_given_is_looked_for(world: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    secret.chmod(0o644)
    servers = {
        "fit": {"command": "python3", "env": {"HERE": "${PATH}"}},
        "gone": {"command": "no-such-program"},
        "far": {"url": "https://notes.example.org/mcp", "headers": {"Authorization": "Bearer ${REMIT_NO_SUCH_VARIABLE}"}},
        "open": {"url": "https://notes.example.org/mcp", "headers": {"Authorization": f"Bearer ${{file:{secret}}}"}},
    }
    manage(world, gateway=SIGNED, mcpServers=servers)
    told = {finding.about.removeprefix("server "): (finding.state, finding.says) for finding in looked(world)}
    assert told["fit"][0] == "ok"
    assert told["gone"] == ("fault", "the program `no-such-program` is not found")
    assert told["far"] == ("fault", "the environment variable REMIT_NO_SUCH_VARIABLE is not set")
    assert "others may read it" in told["open"][1]
    assert "s3cret" not in str(told)


def test_a_gateway_says_at_its_start_which_ask_nobody_can_answer(world: World) -> None:
    def told() -> list[tuple[str, bool]]:
        with capture_logs() as lines:
            warn_of_unanswered(load_settings(workspace=world.workspace, places=world.places))
        return [(line["log_level"], "settings have no `gateway.console`" in line["problem"]) for line in lines]

    unheard = {key: value for key, value in SIGNED.items() if key != "console"}
    manage(world, gateway={**unheard, **HELD}, permission=ASKS)
    assert told() == [("warning", True)]
    manage(world, gateway={**SIGNED, **HELD}, permission=ASKS)
    assert told() == []


def test_where_there_is_no_gateway_such_an_ask_is_good_to_know_of(world: World) -> None:
    manage(world, permission=ASKS)
    (found,) = unanswered(load_settings(workspace=world.workspace, places=world.places))
    assert (found.state, "at a gateway alone" in found.says, bool(found.where)) == ("note", True, True)


def test_a_certificate_is_looked_at_before_clients_do(world: World, tmp_path: Path) -> None:
    one, other = (certificate_in(tmp_path, name) for name in ("one", "other"))
    mixed = {**SIGNED, "trusted_proxies": [], "tls": {"certificate": str(one.chain), "private_key": str(other.key)}}
    manage(world, gateway=mixed)
    (found,) = wrong(world)
    assert (found.where, "is not the key of" in found.says) == (str(other.key), True)
    one.key.chmod(0o644)
    manage(world, gateway={**mixed, "tls": {"certificate": str(one.chain), "private_key": str(one.key)}})
    readable, foreign, ends = wrong(world)
    assert (readable.state, readable.where) == ("fault", str(one.key))
    assert (foreign.state, foreign.says) == ("fault", "is for localhost, 127.0.0.1, and clients call remit.example.org")
    assert (ends.state, ends.where, ends.remedy) == ("note", str(one.chain), "renew it")
    one.key.chmod(0o600)
    own = {**mixed, "url": "https://localhost/mcp", "tls": {"certificate": str(one.chain), "private_key": str(one.key)}}
    manage(world, gateway=own)
    assert [(finding.about, finding.state) for finding in wrong(world)] == [("tls", "note")]


async def test_the_issuers_own_answers_are_looked_at(world: World) -> None:
    async with issuing() as issuer:
        secret = world.folder / "secret"
        secret.write_text("s3cret\n")
        secret.chmod(0o600)
        introspection = {"url": f"{issuer.url}/introspect", "client_id": "remit", "client_secret_file": str(secret)}
        said = {"issuer": issuer.url, "introspection": introspection}

        async def asked(**more: Any) -> dict[str, Finding]:
            manage(world, gateway={"url": URL, "trusted_proxies": ["127.0.0.1"], "issuers": [{**said, **more}], "console": CONSOLE})
            found = await to_thread.run_sync(lambda: list(findings(world.workspace, world.places, offline=False)))
            return {one.about: one for one in found if one.where.startswith(issuer.url)}

        told = await asked()
        assert (told["issuer"].state, "for RS256, PS256" in told["issuer"].says) == ("ok", True)
        assert (told["introspection"].state, told["introspection"].says) == ("ok", "answers")
        assert (told["console"].state, "does not say where people sign in" in told["console"].says) == ("fault", True)
        issuer.metadata = {"authorization_endpoint": f"{issuer.url}/a", "token_endpoint": f"{issuer.url}/t"}
        assert "redirect address must be https://remit.example.org/console/callback" in (await asked())["console"].says
        issuer.metadata["code_challenge_methods_supported"] = ["plain"]
        assert "its keys is for ES256" in (await asked(algorithms=["ES256"]))["issuer"].says
        issuer.broken = True
        assert {name: one.state for name, one in (await asked()).items()} == dict.fromkeys(("issuer", "introspection", "console"), "fault")


async def test_keys_that_count_no_more_are_told_of(world: World) -> None:
    manage(world, gateway={"url": URL, "trusted_proxies": ["127.0.0.1"], "people": {"robot": {"who": [{"key": "robot"}]}}})
    store = world.store()
    await key_in(store, "robot")
    assert await to_thread.run_sync(wrong, world) == []
    await store.revoke_api_key("key_robot", now=1.0)
    await store.close()
    assert {finding.about: finding.state for finding in await to_thread.run_sync(wrong, world)} == {"teams": "note", "keys": "fault"}


def test_a_case_that_fails_and_a_file_that_is_none_are_faults(world: World, tmp_path: Path) -> None:
    manage(world, gateway=SIGNED)
    bad, none = tmp_path / "bad.yaml", tmp_path / "none.yaml"
    bad.write_text("- {name: a star is no letter, pattern: 'a*', value: b, match: true}\n")
    none.write_text("- {}\n")
    (failed,) = wrong(world, case_files=[bad])
    assert (failed.about, failed.where, failed.says) == ("cases", f"{bad}:1", "a star is no letter: no match, and match was wanted")
    (unread,) = wrong(world, case_files=[none])
    assert (unread.about, unread.where) == ("cases", f"{none}:1")


def test_without_a_gateway_there_is_nothing_to_let_loose(environment: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    arguments = ["gateway", "check", "--offline", "--json", "--workspace", str(tmp_path / "work")]
    ended = CliRunner(env=dict(environment)).invoke(remit, arguments)
    assert ended.exit_code == 1
    (fault,) = [one for line in ended.stdout.splitlines() if (one := json.loads(line))["state"] == "fault"]
    assert set(fault) == {"about", "state", "says", "remedy", "where"}
    assert "there is no gateway" in fault["says"]
