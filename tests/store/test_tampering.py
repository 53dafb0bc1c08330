# ruff: noqa: S608 - the statements are of constants and numbers of this file
"""Every way that we know to change what happened, done to a store of five checkpoints, and where each is found."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_server.store.audit_rows import rows_between
from mcp_server.store.chain import GENESIS, link
from mcp_server.store.seals import SealFile
from mcp_server.store.sqlite import open_store
from tests.store.samples import a_session, an_event

COLUMNS = "at, kind, principal, session_id, root_id, record, writer, place, hash"


async def sealed(path: Path) -> None:
    """Fifteen events of two writers that take turns, three in a segment, and one that no checkpoint holds."""
    one, two = open_store(path), open_store(path)
    await one.add_session(a_session())
    for step in range(5):
        await one.audit((an_event(a_session(), f"{step}a"), an_event(a_session(), f"{step}b")))
        await two.audit((an_event(a_session(), f"{step}c"),))
        await one.seal_audit()
    await one.audit((an_event(a_session(), "not sealed"),))
    for store in (one, two):
        store._trail.unsealed = 0  # pyright: ignore[reportPrivateUsage] - ends as a killed process does: without a last checkpoint
        await store.close()


def by_hand(path: Path, *statements: str) -> None:
    """As somebody who may write the file, and takes the triggers off first."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


def rechained(path: Path) -> None:
    """As somebody who knows how the chain is made, and makes all of it anew."""
    with closing(sqlite3.connect(path)) as connection, connection:
        heads: dict[bytes, tuple[int, bytes]] = {}
        for row in list(rows_between(connection, 0, 2**62)):
            place, before = heads.get(row.writer, (0, GENESIS))
            made = link(before, row._replace(place=place + 1))
            heads[row.writer] = (place + 1, made)
            connection.execute("UPDATE audit SET place = ?, hash = ? WHERE seq = ?", (place + 1, made, row.seq))


def changed_event(path: Path) -> None:
    by_hand(path, "UPDATE audit SET record = replace(record, '1b', '1x') WHERE seq = 5")


def changed_column(path: Path) -> None:
    by_hand(path, "UPDATE audit SET root_id = 'elsewhere' WHERE seq = 5")


def changed_time(path: Path) -> None:
    by_hand(path, "UPDATE audit SET at = at + 0.001 WHERE seq = 5")


def changed_event_and_chain(path: Path) -> None:
    by_hand(path, "UPDATE audit SET record = replace(record, '1b', '1x') WHERE seq = 5")
    rechained(path)


def missing_event(path: Path) -> None:
    by_hand(path, "DELETE FROM audit WHERE seq = 5")


def missing_and_renumbered(path: Path) -> None:
    by_hand(path, "DELETE FROM audit WHERE seq = 5", *(f"UPDATE audit SET seq = {seq - 1} WHERE seq = {seq}" for seq in range(6, 17)))
    rechained(path)


def added_event(path: Path) -> None:
    by_hand(path, f"INSERT INTO audit (seq, {COLUMNS}) SELECT 17, {COLUMNS} FROM audit WHERE seq = 5")


def inserted_event(path: Path) -> None:
    by_hand(
        path,
        *(f"UPDATE audit SET seq = {seq + 1} WHERE seq = {seq}" for seq in range(16, 4, -1)),
        f"INSERT INTO audit (seq, {COLUMNS}) SELECT 5, {COLUMNS} FROM audit WHERE seq = 4",
    )
    rechained(path)


def reordered_events(path: Path) -> None:
    by_hand(
        path,
        "UPDATE audit SET seq = 99 WHERE seq = 4",
        "UPDATE audit SET seq = 4 WHERE seq = 5",
        "UPDATE audit SET seq = 5 WHERE seq = 99",
    )


def reordered_across_writers(path: Path) -> None:
    by_hand(
        path,
        "UPDATE audit SET seq = 99 WHERE seq = 5",
        "UPDATE audit SET seq = 5 WHERE seq = 6",
        "UPDATE audit SET seq = 6 WHERE seq = 99",
    )


def unchained_event(path: Path) -> None:
    by_hand(path, "UPDATE audit SET writer = NULL, place = NULL, hash = NULL, kind = 'trust' WHERE seq = 16")


def chain_said_to_begin_later(path: Path) -> None:
    by_hand(path, "UPDATE audit SET writer = NULL, place = NULL, hash = NULL, kind = 'trust'", "UPDATE trail SET unchained = 16")


def truncated_tail(path: Path) -> None:
    by_hand(path, "DELETE FROM audit WHERE seq > 13")


def emptied(path: Path) -> None:
    by_hand(path, "DELETE FROM audit")


def pretended_retention(path: Path) -> None:
    by_hand(path, "UPDATE trail SET retired = 6", "DELETE FROM audit WHERE seq <= 6")


def changed_unsealed_event(path: Path) -> None:
    by_hand(path, "UPDATE audit SET record = replace(record, 'not sealed', 'sealed') WHERE seq = 16")


def older_copy(path: Path) -> None:
    shutil.copyfile(path.with_name("copy"), path)


def another_database(path: Path) -> None:
    shutil.copyfile(path.with_name("other") / "remit.db", path)


def seal_edited(path: Path, number: int, **fields: object) -> None:
    file = SealFile(path)
    lines = file.path.read_bytes().splitlines()
    edited = json.loads(lines[number - 1]) | fields
    lines[number - 1] = json.dumps(edited, sort_keys=True, separators=(",", ":")).encode()
    file.path.write_bytes(b"\n".join(lines) + b"\n")


def changed_checkpoint(path: Path) -> None:
    seal_edited(path, 2, digest="0" * 64)


def forged_checkpoint(path: Path) -> None:
    """With the chain made anew, and a digest that fits it."""
    changed_event_and_chain(path)
    with closing(sqlite3.connect(path)) as connection:
        hashes = [row.hash for row in rows_between(connection, 4, 6)]
    seal_edited(path, 2, digest=hashlib.sha256(b"".join(hashes)).hexdigest())


def illegible_checkpoint(path: Path) -> None:
    file = SealFile(path).path
    file.write_bytes(file.read_bytes().replace(b'"number":2', b'"number":"2"'))


def lines(path: Path, keep: Callable[[list[bytes]], list[bytes]]) -> None:
    file = SealFile(path).path
    file.write_bytes(b"".join(line + b"\n" for line in keep(file.read_bytes().splitlines())))


def missing_checkpoint(path: Path) -> None:
    lines(path, lambda all_of_them: [*all_of_them[:1], *all_of_them[2:]])


def reordered_checkpoints(path: Path) -> None:
    lines(path, lambda all_of_them: [all_of_them[1], all_of_them[0], *all_of_them[2:]])


def newest_checkpoints_removed(path: Path) -> None:
    by_hand(path, "DELETE FROM audit WHERE seq > 6")
    lines(path, lambda all_of_them: all_of_them[:2])


def no_checkpoints(path: Path) -> None:
    SealFile(path).path.unlink()


def wrong_key(path: Path) -> None:
    SealFile(path).key_path.write_bytes(b"k" * 32)


def no_key(path: Path) -> None:
    SealFile(path).key_path.unlink()


SEGMENT = "events 4 to 6: they are not the events that checkpoint 2 was made of"
CHANGED = "event 5: it was changed, or does not follow the one before it of the same writer"

TAMPERINGS: dict[Callable[[Path], None], str] = {
    changed_event: CHANGED,
    changed_column: CHANGED,
    changed_time: CHANGED,
    changed_event_and_chain: SEGMENT,
    missing_event: "event 5: missing",
    missing_and_renumbered: SEGMENT,
    added_event: "event 17: it was changed, or does not follow",
    inserted_event: SEGMENT,
    reordered_events: "event 4: it is number 4 of the writer",
    reordered_across_writers: "event 5: it was changed, or does not follow",
    unchained_event: "event 16: it is outside the chain, though the chain had begun",
    chain_said_to_begin_later: "the database: it says that the chain begins after event 16; the checkpoints say otherwise",
    truncated_tail: "events 14 to 15: missing: checkpoint 5 holds them, the store ends before",
    emptied: "events 1 to 3: missing: checkpoint 1 holds them",
    pretended_retention: "events 1 to 6: they were removed, but no checkpoint says that retention did so",
    changed_unsealed_event: "event 16: it was changed",
    older_copy: "events 10 to 12: missing: checkpoint 4 holds them, the store ends before",
    another_database: "the database: it is not the one that checkpoint 1 was made of",
    changed_checkpoint: "checkpoint 2: its signature does not fit: it was changed or forged",
    forged_checkpoint: "checkpoint 2: its signature does not fit: it was changed or forged",
    illegible_checkpoint: "checkpoint 2: its line cannot be read: it was changed",
    missing_checkpoint: "checkpoint 3: number 2 is expected here: one is missing or moved",
    reordered_checkpoints: "checkpoint 2: number 1 is expected here: one is missing or moved",
    newest_checkpoints_removed: "the checkpoints: the store tells of 5, but 2 are there: newer ones were removed",
    no_checkpoints: "the checkpoints: the store tells of 5, but 0 are there: newer ones were removed",
    wrong_key: "checkpoints 1 to 5: signed with another key",
    no_key: "the key is missing, so no signature can be checked",
}


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
async def test_what_was_done_is_found_and_its_place_told(folder: Path, tamper: Callable[[Path], None]) -> None:
    path = folder / "remit.db"
    if tamper is another_database:
        (folder / "other").mkdir(mode=0o700)
        await sealed(folder / "other" / "remit.db")
    if tamper is older_copy:
        await sealed_before(path)
    else:
        await sealed(path)
    tamper(path)
    store = open_store(path)
    proof = await store.prove_audit()
    await store.close()
    told = [str(one) for one in proof.findings]
    assert any(TAMPERINGS[tamper] in one for one in told), told


async def sealed_before(path: Path) -> None:
    """Three checkpoints, a copy, and two more."""
    for step in range(5):
        if step == 3:
            shutil.copyfile(path, path.with_name("copy"))
        store = open_store(path)
        await store.audit([an_event(outcome=f"{step}{letter}") for letter in "abc"])
        await store.close()


async def test_an_untouched_store_is_proven(folder: Path) -> None:
    await sealed(folder / "remit.db")
    store = open_store(folder / "remit.db")
    proof = await store.prove_audit()
    await store.close()
    assert (proof.findings, proof.events, proof.checkpoints, proof.sealed_to, proof.unsealed) == ((), 16, 5, 15, 1)


async def test_a_store_that_was_rewritten_is_told_in_few_words_and_a_count(folder: Path) -> None:
    path = folder / "remit.db"
    store = open_store(path)
    await store.audit([an_event(outcome=str(step)) for step in range(300)])
    await store.close()
    by_hand(path, "UPDATE audit SET kind = 'trust'")
    store = open_store(path)
    proof = await store.prove_audit()
    await store.close()
    assert (len(proof.findings), proof.left_out) == (100, 200)
