"""`remit audit verify`: whether the audit is as it was written, and where it is not."""

from dataclasses import asdict

import click

from mcp_server.cli.state import with_store
from mcp_server.cli.table import plain
from mcp_server.sessions.visible import json_line
from mcp_server.store.proof import Proof
from mcp_server.store.protocol import Store

TAMPERED = 1
"""The exit code where something was found. 2: it could not be looked at."""


@click.command()
@click.option("--checkpoint", metavar="SIGNATURE", help="One noted earlier: it must be among the checkpoints still.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def verify(ctx: click.Context, checkpoint: str | None, as_json: bool) -> None:
    """Look at every event: was one changed, removed, added or moved since it was written?

    Exit code 0: none was; 1: what is told. Without `--checkpoint` nobody can tell a store from an older copy of itself,
    checkpoints and all.
    """

    async def proven(store: Store) -> Proof:
        return await store.prove_audit(noted=checkpoint)

    proof = with_store(proven)
    if as_json:
        click.echo(json_line(asdict(proof) | {"verified": not proof.findings}))
    else:
        for line in told(proof):
            click.echo(plain(line))
    if proof.findings:
        ctx.exit(TAMPERED)


def told(proof: Proof) -> list[str]:
    """The result in lines, what is wrong first."""
    lines = [str(finding) for finding in proof.findings]
    if proof.left_out:
        lines.append(f"and {proof.left_out} more")
    lines += [f"note: {note}" for note in proof.notes]
    counts = ((proof.events, "event"), (proof.writers, "writer"), (proof.checkpoints, "checkpoint"))
    events, writers, checkpoints = (f"{count} {name if count == 1 else name + 's'}" for count, name in counts)
    lines.append(f"{events} of {writers}, {checkpoints} up to event {proof.sealed_to}")
    if proof.unchained:
        lines.append(f"{proof.unchained} of the events are older than the chain; the first checkpoints hold them as they were then")
    if proof.retired:
        lines.append(f"events up to {proof.retired} were removed by retention; their checkpoints are there")
    if proof.unsealed:
        lines.append(f"the last {proof.unsealed} are chained, but no checkpoint holds them yet")
    if proof.newest:
        lines.append(f"newest checkpoint: {proof.newest}")
    lines.append("NOT AS IT WAS WRITTEN" if proof.findings else "verified")
    return lines
