"""Read from what a failed command printed what the sandbox refused it, and which rule that comes from.

A guess from words, made for the model's and the person's next step. It decides nothing.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcp_server.sandbox.profile import Access, Profile

_WRITES = re.compile(r"read-only file system|\bEROFS\b", re.I)
_EITHER = re.compile(
    r"permission denied|operation not permitted|\bEACCES\b|\bEPERM\b|PermissionError|device or resource busy|\bEBUSY\b", re.I
)
_MISSING = re.compile(r"no such file or directory|\bENOENT\b|FileNotFoundError|file not found|cannot find|not a git repository: /", re.I)
_NETWORK = re.compile(
    r"could not resolve|couldn't resolve|name or service not known|temporary failure in name resolution|network is unreachable|"
    r"\bENETUNREACH\b|\bENOTFOUND\b|\bEAI_AGAIN\b|getaddrinfo|no address associated|failed to (?:connect|resolve)|couldn't connect|"
    r"unable to (?:connect|resolve)|dns error|connection refused|\bECONNREFUSED\b|cannot assign requested address|socket: ",
    re.I,
)
_HOST = re.compile(r"(?:host|resolve|resolving|ENOTFOUND|EAI_AGAIN)[^\w]{1,4}((?:[\w-]+\.)+[\w-]+)", re.I)
_QUOTED = re.compile(r"['\"`\u2018\u201c]([^'\"`\u2019\u201d]+)['\"`\u2019\u201d]")
_WORD = re.compile(r"[^\s:;,()\[\]<>]+")

_SPEAKER = re.compile(r"^\S+: (?:line )?\d+: ")
"""A shell that names itself, or its script."""

_LAST = re.compile(
    r"(?<!\S)(?!E[A-Z]+:)([^\s:'\"`\u2018\u2019]+)['\"`\u2019]?: "
    r"(?:read-only file system|permission denied|operation not permitted|no such file or directory|device or resource busy)",
    re.I,
)
"""What stands right before the system's own words for a failure is what failed."""

LONGEST = 4096
"""Bytes of a path."""

_MARKS = "'\"`\u2018\u2019\u201c\u201d\u2026"
"""Quotes and dots round a word."""

MOST_LINES = 400
"""Of the end of the output: what went wrong is said last."""

MOST = 5
"""Refusals that are told: more would bury the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One thing that was refused."""

    permission: Literal["edit", "read", "webfetch"]
    value: str
    """The path, absolute; for the network the host, or `*` where none was named."""
    because: str
    """The rule, in words."""

    @property
    def words(self) -> str:
        """One sentence."""
        match self.permission:
            case "edit":
                return f"The sandbox kept it from writing {self.value}: {self.because}."
            case "read":
                return f"The sandbox hides {self.value}: {self.because}."
            case "webfetch":
                where = "the network" if self.value == "*" else self.value
                return f"The sandbox kept it from reaching {where}: {self.because}."


def refusals(profile: Profile, output: str, code: int | None, *, cwd: str) -> tuple[Refusal, ...]:
    """What was refused, as far as the output tells. Nothing where the command succeeded."""
    if code == 0:
        return ()
    found: dict[tuple[str, str], Refusal] = {}
    for line in output.splitlines()[-MOST_LINES:]:
        for refusal in _of_line(profile, line[:2000], cwd):
            found.setdefault((refusal.permission, refusal.value), refusal)
    return tuple(found.values())[:MOST]


def _of_line(profile: Profile, line: str, cwd: str) -> Iterator[Refusal]:
    if not profile.network and _NETWORK.search(line):
        host = _HOST.search(line)
        yield Refusal(permission="webfetch", value=host[1] if host else "*", because=profile.why_network)
        return
    writes, either, missing = (bool(test.search(line)) for test in (_WRITES, _EITHER, _MISSING))
    if not (writes or either or missing):
        return
    for path in _paths(line, cwd):
        access, place = profile.deciding(path)
        if access is Access.HIDDEN and not writes:
            # A path outside that is simply not there looks the same from within: say so only where the host has it.
            if os.path.lexists(path):
                yield Refusal(permission="read", value=path, because=_why_hidden(place))
        elif access is Access.READ and (writes or either):
            yield Refusal(permission="edit", value=path, because=_why_read_only(profile, place, path))


def _why_hidden(place: object) -> str:
    because = getattr(place, "because", "")
    return because or "it lies outside the workspace, and no rule shows it"


def _why_read_only(profile: Profile, place: object, path: str) -> str:
    protected = [each.because for each in profile.protected if each is place]
    if protected:
        return protected[0]
    if path == profile.workspace or path.startswith(f"{profile.workspace}/"):
        return profile.why_read_only or "no rule allows writing here"
    return "it lies outside the workspace, and no rule lets commands write there"


def _paths(line: str, cwd: str) -> Iterator[str]:
    """What may be a path in a message: what it quotes, and words that look like a path or name one that is there."""
    said = _SPEAKER.sub("", line)
    quoted = dict.fromkeys((*_QUOTED.findall(said), *_LAST.findall(said)))
    words = dict.fromkeys(word.strip(_MARKS) for word in _WORD.findall(said))
    for word in {**quoted, **words}:
        path = os.path.normpath(os.path.join(cwd, word))
        if not word or word.startswith(("-", "http")) or len(path) > LONGEST or "\0" in path:
            continue
        if word in quoted or "/" in word or "." in word.strip(".") or os.path.lexists(path):
            yield path
