"""Several processes of the operating system on one file, and processes that die."""

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_server.policy.values import Reach
from mcp_server.records import TaskGiven
from mcp_server.store.schema import MIGRATIONS
from mcp_server.store.sqlite import SqliteStore, open_store
from tests.store.processes import BOUND, finish, let_go, worker
from tests.store.samples import PRINCIPAL, a_prompt, a_ruling, a_run, a_session, an_event
from tests.store.schemas import NEXT, ask, filled

ROOT = a_session()
MANY = 50


async def with_root(path: Path) -> SqliteStore:
    store = open_store(path)
    await store.add_session(ROOT)
    return store


def race(task: str, path: Path, names: str = "abcd") -> dict[str, list[str]]:
    """Each named process at the same task, let go together; what each said."""
    with ExitStack() as stack:
        workers = {name: stack.enter_context(worker(task, path, name)) for name in names}
        for process in workers.values():
            let_go(process)
        return {name: finish(process) for name, process in workers.items()}


async def test_a_run_is_claimed_by_exactly_one_process(folder: Path) -> None:
    store = await with_root(folder / "remit.db")
    for place in range(MANY):
        await store.add_run(a_run(ROOT, f"run{place}"), ())
    won = race("claim", folder / "remit.db")
    assert sorted(int(place) for places in won.values() for place in places) == list(range(MANY))
    held = {run.id: run.owner for run in await store.unfinished_runs()}
    assert held == {f"run{place}": name for name, places in won.items() for place in places}
    await store.close()


async def test_processes_that_take_a_run_from_each_other_never_write_under_an_old_fence(folder: Path) -> None:
    store = await with_root(folder / "remit.db")
    await store.add_run(a_run(ROOT, "run0"), ())
    wrote = race("advance", folder / "remit.db")
    entries = [stored.entry for stored in await store.transcript(ROOT.id)]
    fences = [int(entry.text) for entry in entries if isinstance(entry, TaskGiven)]
    assert fences == sorted(fences)
    assert sorted(fences) == sorted(int(fence) for said in wrote.values() for fence in said)
    owners = {fence: name for name, said in wrote.items() for fence in said}
    assert all(owners[str(fence)] == name for name, said in wrote.items() for fence in map(int, said))
    await store.close()


async def test_a_prompt_is_answered_by_exactly_one_process_with_its_ruling_and_audit(folder: Path) -> None:
    store = await with_root(folder / "remit.db")
    for place in range(MANY):
        await store.add_prompt(a_prompt(ROOT, f"prm{place}"))
    won = race("answer", folder / "remit.db")
    winners = {int(place): name for name, places in won.items() for place in places}
    assert sorted(winners) == list(range(MANY)) == sorted(int(place) for places in won.values() for place in places)
    answered = {prompt.id: prompt.answer.words for prompt in await store.prompts() if prompt.answer is not None}
    assert answered == {f"prm{place}": name for place, name in winners.items()}
    assert len(await store.rulings(principal=PRINCIPAL)) == MANY
    assert sorted(stored.event.outcome for stored in await store.audit_log()) == sorted(
        f"{place} {name}" for place, name in winners.items()
    )
    await store.close()


async def test_a_single_use_ruling_is_used_by_exactly_one_process(folder: Path) -> None:
    store = await with_root(folder / "remit.db")
    await store.add_rulings([a_ruling(ROOT, f"once{place}", Reach.ONCE) for place in range(MANY)], ())
    won = race("use", folder / "remit.db")
    assert sorted(int(place) for places in won.values() for place in places) == list(range(MANY))
    assert [ruling.used for ruling in await store.rulings(principal=PRINCIPAL)] == [1] * MANY
    assert len(await store.audit_log()) == MANY
    await store.close()


async def test_the_audit_of_several_processes_has_no_gap_and_keeps_each_ones_order(folder: Path) -> None:
    store = await with_root(folder / "remit.db")
    before = await store.changed()
    race("audit", folder / "remit.db")
    log = await store.audit_log()
    assert [stored.seq for stored in log] == list(range(1, 401))
    for name in "abcd":
        own = [stored.event.outcome for stored in log if stored.event.outcome.startswith(name)]
        assert own == [f"{name} {place}" for place in range(100)]
    assert await store.changed() != before
    await store.close()


async def test_processes_that_start_at_once_make_one_store(folder: Path) -> None:
    said = race("start", folder / "new" / "remit.db", "abcdef")
    assert said == {name: ["0"] for name in "abcdef"}
    store = open_store(folder / "new" / "remit.db")
    assert [stored.seq for stored in await store.audit_log()] == [1, 2, 3, 4, 5, 6]
    assert await store.faults() == ()
    await store.close()
    assert ask(folder / "new" / "remit.db", "PRAGMA user_version") == [(len(MIGRATIONS),)]


async def test_processes_that_start_at_once_migrate_once(folder: Path) -> None:
    await filled(folder / "remit.db")
    said = race("migrate", folder / "remit.db", "abcdef")  # the statements of a second migration would fail
    assert said == {name: ["open"] for name in "abcdef"}
    assert ask(folder / "remit.db", "PRAGMA user_version") == [(len(NEXT),)]
    assert ask(folder / "remit.db", "SELECT id, note FROM sessions") == [("root", "")]


@pytest.mark.parametrize("after", [1, 7, 40, 120, 300])
async def test_a_process_killed_while_it_writes_loses_nothing_it_had_written(folder: Path, after: int) -> None:
    store = await with_root(folder / "remit.db")
    await store.add_run(a_run(ROOT, "run0"), ())
    await store.close()
    with worker("write_on", folder / "remit.db") as process:
        let_go(process)
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
        assert process.wait(BOUND) == -signal.SIGKILL
    acknowledged = [int(line) for line in said if line.endswith("\n")]

    again = open_store(folder / "remit.db")
    entries = [stored.entry for stored in await again.transcript(ROOT.id)]
    written = [entry.text.rsplit(" ", 1)[0] for entry in entries if isinstance(entry, TaskGiven)]
    assert await again.faults() == ()
    assert written == [f"w {place}" for place in range(len(written))]
    assert len(written) - len(acknowledged) in (0, 1)
    assert [stored.event.outcome for stored in await again.audit_log()] == written
    assert await again.claim(a_run(ROOT, "run0").id, owner="next", now=2000.0, seconds=1.0) is not None
    await again.audit((an_event(ROOT, "goes on"),))
    await again.close()


async def test_a_process_killed_with_the_lock_in_its_hands_holds_nobody_up(folder: Path) -> None:
    store = await with_root(folder / "remit.db")
    with worker("hold", folder / "remit.db") as process:
        process.send_signal(signal.SIGKILL)
        process.wait(BOUND)
        await store.audit((an_event(ROOT),))
    assert len(await store.audit_log()) == 1
    await store.close()


@pytest.mark.parametrize("after", [2, 7, 17, 40])
async def test_processes_killed_while_they_write_and_sign_leave_an_audit_that_is_proven(folder: Path, after: int) -> None:
    await (await with_root(folder / "remit.db")).close()
    with worker("sign_on", folder / "remit.db", "a") as one, worker("sign_on", folder / "remit.db", "b") as two:
        for process in (one, two):
            let_go(process)
        for process in (one, two):
            assert process.stdout is not None
            assert len([process.stdout.readline() for _ in range(after)]) == after
            process.send_signal(signal.SIGKILL)
            assert process.wait(BOUND) == -signal.SIGKILL
    store = open_store(folder / "remit.db")
    proof = await store.prove_audit()
    assert (proof.findings, proof.writers) == ((), 2)
    assert proof.checkpoints > 0
    await store.audit((an_event(ROOT, "goes on"),))
    await store.seal_audit()
    proof = await store.prove_audit()
    await store.close()
    assert (proof.findings, proof.unsealed, proof.writers) == ((), 0, 3)
