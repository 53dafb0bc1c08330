"""Reading the file of checkpoints with doubt: is each one signed, with our key, and does each follow the one before?"""

from dataclasses import dataclass

from mcp_server.store.proof import Finding
from mcp_server.store.seals import FIRST, NotASeal, Seal, SealFile, is_signed_with, key_name, read_seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read."""

    seals: tuple[Seal, ...]
    """Those that can be read, be they signed or not."""
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    """What is only good to know."""


def doubtful(file: SealFile, noted: str | None) -> Reading:
    """Every checkpoint, and what is wrong with them. `noted`: the signature of one that must be there.

    Raises:
        OSError: A file cannot be read.
    """
    lines, key = file.lines(), file.key()
    found: list[Finding] = []
    seals: list[Seal] = []
    for number, line in enumerate(lines, start=1):
        try:
            seals.append(read_seal(line))
        except NotASeal:
            found.append(Finding(where=f"checkpoint {number}", problem="its line cannot be read: it was changed"))
    if lines and key is None:
        found.append(Finding(where=str(file.key_path), problem="the key is missing, so no signature can be checked"))
    elif key is not None:
        found += _unsigned(seals, key)
    found += _loose(seals)
    if noted is not None and all(seal.signature != noted for seal in seals):
        found.append(Finding(where="the checkpoints", problem=f"the one that was noted ({noted}) is not among them"))
    return Reading(seals=tuple(seals), findings=tuple(found), notes=_notes(file))


def _unsigned(seals: list[Seal], key: bytes) -> list[Finding]:
    foreign = [seal for seal in seals if seal.key != key_name(key)]
    found = [
        Finding(where=f"checkpoint {seal.number}", problem="its signature does not fit: it was changed or forged")
        for seal in seals
        if seal.key == key_name(key) and not is_signed_with(seal, key)
    ]
    if foreign:
        one, last = foreign[0].number, foreign[-1].number
        where = f"checkpoint {one}" if one == last else f"checkpoints {one} to {last}"
        found.append(Finding(where=where, problem=f"signed with another key ({foreign[0].key}) than the one here ({key_name(key)})"))
    return found


def _loose(seals: list[Seal]) -> list[Finding]:
    """Those that do not follow the one before."""
    found: list[Finding] = []
    number, last, previous = 0, 0, FIRST
    for seal in seals:
        if seal.number != number + 1:
            found.append(
                Finding(where=f"checkpoint {seal.number}", problem=f"number {number + 1} is expected here: one is missing or moved")
            )
        elif seal.previous != previous or seal.first != last + 1:
            found.append(Finding(where=f"checkpoint {seal.number}", problem="it does not follow the one before it"))
        number, last, previous = seal.number, max(last, seal.last), seal.signature
    return found


def _notes(file: SealFile) -> tuple[str, ...]:
    try:
        torn = not file.path.read_bytes().endswith(b"\n")
    except FileNotFoundError:
        return ()
    return (f"the last line of {file.path.name} was cut short, as by a crash; the next checkpoint replaces it",) if torn else ()
