"""Runs cases and says how each came out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import assert_never

from mcp_server.cli.cases.reading import PlacedCase
from mcp_server.cli.cases.scenes import Scene, decision_scene, requests_of, spawn_scene
from mcp_server.cli.cases.shell_lines import misses, read_case
from mcp_server.cli.cases.written import (
    DecisionCase,
    ModeCase,
    PolicyCase,
    PolicyFiles,
    RepeatedValue,
    ShellCase,
    SpawnCase,
    WildcardCase,
    WrittenWant,
)
from mcp_server.policy import wildcards
from mcp_server.policy.chain import Commons, Member, authority, effective_mode
from mcp_server.policy.decide import decide
from mcp_server.policy.explain import sentence
from mcp_server.policy.values import Action
from mcp_server.policy.verdicts import SessionId

WIDE_MARGIN = 20
"""How often over `within_ms` counts as a stall: the bound tells linear from exponential, not a fast machine from a slow one."""


class End(StrEnum):
    """How a case came out."""

    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case, run."""

    file: Path
    line: int
    name: str
    end: End
    got: str
    want: str
    why: str = ""
    """The explanation of the verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPolicy:
    """Real settings and definitions, as a case names them."""

    commons: Commons
    members: Callable[[str, SessionId], Member | None]
    """An agent by name; None: nobody defines it."""


Loaders = Callable[[PolicyFiles, Path], LoadedPolicy]
"""Loads what a case names, its paths relative to the folder given. Raises `ConfigError`."""


def run_cases(cases: Sequence[PlacedCase], loaders: Loaders) -> tuple[CaseResult, ...]:
    """Run them all, in their order.

    Raises:
        ConfigError: The files that a case names must not be used as they stand.
    """
    return tuple(_run(case, loaders) for case in cases)


def _run(placed: PlacedCase, loaders: Loaders) -> CaseResult:
    match placed.case:
        case WildcardCase() as case:
            return _wildcard(placed, case)
        case DecisionCase() as case:
            return _decision(placed, decision_scene(case), case.wanted)
        case SpawnCase() as case:
            return _decision(placed, spawn_scene(case), case.wanted)
        case PolicyCase() as case:
            return _policy(placed, case, loaders)
        case ModeCase() as case:
            return _modes(placed, case)
        case ShellCase() as case:
            return _shell(placed, case)
        case _:
            assert_never(placed.case)


def _result(placed: PlacedCase, end: End, got: str, want: str, why: str = "") -> CaseResult:
    return CaseResult(file=placed.file, line=placed.line, name=placed.name, end=end, got=got, want=want, why=why)


def _compared(placed: PlacedCase, got: str, want: str, why: str = "") -> CaseResult:
    return _result(placed, End.PASSED if got == want else End.FAILED, got, want, why)


def _wildcard(placed: PlacedCase, case: WildcardCase) -> CaseResult:
    text = case.value if case.repeat is None else _spelt(case.repeat)
    start = time.perf_counter()
    matched = wildcards.matches(case.pattern, text or "")
    took = (time.perf_counter() - start) * 1000
    if case.within_ms is not None and took > case.within_ms * WIDE_MARGIN:
        return _result(placed, End.FAILED, f"{took:.0f} ms", f"within {case.within_ms:g} ms", "matching stalled")
    words = {True: "match", False: "no match"}
    return _compared(placed, words[matched], words[case.match])


def _spelt(repeat: RepeatedValue) -> str:
    return repeat.unit * repeat.times + repeat.end


def _decision(placed: PlacedCase, scene: Scene, want: WrittenWant) -> CaseResult:
    verdict = decide(authority(scene.chain, scene.commons, scene.rulings), scene.requests)
    got = verdict.action.word
    if want.step is None:
        return _compared(placed, got, want.action, sentence(verdict))
    return _compared(placed, f"{got} at step {verdict.step}", f"{want.action} at step {want.step}", sentence(verdict))


def _modes(placed: PlacedCase, case: ModeCase) -> CaseResult:
    parent = Member(session_id=SessionId("parent"), agent="parent", rules=(), mode=case.modes.parent)
    child = Member(session_id=SessionId("child"), agent="child", rules=(), mode=case.modes.child)
    return _compared(placed, effective_mode((parent, child)), case.want_mode)


def _shell(placed: PlacedCase, case: ShellCase) -> CaseResult:
    start = time.perf_counter()
    read = read_case(case)
    took = (time.perf_counter() - start) * 1000
    want = f"exactly {case.exactly}" if case.exactly else f"at least {case.at_least}"
    if case.within_ms is not None and took > case.within_ms * WIDE_MARGIN:
        return _result(placed, End.FAILED, f"{took:.0f} ms", f"within {case.within_ms:g} ms", "reading stalled")
    verdict = None if read.scene is None else decide(authority(read.scene.chain, read.scene.commons, ()), read.scene.requests)
    action, why = (Action.DENY, read.refusal) if verdict is None else (verdict.action, sentence(verdict))
    right = action.word == case.exactly if case.exactly else action >= Action[(case.at_least or "deny").upper()]
    missed = misses(case, read)
    return _result(placed, End.PASSED if right and not missed else End.FAILED, f"{action.word} {missed}".strip(), want, why)


def _policy(placed: PlacedCase, case: PolicyCase, loaders: Loaders) -> CaseResult:
    loaded = loaders(case.policy, placed.file.parent)
    chain: list[Member] = []
    for place, name in enumerate(case.chain):
        member = loaded.members(name, SessionId(f"session {place}"))
        if member is None:
            return _result(placed, End.FAILED, f"no agent `{name}`", case.wanted.action, "the chain names an agent that nobody defines")
        chain.append(replace(member, mode=case.mode) if place == 0 and case.mode is not None else member)

    def child(name: str) -> Member:
        found = loaded.members(name, SessionId("child"))
        return Member(session_id=SessionId("child"), agent=name, rules=()) if found is None else found

    requests = requests_of(case.asked, tuple(chain), loaded.commons, child, loaded.commons.workspace)
    return _decision(placed, Scene(chain=tuple(chain), commons=loaded.commons, rulings=(), requests=requests), case.wanted)
