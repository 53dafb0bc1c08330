"""What the audit never holds, whoever writes an event: secrets in the words of rules, outcomes and tools."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_server.redaction import HIDDEN
from mcp_server.store.sqlite import open_store
from tests.store.samples import an_event

BEARER = 'agent build: bash curl -H "Authorization: Bearer hunter22-abc" https://example.org deny'


def in_the_file(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "remit.db")) as connection:
        return str(connection.execute("SELECT record FROM audit").fetchall())


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (BEARER, f'agent build: bash curl -H "Authorization: {HIDDEN}" https://example.org deny'),
        ("session: bash curl --token hunter22 x allow", f"session: bash curl --token {HIDDEN} x allow"),
        ("session: bash DB_PASSWORD=hunter22 make allow", f"session: bash DB_PASSWORD={HIDDEN} make allow"),
        ("person: webfetch https://me:hunter22@example.org/* ask", f"person: webfetch https://{HIDDEN}@example.org/* ask"),
        ("agent token-keeper: bash * ask", "agent token-keeper: bash * ask"),
        ("built-in guard: read **/.git-credentials ask", "built-in guard: read **/.git-credentials ask"),
        ("once: this very call", "once: this very call"),
    ],
)
async def test_a_secret_in_a_rule_is_not_stored_and_the_rest_of_the_rule_is(folder: Path, rule: str, kept: str) -> None:
    store = open_store(folder / "remit.db")
    await store.audit((an_event(rules=(rule,)),))
    (stored,) = await store.audit_log()
    proof = await store.prove_audit()
    await store.close()
    assert stored.event.rules == (kept,)
    assert proof.findings == ()
    assert "hunter22" not in in_the_file(folder)


async def test_a_known_secret_is_not_stored_in_an_outcome_or_a_tools_name_whatever_its_form(folder: Path) -> None:
    store = open_store(folder / "remit.db", secrets=("plain words",))
    await store.audit((an_event(None, "failed: plain words", tool="curl plain words", rules=("a: bash plain words deny",)),))
    (stored,) = await store.audit_log()
    await store.close()
    assert (stored.event.outcome, stored.event.tool) == (f"failed: {HIDDEN}", f"curl {HIDDEN}")
    assert "plain words" not in in_the_file(folder)


async def test_what_events_are_found_by_stays_as_it_is(folder: Path) -> None:
    event = an_event(digest="0a" * 32, ref="call_" + "Ab1" * 20)
    store = open_store(folder / "remit.db")
    await store.audit((event,))
    (stored,) = await store.audit_log()
    await store.close()
    assert stored.event == event


async def test_a_rule_of_any_length_is_kept_by_its_start(folder: Path) -> None:
    store = open_store(folder / "remit.db")
    await store.audit((an_event(rules=("a: bash " + "word " * 20_000 + "deny",)),))
    (stored,) = await store.audit_log()
    await store.close()
    assert stored.event.rules[0].endswith("more characters")
    assert len(stored.event.rules[0]) < 5_000
