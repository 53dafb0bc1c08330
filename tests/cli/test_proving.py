import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing

from mcp_server.store.seals import SealFile
from tests.cli.kept import Kept
from tests.cli.test_showing import run


def test_an_audit_that_nobody_touched_is_verified_and_names_its_newest_checkpoint(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    ended = run(environment, "audit", "verify")
    assert ended.exit_code == 0
    *_, newest, verdict = ended.output.splitlines()
    assert verdict == "verified"
    last = SealFile(kept.folder / "remit.db").last()
    assert last is not None
    assert newest == f"newest checkpoint: {last.signature}"
    assert run(environment, "audit", "verify", "--checkpoint", last.signature).exit_code == 0


def test_what_was_changed_is_told_with_its_place_and_an_exit_code(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    with closing(sqlite3.connect(kept.folder / "remit.db")) as connection, connection:
        connection.execute("DROP TRIGGER audit_is_never_changed")
        connection.execute("UPDATE audit SET kind = 'trust' WHERE seq = 1")
    ended = run(environment, "audit", "verify")
    assert ended.exit_code == 1
    assert ended.output.startswith("event 1: it was changed")
    assert ended.output.endswith("NOT AS IT WAS WRITTEN\n")
    told = json.loads(run(environment, "audit", "verify", "--json").output)
    assert (told["verified"], told["findings"][0]["where"]) == (False, "event 1")


def test_a_checkpoint_that_was_noted_and_is_gone_is_told(kept: Kept, environment: Mapping[str, str]) -> None:
    kept.tree()
    ended = run(environment, "audit", "verify", "--checkpoint", "ab" * 32)
    assert ended.exit_code == 1
    assert "is not among them" in ended.output
