"""What a line of shell runs in, and what of its call opens it: from what the gate let through to the enclosure."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace

from mcp_server.errors import ToolFailure
from mcp_server.policy.rulings import SILENCE
from mcp_server.policy.values import Action, AskRef, PathValue, Request
from mcp_server.sandbox.derive import NOTHING, Approval
from mcp_server.sandbox.enclosing import Enclosure
from mcp_server.sandbox.profile import Profile, within
from mcp_server.sandbox.refusals import Refusal, refusals
from mcp_server.sandbox.usual import GIT_PROGRAMS
from mcp_server.shell.reading import Reading
from mcp_server.tools.base import ToolContext
from mcp_server.tools.paths import locate, nearest_folder
from mcp_server.tools.repositories import QUIET

ANY_ADDRESS = "while it runs it can reach any address, not only those named"

ANY_FILE = "while it runs it may write anywhere in the workspace where no rule speaks against it"

ANYWHERE_IN = "anywhere in the workspace, "
"""Before the owner of an ask that is lifted for all of the workspace while a line runs."""

NO_SANDBOX = "it runs without a sandbox, as settings say: it can read, change and reach whatever this user can"


STEERING = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "IFS", "CDPATH", "GLOBIGNORE"})
"""Variables that make bash run or read lines in another way; never passed on."""


def understood(reading: Reading) -> bool:
    """Is all that the line does known, so that all of it was judged? What git shows of earlier states no sandbox could hide."""
    return all(not each.opaque and (each.effects_known or each.unseen == ("read",)) for each in reading.commands)


def enclosure_of(context: ToolContext, approval: Approval = NOTHING) -> Enclosure:
    """What the line runs in.

    Raises:
        ToolFailure: Nobody can say.
    """
    if context.enclose is None:
        raise ToolFailure("nothing was done: nobody here can say what a command would run in")
    return context.enclose(approval)


def refuse_unless_held(reading: Reading, enclosure: Enclosure) -> None:
    """Stop a line that does what nobody can know, where no sandbox holds it and settings do not do without one.

    Raises:
        ToolFailure: With what is missing, and the ways out.
    """
    if not enclosure.missing or enclosure.chosen or understood(reading):
        return
    known = "; ".join(reading.why) or "what its programs do cannot be known beforehand"
    raise ToolFailure(
        f"nothing was run: {known}, and the sandbox here does not hold all that the rules say: {'; '.join(enclosure.missing)}. "
        "Use plain commands whose effects can be read from the line, or the other tools. A person can mend it (`remit doctor` says how) "
        "or do without a sandbox (`sandbox: none` in their own settings)"
    )


def with_besides(requests: tuple[Request, ...], reading: Reading, context: ToolContext) -> tuple[Request, ...]:
    """The requests of a line that is not understood, with what a person who is asked should know, and lifts besides."""
    enclosure = enclosure_of(context)
    notes = [NO_SANDBOX] if enclosure.chosen else []
    notes += [ANY_ADDRESS] if any(request.permission == "webfetch" for request in requests) else []
    besides, told = _lent(enclosure, context)
    # Whatever of the line asks, its person sees all of this; what goes with running it, who is asked for running it.
    return tuple(
        replace(request, besides=besides, notes=(*told, *notes)) if request.permission == "bash" else replace(request, notes=tuple(notes))
        for request in requests
    )


def _lent(enclosure: Enclosure, context: ToolContext) -> tuple[tuple[AskRef, ...], tuple[str, ...]]:
    """The asks that are lifted by letting the line write anywhere in the workspace, by names of their own: who answers one of them for
    a single file has not answered for the workspace. And what a person is told of it.
    """
    if not enclosure.lent:
        return (), ()
    writing = enclosure_of(context, Approval(lifted=frozenset(enclosure.lent)))
    if writing.missing:
        return (), ()
    besides = tuple(replace(ask, owner=f"{ANYWHERE_IN}{ask.owner}") for ask in enclosure.lent)
    return besides, (f"{ANY_FILE} ({', '.join(map(_why, enclosure.lent))})", *writing.profile.unheld)


def _why(ask: AskRef) -> str:
    """Why writing asks, for a person."""
    return f"no rule speaks of `{ask.rule}`" if ask.owner == SILENCE else str(ask)


def enclosed(reading: Reading, context: ToolContext) -> Enclosure:
    """What a line runs in that the gate let through.

    Raises:
        ToolFailure: It is not understood, and would not be held.
    """
    approval = _approval(reading, context)
    enclosure = enclosure_of(context, approval)
    if approval.lifted and enclosure.missing:
        # Better held and writing nothing than writing and not held.
        enclosure = enclosure_of(context, replace(approval, lifted=frozenset()))
    refuse_unless_held(reading, enclosure)
    return enclosure


def profile_of(enclosure: Enclosure, reading: Reading, line: str) -> Profile:
    """The profile with the environment of a shell: nothing in it steers how the line is read, and git looks without changing anything."""
    profile = enclosure.profile
    lent = profile.environment.items()
    plain = {name: value for name, value in lent if name not in STEERING and not name.startswith("BASH_FUNC_")}
    if "PATH" in plain and understood(reading) and (profile.network or not enclosure.holds):
        plain["PATH"] = _path_outside(plain["PATH"], profile.workspace)
    return replace(profile, environment={**plain, **(QUIET if "git" in line else {})})


def _path_outside(path: str, workspace: str) -> str:
    """Without folders that an agent may write: a `curl` of its own would be taken for the one that is known, and so let through."""
    own = (workspace, "/tmp")  # noqa: S108 - compared
    places = {entry: os.path.realpath(entry) for entry in path.split(os.pathsep) if os.path.isabs(entry)}
    return os.pathsep.join(entry for entry, real in places.items() if not any(within(entry, top) or within(real, top) for top in own))


def _approval(reading: Reading, context: ToolContext) -> Approval:
    written, read = _paths(context.judged, "edit"), _paths(context.judged, "read")
    fetches = any(request.permission == "webfetch" for request in context.judged)
    known = understood(reading)
    if known:
        # Files are made in, renamed in and taken from their folders; what else could happen there was judged.
        made = (path for path in written if path != str(context.workspace))
        folders = tuple(dict.fromkeys(nearest_folder(os.path.dirname(path)) for path in made))
        written, read = (*written, *folders), (*read, *folders)
    return Approval(
        lifted=frozenset(
            replace(ask, owner=ask.owner.removeprefix(ANYWHERE_IN)) for ask in context.lifted if ask.owner.startswith(ANYWHERE_IN)
        ),
        written=written,
        read=read,
        # Who allowed one address by a rule did not allow the others, and the kernel knows only all or none.
        network=fetches and (known or context.in_person),
        whole=known,
    )


def _paths(judged: Sequence[Request], permission: str) -> tuple[str, ...]:
    values = (value for request in judged if request.permission == permission for value in request.values)
    return tuple(value.resolved for value in values if isinstance(value, PathValue))


# ---- what was refused ---------------------------------------------------------------------------


def refused(context: ToolContext, enclosure: Enclosure, output: str, code: int | None, cwd: str) -> str:
    """What the sandbox seems to have refused the line, which rules that comes from, and how to ask for it; empty: nothing."""
    if enclosure.chosen or code == 0:
        return ""
    found = refusals(enclosure.profile, output, code, cwd=cwd)
    lines = [refusal.words for refusal in found]
    wanted = _wanted([refusal for refusal in found if not _denied(context, refusal)])
    if wanted:
        lines.append(
            "The same line with "
            + " and ".join(f'"{key}": {json.dumps(values, ensure_ascii=False)}' for key, values in wanted.items())
            + " asks for exactly this: the rules judge it, and a person is asked where they say so."
        )
    return "\n".join(lines)


def _denied(context: ToolContext, refusal: Refusal) -> bool:
    """Is it closed by a deny, which no answer lifts?"""
    if refusal.permission == "webfetch" or context.closings is None:
        return False
    [said] = context.closings(refusal.permission, [locate(refusal.value, context.workspace)])
    return any(rule.endswith(f" {Action.DENY.word}") for rule in said)


def _wanted(found: Sequence[Refusal]) -> dict[str, list[str]]:
    keys = {"edit": "may_write", "read": "may_read", "webfetch": "may_fetch"}
    wanted: dict[str, list[str]] = {}
    for refusal in found:
        values = wanted.setdefault(keys[refusal.permission], [])
        value = _nameable(refusal)
        if value not in values:
            values.append(value)
    return wanted


def _repository(path: str) -> str:
    """What git does, it does in several places of a repository: asked for one by one, each try would only meet the next."""
    around, inside, rest = path.partition("/.git/")
    apart = any(f"{rest}/".startswith(f"{name}/") for name in GIT_PROGRAMS if name != "worktrees")
    return f"{around}/.git" if inside and not apart else path


def _nameable(refusal: Refusal) -> str:
    """As it can be asked for: only what exists can be opened, and an address has a scheme."""
    match refusal.permission:
        case "edit":
            found = refusal.value if os.path.lexists(refusal.value) else nearest_folder(os.path.dirname(refusal.value))
            return _repository(found)
        case "read":
            return _repository(refusal.value)
        case "webfetch":
            return refusal.value if refusal.value == "*" else f"https://{refusal.value}"
