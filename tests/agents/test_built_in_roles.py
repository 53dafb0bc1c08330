"""What the built-in roles may and may not do, decided by the policy as it is in use."""

import pytest

from mcp_server.agents.load import load_agents
from mcp_server.policy.chain import Member, authority
from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, CommandValue, Mode, PathValue, PlainValue, Request, SpawnValue, Value
from mcp_server.policy.verdicts import SessionId
from mcp_server.policy.widening import widening
from tests.settings.ground import Ground


class Stage:
    """A chain of built-in roles in one workspace."""

    def __init__(self, ground: Ground, mode: Mode = Mode.DEFAULT) -> None:
        self.settings = ground.load()
        self.agents = load_agents(places=ground.places, settings=self.settings)
        self.workspace = ground.workspace.as_posix()
        self.mode = mode

    def member(self, name: str, mode: Mode | None = None) -> Member:
        return Member(session_id=SessionId(name), agent=name, rules=self.agents[name].permission, mode=mode)

    def chain(self, *names: str) -> tuple[Member, ...]:
        return tuple(self.member(name, self.mode if index == 0 else None) for index, name in enumerate(names))

    def path(self, relative: str) -> PathValue:
        resolved = f"{self.workspace}/{relative}"
        return PathValue(resolved=resolved, relative=relative, unresolved=resolved)

    def says(self, names: tuple[str, ...], permission: str, value: Value) -> Action:
        held = authority(self.chain(*names), self.settings.commons)
        return decide(held, (Request(permission=permission, values=(value,)),)).action


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("child", ["explore", "general"])
def test_sending_a_built_in_subagent_from_build_never_widens(ground: Ground, mode: Mode, child: str):
    stage = Stage(ground, mode)
    assert widening(stage.chain("build"), stage.member(child), stage.settings.commons) == ()


@pytest.mark.parametrize("mode", list(Mode))
def test_sending_explore_from_plan_never_widens(ground: Ground, mode: Mode):
    stage = Stage(ground, mode)
    assert widening(stage.chain("plan"), stage.member("explore"), stage.settings.commons) == ()


@pytest.mark.parametrize("mode", list(Mode))
def test_plan_writes_plans_and_nothing_else(ground: Ground, mode: Mode):
    stage = Stage(ground, mode)
    assert stage.says(("plan",), "edit", stage.path("src/a.py")) is Action.DENY
    assert stage.says(("plan",), "edit", stage.path(".remit/settings.yaml")) is Action.DENY
    assert stage.says(("plan",), "edit", stage.path(".remit/plans/a.md")) is Action.ALLOW
    assert stage.says(("plan",), "edit", stage.path(".remit/plans/a.sh")) is Action.DENY


@pytest.mark.parametrize("mode", list(Mode))
def test_plans_ban_on_editing_binds_its_children_and_its_exception_does_not_reach_them(ground: Ground, mode: Mode):
    stage = Stage(ground, mode)
    for child in ("explore", "general"):
        assert stage.says(("plan", child), "edit", stage.path("src/a.py")) is Action.DENY
        assert stage.says(("plan", child), "edit", stage.path(".remit/plans/a.md")) is Action.DENY


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("line", ["rm -rf src", "ls", "tee a.py"])
def test_plan_and_its_children_never_reach_the_shell_unasked(ground: Ground, mode: Mode, line: str):
    stage = Stage(ground, mode)
    command = CommandValue(text=line, effects_known=True, read_only=line == "ls")
    assert stage.says(("plan",), "bash", command) is not Action.ALLOW
    assert stage.says(("plan", "general"), "bash", command) is not Action.ALLOW
    assert stage.says(("plan",), "bash", CommandValue(text=line)) is not Action.ALLOW


def test_plan_sends_explore_and_no_writer(ground: Ground):
    stage = Stage(ground, Mode.BYPASS)
    assert stage.says(("plan",), "task", SpawnValue(text="explore")) is Action.ALLOW
    assert stage.says(("plan",), "task", SpawnValue(text="general")) is Action.DENY
    assert stage.says(("plan",), "task", SpawnValue(text="somebody-elses")) is Action.DENY


@pytest.mark.parametrize("permission", ["read", "list", "glob", "grep"])
def test_explore_reads_lists_and_searches_without_asking(ground: Ground, permission: str):
    assert Stage(ground).says(("build", "explore"), permission, Stage(ground).path("src/a.py")) is Action.ALLOW


def test_explore_still_asks_for_secrets(ground: Ground):
    stage = Stage(ground, Mode.BYPASS)
    assert stage.says(("build", "explore"), "read", stage.path(".env")) is Action.ASK


@pytest.mark.parametrize("mode", list(Mode))
def test_explore_changes_nothing_and_sends_nobody(ground: Ground, mode: Mode):
    stage = Stage(ground, mode)
    line = ("build", "explore")
    assert stage.says(line, "edit", stage.path("a.py")) is Action.DENY
    assert stage.says(line, "task", SpawnValue(text="explore")) is Action.DENY
    assert stage.says(line, "gh__create", PlainValue(text="*")) is Action.DENY
    assert stage.says(line, "bash", CommandValue(text="make")) is Action.DENY, "without a sandbox nobody knows what it changes"


@pytest.mark.parametrize("mode", list(Mode))
def test_explore_looks_with_the_shell_and_runs_what_the_sandbox_holds_as_its_caller_may(ground: Ground, mode: Mode):
    stage = Stage(ground, mode)
    line = ("build", "explore")
    assert stage.says(line, "bash", CommandValue(text="ls", read_only=True, effects_known=True)) is Action.ALLOW
    held = CommandValue(text="make", effects_known=True)
    assert stage.says(line, "bash", held) is stage.says(("build",), "bash", held)
    outside = PathValue(resolved="/srv/x", relative=None, unresolved="/srv/x")
    assert stage.says(line, "external_directory", outside) is stage.says(("build",), "external_directory", outside)


def test_fetching_asks_in_every_mode_that_may_ask(ground: Ground):
    address = PlainValue(text="https://example.org/")
    said = {mode: Stage(ground, mode).says(("build", "explore"), "webfetch", address) for mode in Mode}
    assert said == {Mode.DONT_ASK: Action.DENY, Mode.DEFAULT: Action.ASK, Mode.ACCEPT_EDITS: Action.ASK, Mode.BYPASS: Action.ASK}


@pytest.mark.parametrize("mode", list(Mode))
def test_general_may_do_what_build_may_but_spawn_and_keep_a_todo_list(ground: Ground, mode: Mode):
    stage = Stage(ground, mode)
    values: dict[str, Value] = {"edit": stage.path("a.py"), "read": stage.path("a.py"), "bash": CommandValue(text="make")}
    for permission, value in values.items():
        assert stage.says(("build", "general"), permission, value) is stage.says(("build",), permission, value)
    assert stage.says(("build", "general"), "todowrite", PlainValue(text="*")) is Action.DENY
    assert stage.says(("build", "general"), "task", SpawnValue(text="explore")) is Action.DENY


@pytest.mark.parametrize("name", ["compaction", "title", "summary"])
def test_the_small_jobs_are_hidden_shown_nothing_and_may_do_nothing(ground: Ground, name: str):
    stage = Stage(ground, Mode.BYPASS)
    definition = stage.agents[name]
    assert (definition.hidden, definition.tools) == (True, ())
    for permission in ("read", "edit", "list"):
        assert stage.says(("build", name), permission, stage.path("a")) is Action.DENY
    assert stage.says(("build", name), "bash", CommandValue(text="ls", read_only=True, effects_known=True)) is Action.DENY


def test_roots_run_as_build_or_plan_and_the_rest_are_sent(ground: Ground):
    agents = Stage(ground).agents
    assert {name: definition.mode for name, definition in agents.items() if not definition.hidden} == {
        "build": "primary",
        "plan": "primary",
        "explore": "subagent",
        "general": "subagent",
    }


def test_the_roles_that_settings_name_by_default_exist(ground: Ground):
    stage = Stage(ground)
    roles = stage.settings.roles
    assert {stage.settings.agent, roles.summary, roles.title, roles.compaction} <= set(stage.agents)
