"""What a look at the whole audit found. Values only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it was written."""

    where: str
    """`event 12`, `events 3 to 7`, `checkpoint 4`, or the file."""
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was looked at, and what is wrong with it."""

    events: int
    unchained: int
    """Of these, events from before the chain: held by the first checkpoints alone."""
    retired: int
    """Events that retention has removed; their checkpoints are there."""
    writers: int
    checkpoints: int
    sealed_to: int
    """The last event that a checkpoint holds."""
    unsealed: int
    """Events after it: held by their own chains alone, which whoever can write the database can make anew."""
    newest: str
    """The signature of the newest checkpoint: noted elsewhere, it shows later that nothing was taken back. Empty: there is none."""
    findings: tuple[Finding, ...]
    left_out: int = 0
    """Further findings, counted only."""
    notes: tuple[str, ...] = ()
    """What is no sign of tampering, but good to know."""
