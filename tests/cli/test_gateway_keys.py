"""Keys for machines: made, replaced and ended at a terminal alone, shown once, kept as a digest."""

import json
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner

from mcp_server.cli.main import remit
from mcp_server.gateway.keys import digest_of, is_key
from tests.cli.kept import Kept
from tests.cli.person import Person


def made(environment: Mapping[str, str], folder: Path, *arguments: str, deed: str) -> str:
    """The key that a command shows at a terminal; standard output is led into the same one."""
    with Person(("gateway", "key", *arguments), environment, folder) as person:
        person.types_the_code(deed)
        text = person.sees(r"remit_key_[a-z2-7]{59}")[0]
        assert person.leaves()[0] == 0
    return text


def test_a_key_is_made_replaced_and_ended_and_never_shown_again(environment: Mapping[str, str], tmp_path: Path, kept: Kept) -> None:
    first = made(environment, tmp_path, "create", "robot", "--scope", "remit:shell", deed="to make this key")
    second = made(environment, tmp_path, "rotate", "robot", "--overlap", "1h", deed="to rotate this key")
    assert is_key(first)
    assert is_key(second)
    old, new = (kept.use(lambda store, one=one: store.held_api_key(digest_of(one))) for one in (first, second))
    assert old is not None
    assert new is not None
    assert (old.key, old.until is None, new.until) == (new.key, False, None)
    runner = CliRunner(env=dict(environment))
    listed = runner.invoke(remit, ["gateway", "key", "list", "--json"]).stdout
    assert (json.loads(listed)["name"], json.loads(listed)["scopes"]) == ("robot", ["remit:shell"])
    with Person(("gateway", "key", "revoke", "robot"), environment, tmp_path) as person:
        person.types_the_code("to revoke this key")
        assert person.leaves()[0] == 0
    assert runner.invoke(remit, ["gateway", "key", "list"]).stdout == "no key counts\n"
    everything = runner.invoke(remit, ["gateway", "key", "list", "--all"]).stdout
    assert "revoked" in everything
    assert first not in everything
    events = [stored.event for stored in kept.use(lambda store: store.audit_log())]
    assert [(event.kind, event.outcome, event.ref) for event in events] == [
        ("key", "created", "robot"),
        ("key", "rotated", "robot"),
        ("key", "revoked", "robot"),
    ]


def test_nothing_is_made_without_a_terminal(environment: Mapping[str, str], kept: Kept) -> None:
    told = CliRunner(env=dict(environment)).invoke(remit, ["gateway", "key", "create", "robot"], input="x\n")
    assert told.exit_code == 2
    assert "person at a terminal" in told.output
    assert kept.use(lambda store: store.api_keys()) == ()
