"""A universe too large to walk: arbitrary rules, chains, shared layers, rulings and requests, drawn at random."""

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from mcp_server.policy.chain import Commons, Member
from mcp_server.policy.guard import guard_rules
from mcp_server.policy.values import AskRef, Mode, PlainValue, Reach, Request, Rule, SpawnValue, Value
from mcp_server.policy.verdicts import Ruling, RulingId, SessionId
from tests.policy.universe import HOME, WORKSPACE, command, path, rule

PERMISSIONS = ["edit", "read", "bash", "webfetch", "task", "external_directory", "git__push", "todowrite", "*", "e*", "git__*", "?ead"]

PATTERNS = [
    "*",
    "src/*",
    "src/a.py",
    "*.py",
    "/srv/*",
    "git *",
    "git push",
    "make",
    "*.env",
    "explore",
    "writer",
    "https://a/*",
    "?*",
    "docs/*",
]

ACTIONS = ["allow", "allow", "ask", "deny"]


def written(permission: str, pattern: str, action: str, mark: str) -> Rule:
    return rule(f"{permission} {pattern} {action}{mark}")


def rules_of(*marks: str) -> st.SearchStrategy[Rule]:
    return st.builds(
        written, st.sampled_from(PERMISSIONS), st.sampled_from(PATTERNS), st.sampled_from(ACTIONS), st.sampled_from(["", "", *marks])
    )


SHARED_RULES = st.lists(rules_of(), max_size=3).map(tuple)
AGENT_RULES = st.lists(rules_of(" self"), max_size=5).map(tuple)
MODES = st.sampled_from([None, *Mode])
CLOSERS = st.builds(written, st.sampled_from(PERMISSIONS), st.sampled_from(PATTERNS), st.sampled_from(["ask", "deny"]), st.just(""))

VALUES: list[tuple[str, Value]] = [
    *((permission, path(text)) for permission in ("edit", "read") for text in ("src/a.py", "docs/b.md", "a.env", "/srv/x.py")),
    ("read", path("src/a.py", unresolved="docs/link")),
    ("external_directory", path("/srv/x.py")),
    ("bash", command("git push")),
    ("bash", command("make", effects_known=False)),
    ("bash", command("time git push", "git push", effects_known=False)),
    ("bash", command("git $X", opaque=True, effects_known=False)),
    ("bash", command("ls", read_only=True)),
    ("webfetch", PlainValue(text="https://a/b")),
    ("task", SpawnValue(text="explore")),
    ("task", SpawnValue(text="writer", widening=("edit *",))),
    ("git__push", PlainValue(text="*")),
    ("todowrite", PlainValue(text="*")),
    ("question", PlainValue(text="*")),
    ("doom_loop", PlainValue(text="grep")),
]

REQUESTS = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(
    lambda asked: tuple(Request(permission=permission, values=(value,)) for permission, value in asked)
)


@dataclass(frozen=True, kw_only=True)
class World:
    """All that one decision takes."""

    chain: tuple[Member, ...]
    commons: Commons
    rulings: tuple[Ruling, ...]
    requests: tuple[Request, ...]

    def shorter(self) -> "World":
        """As the parent of the last session would see it."""
        return replace(self, chain=self.chain[:-1])


def member_at(
    place: int, rules: tuple[Rule, ...], mode: Mode | None, managed: tuple[Rule, ...], narrowed: tuple[str, ...] | None
) -> Member:
    return Member(
        session_id=SessionId(f"s{place}"),
        agent=f"agent{place}",
        rules=rules,
        mode=mode,
        managed=managed,
        narrowed=narrowed if place else None,
    )


@st.composite
def chains(draw: st.DrawFn, least: int = 1) -> tuple[Member, ...]:
    length = draw(st.integers(least, 4))
    narrowed = st.sampled_from([None, None, None, ("read", "bash"), ("edit", "write", "task", "webfetch")])
    managed = st.sampled_from([(), (), (rule("bash * ask"),), (rule("edit docs/* deny"),), (rule("read * allow"),)])
    return tuple(member_at(i, draw(AGENT_RULES), draw(MODES), draw(managed), draw(narrowed)) for i in range(length))


@st.composite
def commons(draw: st.DrawFn) -> Commons:
    return Commons(
        workspace=WORKSPACE,
        managed=draw(SHARED_RULES),
        person=draw(SHARED_RULES),
        project=draw(SHARED_RULES),
        project_trusted=draw(st.booleans()),
        guard=guard_rules(WORKSPACE, HOME, f"{HOME}/state") if draw(st.booleans()) else (),
        primary_tools=draw(st.sampled_from([(), (), ("webfetch",)])),
        max_mode=draw(MODES),
    )


@st.composite
def rulings_for(draw: st.DrawFn, chain: tuple[Member, ...], shared: Commons) -> tuple[Ruling, ...]:
    made: list[Ruling] = []
    for number in range(draw(st.integers(0, 3))):
        answers = draw(st.lists(st.sampled_from(every_ask(chain, shared)), max_size=6))
        reach = draw(st.sampled_from(list(Reach)))
        made.append(
            Ruling(
                id=RulingId(f"r{number}"),
                session_id=draw(st.sampled_from(chain)).session_id,
                reach=reach,
                rule=draw(rules_of()),
                answers=tuple(answers) if draw(st.booleans()) else every_ask(chain, shared),
                digest="digest" if reach is Reach.ONCE else None,
            )
        )
    return tuple(made)


def every_ask(chain: tuple[Member, ...], shared: Commons) -> tuple[AskRef, ...]:
    silence = tuple(AskRef(owner="silence", rule=permission) for permission, _ in VALUES)
    lists = [("managed settings", shared.managed), ("user settings", shared.person), ("project settings", shared.project)]
    lists += [(f"agent {each.agent}", each.rules) for each in chain]
    return (*silence, *(AskRef(owner=owner, rule=str(r)) for owner, rules in lists for r in rules if r.action.word == "ask"))


@st.composite
def worlds(draw: st.DrawFn, least: int = 1) -> World:
    chain, shared = draw(chains(least)), draw(commons())
    return World(chain=chain, commons=shared, rulings=draw(rulings_for(chain, shared)), requests=draw(REQUESTS))
