"""What the runs of a campaign do: one tale for each step that a run can take, so that none is without a point to die at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_server.records import Choice, RunState
from tests.behaviour.stories import TEAM, agent, calls, says, send

Step = tuple[RunState, RunState]

EFFECT = 'echo "$1" >> effects\n'
"""A tool that leaves a line each time it runs."""

SLOW = 'echo "$1" >> effects\ntouch begun\nn=0; while [ ! -e go ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done\n'
"""The same, and it ends when it may, or after 20 s where nobody is left to let it."""

FILES = {"effect.sh": EFFECT, "slow.sh": SLOW}

SETTINGS: Mapping[str, Any] = {"permission": {"edit": "allow", "bash": {"*": "allow", "sh effect.sh asked*": "ask"}}}


def leave(name: str) -> tuple[str, dict[str, Any]]:
    """A call that leaves a line; with `asked` in front of its name, once a person lets it."""
    return ("bash", {"command": f"sh effect.sh {name}"})


def hold(name: str) -> tuple[str, dict[str, Any]]:
    return ("bash", {"command": f"sh slow.sh {name}"})


WORKS = [calls(leave("one"), leave("two")), calls(leave("three")), says("done")]
ASKS = [calls(leave("asked-one"), leave("free")), calls(leave("asked-two")), says("done")]
QUESTION = ("question", {"questions": [{"question": "Which?", "options": [{"label": "this"}, {"label": "that"}]}]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """What is set up, what the client does, what the person says, and how it may end."""

    script: Mapping[str, list[dict[str, Any]]]
    agents: Mapping[str, str] = field(default_factory=dict[str, str])
    agent: str = "worker"
    """Whom the client sends."""
    steps: frozenset[Step]
    """Steps that its runs take, and for which it is here."""
    choice: Choice = Choice.ALLOW_ONCE
    """What the person answers to each approval."""
    client: Literal["waits", "cancels", "leaves"] = "waits"
    """`cancels` once the run is where `when` says; `leaves`: the server ends in good order there, and another one goes on."""
    when: RunState = RunState.RUNNING
    lazy: bool = False
    """The first delivery of each run is lost."""
    ends: frozenset[RunState] = frozenset({RunState.COMPLETED})
    """How the run that the client began may end."""


WORKER = {"worker": agent()}
HELD = {"text": "done", "await": "ready"}
USUAL = frozenset({(RunState.QUEUED, RunState.RUNNING), (RunState.RUNNING, RunState.RUNNING), (RunState.RUNNING, RunState.COMPLETED)})
WAITS = frozenset({(RunState.RUNNING, RunState.WAITING), (RunState.WAITING, RunState.RUNNING)})
CANCELLED = frozenset({RunState.CANCELLED})

TALES: Mapping[str, Tale] = {
    "works": Tale(script={"worker": WORKS}, agents=WORKER, steps=USUAL),
    "asks": Tale(script={"worker": ASKS}, agents=WORKER, steps=USUAL | WAITS),
    "is denied": Tale(script={"worker": ASKS}, agents=WORKER, steps=USUAL | WAITS, choice=Choice.DENY),
    "asks a question": Tale(script={"worker": [calls(QUESTION, leave("free")), says("done")]}, agents=WORKER, steps=USUAL | WAITS),
    "sends another, who asks": Tale(
        script={"lead": [calls(send("writer"), leave("lead")), says("done")], "writer": ASKS},
        agents=TEAM,
        agent="lead",
        steps=USUAL | WAITS,
    ),
    "fails": Tale(
        script={"worker": [calls(leave("one")), {"fail": "no such luck"}]},
        agents=WORKER,
        steps=frozenset({(RunState.RUNNING, RunState.FAILED)}),
        ends=frozenset({RunState.FAILED}),
    ),
    "reaches its limit": Tale(
        script={"worker": WORKS},
        agents={"worker": agent("steps: 2")},
        steps=frozenset({(RunState.RUNNING, RunState.EXPIRED)}),
        ends=frozenset({RunState.EXPIRED}),
    ),
    "is cancelled at work": Tale(
        script={"worker": [calls(leave("one")), HELD]},
        agents=WORKER,
        steps=frozenset({(RunState.RUNNING, RunState.CANCELLED)}),
        client="cancels",
        ends=CANCELLED,
    ),
    "is cancelled while it waits": Tale(
        script={"lead": [calls(send("writer")), says("done")], "writer": ASKS},
        agents=TEAM,
        agent="lead",
        steps=frozenset({(RunState.WAITING, RunState.CANCELLED)}),
        client="cancels",
        when=RunState.WAITING,
        ends=CANCELLED | {RunState.COMPLETED},  # killed between its call of `task` and the child, it says so and ends
    ),
    "is cancelled before it begins": Tale(
        script={"worker": WORKS},
        agents=WORKER,
        steps=frozenset({(RunState.QUEUED, RunState.CANCELLED)}),
        client="cancels",
        when=RunState.QUEUED,
        lazy=True,
        ends=CANCELLED | {RunState.COMPLETED},
    ),
    "is laid down": Tale(
        script={"worker": [calls(leave("one")), HELD]},
        agents=WORKER,
        steps=frozenset({(RunState.RUNNING, RunState.QUEUED), (RunState.QUEUED, RunState.RUNNING)}),
        client="leaves",
    ),
    "is held in a tool": Tale(script={"worker": [calls(hold("slow"), leave("one")), says("done")]}, agents=WORKER, steps=USUAL),
}
"""By name."""
