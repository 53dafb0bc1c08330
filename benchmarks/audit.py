"""How long it takes to prove an audit, and in how much memory: `python -m benchmarks.audit [EVENTS]`, 1,000,000 where none is named."""

import resource
import sys
import tempfile
import time
from pathlib import Path

import anyio

from mcp_server.policy.values import Action
from mcp_server.policy.verdicts import SessionId, Step
from mcp_server.records import AuditEvent
from mcp_server.store.sqlite import open_store

EVENTS = 1_000_000
AT_ONCE = 1000


def _event(place: int) -> AuditEvent:
    """A decision as the gate writes it."""
    return AuditEvent(
        at=1_790_000_000.0 + place,
        kind="decision",
        principal="local",
        session_id=SessionId(f"ses_{place % 100:032}"),
        session_path=("build", "explore"),
        tool="read",
        digest=f"{place:064x}",
        action=Action.ALLOW,
        step=Step.ALLOW,
        rules=("agent explore: read * allow",),
        ref=f"call_{place}",
    )


async def measure(count: int) -> None:
    """Write, sign and prove that many events, and print what each took."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "state" / "remit.db")
        begun = time.perf_counter()
        for start in range(0, count, AT_ONCE):
            await store.audit([_event(start + place) for place in range(AT_ONCE)], synced=False)
        written = time.perf_counter()
        await store.seal_audit()
        sealed = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        proof = await store.prove_audit()
        proven = time.perf_counter()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = await store.used_bytes()
        await store.close()
    print(f"events {proof.events}, checkpoints {proof.checkpoints}, findings {len(proof.findings)}, store {size / 1e6:.0f} MB")  # noqa: T201 - what the command is for
    print(f"write {written - begun:.1f} s, sign {sealed - written:.1f} s, verify {proven - sealed:.1f} s")  # noqa: T201 - as above
    print(f"memory at most {after / 1024:.0f} MB, of which verifying added {(after - before) / 1024:.0f} MB")  # noqa: T201 - as above


if __name__ == "__main__":
    anyio.run(measure, int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)
