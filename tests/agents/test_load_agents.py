"""Where agents are found, and who replaces whom."""

from pathlib import Path

import pytest

from mcp_server.agents.definition import AgentSet
from mcp_server.agents.load import load_agents, package_folder
from mcp_server.errors import ConfigError
from tests.settings.ground import Ground, write

BUILT_IN = ["build", "compaction", "explore", "general", "plan", "summary", "title"]


def load(ground: Ground) -> AgentSet:
    return load_agents(places=ground.places, settings=ground.load())


def agent(folder: Path, name: str, extra: str = "") -> Path:
    return write(folder / f"{name}.md", f"---\ndescription: {name} of {folder.name}\n{extra}---\nyou\n")


def mine(ground: Ground) -> Path:
    return ground.places.config / "agents"


def theirs(ground: Ground) -> Path:
    return ground.workspace / ".remit" / "agents"


def test_the_built_in_roles_are_always_there(ground: Ground):
    found = load(ground)
    assert list(found) == BUILT_IN
    assert {definition.where for definition in found.values()} == {"package"}
    assert found.notices == ()
    assert found["build"].source == str(package_folder() / "build.md")


def test_a_persons_agents_are_added_and_replace_built_in_ones_openly(ground: Ground):
    file = agent(mine(ground), "critic")
    own = agent(mine(ground), "explore")
    found = load(ground)
    assert (found["critic"].where, found["critic"].source) == ("user", str(file))
    assert found["explore"].where == "user"
    assert found["explore"].source == f"{own} (replaces {package_folder() / 'explore.md'})"
    assert found["explore"].permission == ()


def test_a_workspaces_agents_wait_for_trust(ground: Ground):
    agent(theirs(ground), "critic", "permission: {edit: {'src/*': deny}}\n")
    write(theirs(ground) / "broken.md", "not an agent")
    before = load(ground)
    assert "critic" not in before
    assert [str(notice) for notice in before.notices] == [
        f"{theirs(ground)}: 2 agents are not loaded: the workspace is not trusted; read what is there, then run `remit trust`"
    ]
    (theirs(ground) / "broken.md").unlink()
    ground.trust()
    critic = load(ground)["critic"]
    assert critic.where == "workspace"
    assert [(str(rule), rule.anchored, rule.origin) for rule in critic.permission] == [
        ("edit src/* deny", f"{ground.workspace.as_posix()}/src/*", f"{theirs(ground) / 'critic.md'}:3")
    ]
    agent(theirs(ground), "late")
    assert "critic" not in load(ground)
    assert "has changed since it was trusted" in load(ground).notices[0].problem


@pytest.mark.parametrize("name", ["build", "critic"])
def test_a_workspaces_agent_never_replaces_another(ground: Ground, name: str):
    agent(mine(ground), "critic")
    file = agent(theirs(ground), name)
    ground.trust()
    found = load(ground)
    assert found[name].where != "workspace"
    before = found[name].source
    assert [str(notice) for notice in found.notices] == [
        f"{file}: is not loaded: `{name}` is already defined by {before}; give it another name"
    ]


def test_a_workspaces_agent_does_not_fill_the_place_of_a_disabled_one(ground: Ground):
    write(mine(ground) / "explore.md", "---\ndisable: true\n---\n")
    agent(theirs(ground), "explore")
    ground.trust()
    found = load(ground)
    assert "explore" not in found
    assert len(found.notices) == 1


def test_agents_are_disabled_by_their_file_or_by_settings_which_have_the_last_word(ground: Ground):
    agent(mine(ground), "critic", "disable: true\n")
    assert "critic" not in load(ground)
    write(ground.user_file, "agents: {critic: {disable: false}, general: {disable: true}}")
    found = load(ground)
    assert "critic" in found
    assert "general" not in found


def test_settings_set_values_of_an_agent_and_not_its_rules(ground: Ground):
    write(
        ground.user_file,
        "agents: {explore: {model: a:b, steps: 3, timeout: 9, temperature: 0, top_p: 0.5, permission: {bash: allow}}}",
    )
    explore = load(ground)["explore"]
    assert (explore.model, explore.steps, explore.timeout, explore.temperature, explore.top_p) == ("a:b", 3, 9, 0, 0.5)
    assert "bash * allow" not in map(str, explore.permission)


def test_settings_that_name_nobody_are_reported(ground: Ground):
    write(ground.user_file, "agents:\n  exploer: {steps: 3}\n")
    assert [str(notice) for notice in load(ground).notices] == [
        f"{ground.user_file}:2: settings name the agent `exploer`, which is not defined here; mend the name if it is wrong"
    ]


def test_a_job_that_is_given_to_nobody_is_a_fault_with_its_line(ground: Ground):
    write(ground.user_file, "model: a:b\nroles:\n  title: nobody\n")
    with pytest.raises(ConfigError) as caught:
        load(ground)
    assert str(caught.value) == (
        f"{ground.user_file}:3: `roles.title` names the agent `nobody`, which is not defined; "
        "mend the name, or write `agents: {title: {disable: true}}` to go without"
    )


def test_a_job_may_be_left_out_or_given_to_an_agent_of_ones_own(ground: Ground):
    write(ground.user_file, "roles: {title: namer}\nagents: {title: {disable: true}, summary: {disable: true}}\n")
    agent(mine(ground), "namer", "hidden: true\n")
    assert "namer" in load(ground)


def test_faults_of_all_files_come_at_once(ground: Ground):
    one = write(mine(ground) / "one.md", "---\nmodle: x\ndescription: x\n---\nyou\n")
    two = write(mine(ground) / "two.md", "")
    three = write(theirs(ground) / "three.md", "---\ndescription: x\npermission_mode: default\n---\nyou\n")
    four = mine(ground) / "four.md"
    four.write_bytes(b"---\n\xff")
    ground.trust()
    with pytest.raises(ConfigError) as caught:
        load(ground)
    assert [(fault.file, fault.line) for fault in caught.value.faults] == [(str(four), 2), (str(one), 2), (str(two), 1), (str(three), 3)]


def test_other_files_and_folders_below_are_not_read(ground: Ground):
    write(mine(ground) / "notes.txt", "x")
    write(mine(ground) / "deep" / "a.md", "x")
    assert list(load(ground)) == BUILT_IN


def test_a_file_whose_suffix_is_in_capitals_is_not_passed_over(ground: Ground):
    write(mine(ground) / "shout.MD", "---\ndescription: x\n---\nyou")
    assert "shout" in load(ground)
