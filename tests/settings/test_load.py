"""Settings of many sources, together."""

import os
from dataclasses import replace

import pytest

from mcp_server.policy.values import Action, Mode
from mcp_server.settings.trust import Trust
from mcp_server.settings.values import AgentTuning, Flags
from tests.settings.ground import Ground, write


def rules(found: tuple[object, ...]) -> list[str]:
    return [str(rule) for rule in found]


def test_without_any_file_everything_has_its_default(ground: Ground):
    settings = ground.load()
    assert (settings.agent, settings.mode, settings.model, settings.tools) == ("build", Mode.DEFAULT, None, None)
    assert (settings.limits.depth, settings.limits.children, settings.limits.steps) == (2, 8, 50)
    assert (settings.limits.prompt_deadline, settings.limits.task_wait) == (600, 45)
    assert settings.commons.workspace == ground.workspace.as_posix()
    assert (settings.commons.managed, settings.commons.person, settings.commons.project) == ((), (), ())
    assert settings.trust is Trust.NEVER
    assert (settings.notices, settings.sources, dict(settings.origins)) == ((), (), {})


def test_rules_of_each_source_go_to_its_layer_in_order(ground: Ground):
    write(ground.managed_file, "permission: {bash: {'rm *': deny}}")
    write(ground.places.managed / "settings.d" / "20.yaml", "permission: {edit: ask}")
    write(ground.places.managed / "settings.d" / "10.yaml", "permission: {edit: deny}")
    write(ground.user_file, "permission: {bash: ask}")
    write(ground.local_file, "permission: {bash: deny}")
    write(ground.project_file, "permission: {read: allow}")
    ground.trust()
    flags = Flags(rules=((Action.DENY, "bash(x *)"), (Action.ALLOW, "bash(x y)")))
    commons = ground.load(flags).commons
    assert rules(commons.managed) == ["bash rm * deny", "edit * deny", "edit * ask"]
    assert rules(commons.person) == ["bash * ask", "bash * deny", "bash x * deny", "bash x y allow"]
    assert rules(commons.project) == ["read * allow"]
    assert commons.project_trusted
    assert commons.person[0].origin == f"{ground.user_file}:1"


def test_patterns_of_paths_are_anchored_at_the_workspace_and_the_home_folder(ground: Ground):
    write(
        ground.user_file, "permission:\n  edit: {'src/*': deny, '~/notes': ask, '/srv/x': allow, '*.pem': deny}\n  bash: {'src/*': ask}\n"
    )
    person = ground.load().commons.person
    assert [rule.anchored for rule in person] == [
        f"{ground.workspace.as_posix()}/src/*",
        f"{ground.places.home.as_posix()}/notes",
        None,
        None,
        None,
    ]


def test_a_single_value_is_taken_from_the_nearest_source(ground: Ground):
    write(ground.managed_file, "model: a:managed\nlimits: {depth: 1, steps: 1, timeout: 1}")
    assert ground.load().model == "a:managed"
    write(ground.project_file, "model: a:project")
    ground.trust()
    assert ground.load().model == "a:project"
    write(ground.user_file, "model: a:user\nlimits: {depth: 3, steps: 3}")
    assert ground.load().model == "a:user"
    write(ground.local_file, "model: a:local\nlimits: {depth: 4}")
    ground.trust()
    settings = ground.load()
    assert (settings.model, settings.limits.depth, settings.limits.steps, settings.limits.timeout) == ("a:local", 4, 3, 1)
    assert ground.load(Flags(model="a:cli")).model == "a:cli"
    assert settings.origins["limits.steps"] == f"{ground.user_file}:2"
    assert ground.load(Flags(model="a:cli")).origins["model"] == "--model"


def test_what_managed_settings_lock_nobody_changes(ground: Ground):
    write(ground.managed_file, "limits: {depth: 1}\nlock: [limits.depth, mode, agents.build.steps]")
    write(ground.user_file, "limits: {depth: 5, steps: 9}\nagents: {build: {steps: 3, timeout: 4}}\nmode: bypassPermissions")
    settings = ground.load(Flags(mode="acceptEdits"))
    assert (settings.limits.depth, settings.limits.steps, settings.mode) == (1, 9, Mode.DEFAULT)
    assert (settings.tuning("build").steps, settings.tuning("build").timeout) == (None, 4)
    remedy = "remove it, or ask who runs this machine"
    assert sorted(map(str, settings.notices)) == [
        f"--mode: `mode` is not used: managed settings lock `mode`; {remedy}",
        f"{ground.user_file}:1: `limits.depth` is not used: managed settings lock `limits.depth`; {remedy}",
        f"{ground.user_file}:2: `agents.build.steps` is not used: managed settings lock `agents.build.steps`; {remedy}",
        f"{ground.user_file}:3: `mode` is not used: managed settings lock `mode`; {remedy}",
    ]


@pytest.mark.parametrize(("theirs", "mine", "holds"), [(600, 7200, 600), (600, 60, 60), (86400, 7200, 7200), (None, 86400, 86400)])
def test_nobody_lengthens_how_long_an_allow_stands_past_what_managed_settings_say(
    ground: Ground, theirs: int | None, mine: int, holds: int
):
    if theirs is not None:
        write(ground.managed_file, f"rulings: {{allow_expiry: {theirs}}}")
        write(ground.places.managed / "settings.d" / "a.yaml", "rulings: {allow_expiry: 100000}")
    write(ground.user_file, f"rulings: {{allow_expiry: {mine}}}")
    assert ground.load().rulings.allow_expiry == holds


def test_locking_a_block_locks_all_in_it(ground: Ground):
    write(ground.managed_file, "lock: [limits]")
    write(ground.user_file, "limits: {depth: 5}")
    assert ground.load().limits.depth == 2


def test_of_several_caps_on_the_mode_the_strictest_holds(ground: Ground):
    write(ground.managed_file, "max_mode: default")
    write(ground.places.managed / "settings.d" / "a.yaml", "max_mode: bypassPermissions")
    assert ground.load().commons.max_mode is Mode.DEFAULT


def test_primary_tools_of_all_sources_add_up(ground: Ground):
    write(ground.managed_file, "primary_tools: [webfetch]")
    write(ground.user_file, "primary_tools: [bash, webfetch]")
    write(ground.project_file, "primary_tools: [edit]")
    assert ground.load().commons.primary_tools == ("webfetch", "bash", "edit")


def test_an_empty_list_of_tools_is_no_tools(ground: Ground):
    write(ground.user_file, "tools: []")
    assert ground.load().tools == ()
    assert ground.load(Flags(tools="")).tools == ()
    assert ground.load(Flags(tools="read, gh__x")).tools == ("read", "gh__x")


def test_settings_of_an_agent_keep_the_persons_rules_apart_from_the_operators(ground: Ground):
    write(ground.managed_file, "agents: {build: {permission: {bash: ask}, model: a:b, steps: 5}}")
    write(ground.user_file, "agents:\n  build: {permission: {edit: {'x/*': deny}}, steps: 6}\n  other: {disable: true}\n")
    settings = ground.load()
    build = settings.tuning("build")
    assert (rules(build.managed), rules(build.person), build.model, build.steps) == (["bash * ask"], ["edit x/* deny"], "a:b", 6)
    assert build.person[0].anchored == f"{ground.workspace.as_posix()}/x/*"
    assert (settings.tuning("other").disable, settings.tuning("other").origin) == (True, f"{ground.user_file}:3")
    assert settings.tuning("nobody") == AgentTuning()


def test_the_model_of_an_agent_is_its_own_then_the_small_then_the_default(ground: Ground):
    write(ground.user_file, "model: a:big\nsmall_model: a:small")
    settings = ground.load()
    assert settings.model_for("a:own", hidden=True) == "a:own"
    assert settings.model_for(None, hidden=True) == "a:small"
    assert settings.model_for(None, hidden=False) == "a:big"


# ---- the guard ----------------------------------------------------------------------------------


def test_the_guard_stands_and_edits_come_behind_it(ground: Ground):
    plain = ground.load().commons.guard
    write(ground.user_file, "guard: {read: {'*/fixtures/.env': allow}}")
    write(ground.managed_file, "guard: {edit: {'*/Makefile': ask}}")
    guard = ground.load().commons.guard
    assert plain
    assert guard[: len(plain)] == plain
    assert rules(guard[len(plain) :]) == ["read */fixtures/.env allow", "edit */Makefile ask"]


def test_the_guard_closes_the_state_folder_and_watches_the_settings(ground: Ground):
    guard = rules(ground.load().commons.guard)
    assert f"edit {ground.places.state}/* deny" in guard
    assert f"edit {ground.places.config}/* ask" in guard
    assert f"edit {ground.places.managed}/* ask" in guard


def test_a_locked_guard_entry_is_not_loosened_but_may_be_tightened(ground: Ground):
    write(ground.user_file, "guard: {read: {'*': allow, '*.key': deny}, edit: {'*/.vscode/*': allow}}")
    write(ground.managed_file, "lock: [guard.read]")
    guard = rules(ground.load().commons.guard)
    assert guard.index("read * allow") < len(guard) - 1 - guard[::-1].index("read */.env* ask")
    assert guard[-1] == "read *.key deny"
    assert guard.index("edit */.vscode/* allow") > guard.index("edit */.vscode/* ask")
    assert guard.count("edit */.vscode/* ask") == 1


# ---- trust and local settings -------------------------------------------------------------------


def test_of_an_untrusted_workspace_only_rules_are_kept_and_it_is_said(ground: Ground):
    write(ground.project_file, "permission: {bash: allow, edit: deny}\nmodel: evil:model\n")
    settings = ground.load()
    assert rules(settings.commons.project) == ["bash * allow", "edit * deny"]
    assert not settings.commons.project_trusted
    assert settings.model is None
    assert [str(notice) for notice in settings.notices] == [
        f"{ground.project_file}: the workspace is not trusted: of this file only deny and ask rules are heard; "
        "read it, then run `remit trust`"
    ]


def test_a_change_takes_the_trust_away(ground: Ground):
    write(ground.project_file, "model: a:b")
    ground.trust()
    assert ground.load().model == "a:b"
    write(ground.project_file, "model: a:c")
    settings = ground.load()
    assert (settings.trust, settings.model) == (Trust.CHANGED, None)
    assert "has changed since it was trusted" in settings.notices[0].problem


def test_local_settings_of_an_untrusted_workspace_count_as_the_projects(ground: Ground):
    write(ground.local_file, "permission: {bash: allow}\nagents: {build: {permission: {edit: allow}}}\nmodel: a:b\n")
    settings = ground.load()
    assert (rules(settings.commons.person), rules(settings.commons.project)) == ([], ["bash * allow"])
    assert (settings.model, dict(settings.agents)) == (None, {})


def test_local_settings_under_version_control_count_as_the_projects(ground: Ground):
    (ground.workspace / ".git").mkdir()  # no repository that git would accept: a doubt
    write(ground.local_file, "permission: {bash: ask}\nmodel: a:b\n")
    ground.trust()
    settings = ground.load()
    assert (rules(settings.commons.person), rules(settings.commons.project)) == ([], ["bash * ask"])
    write(ground.local_file, "limits: {depth: 3}\n")
    assert [str(fault) for fault in ground.faults()] == [
        f"{ground.local_file}:1: `limits` is never read from a workspace; "
        "keep this file out of version control and it counts as yours, or move the key to your own settings"
    ]


# ---- faults -------------------------------------------------------------------------------------

OWN = "move it to settings.yaml in your own configuration folder"
MODES = "it should be 'dontAsk', 'default', 'acceptEdits' or 'bypassPermissions'"
NAME = "use lower-case letters, digits and -, at most 40, a letter or digit first"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("\nmodle: a:b", "2: unknown key `modle`; did you mean `mode`?"),
        ("Permission: {}", "1: unknown key `Permission`; did you mean `permission`?"),
        ("permissions: {allow: [x]}", "1: unknown key `permissions`; write `permission: {edit: ask, bash: {'git *': allow}}`"),
        ("defaultMode: plan", "1: unknown key `defaultMode`; write `mode`"),
        ("limits:\n  dept: 1", "2: unknown key `dept`; did you mean `depth`?"),
        ("limits:\n  depth: two", "2: `limits.depth` has a value that does not fit; write a whole number"),
        ("limits:\n  depth: 1.5", "2: `limits.depth` has a value that does not fit; write a whole number"),
        ("limits:\n  depth: true", "2: `limits.depth` has a value that does not fit; write a whole number"),
        ("limits:\n  depth: 99", "2: `limits.depth` has a value that does not fit; it should be less than or equal to 8"),
        ("limits:\n  timeout: 0", "2: `limits.timeout` has a value that does not fit; it should be greater than 0"),
        ("limits: 3", "1: `limits` has a value that does not fit; write a map"),
        ("limits: {depth: }", "1: `depth` has no value; write one ([] for an empty list), or remove the key"),
        ("tools:", "1: `tools` has no value; write one ([] for an empty list), or remove the key"),
        ("tools: read", "1: `tools` has a value that does not fit; write a list: [one, two]"),
        ("tools:\n  - read\n  - Grep", "3: `Grep` is not a tool (in `tools.1`); did you mean `grep`?"),
        ("mode: plan", f"1: `mode` has a value that does not fit; {MODES}"),
        ("model: sonnet", "1: `model` is not of the form provider:model; write it so, e.g. anthropic:claude-sonnet-5"),
        ("model: 7", "1: `model` has a value that does not fit; write text, in quotes if it could be read as a number"),
        ("agent: Build", f"1: `agent` is not a name; {NAME}"),
        ("agents:\n  Build: {}", f"2: `agents.Build` is not a name; {NAME}"),
        ("agents:\n  build:\n    stps: 3", "3: unknown key `stps`; did you mean `steps`?"),
        ("agents:\n  build:\n    permission: {edit: nope}", "3: `nope` is not an action; write allow, ask or deny"),
        ("agents:\n  build: {disable: yes}", "2: `agents.build.disable` has a value that does not fit; write true or false"),
        ("providers:\n  p: {api_key: sk-1}", "2: unknown key `api_key`; did you mean `api_key_env`?"),
        (
            "providers:\n  p: {api_key_env: sk-live-1}",
            "2: `providers.p.api_key_env` is not the name of an environment variable; put the key into one, and write its name here",
        ),
        (
            "providers:\n  p: {base_url: 'https://u:secret@h/v1'}",
            "2: `providers.p.base_url` holds a user, a password or a query; remove it: keys come by `api_key_env` or `api_key_file`",
        ),
        (
            "providers:\n  p: {base_url: h/v1}",
            "2: `providers.p.base_url` is not an http or https address; write it whole, e.g. https://models.example.org/v1",
        ),
        (
            "api_key: x",
            "1: unknown key `api_key`; write `providers: {<name>: {api_key_env: <variable>}}`; a key itself is never written here",
        ),
        ("max_mode: default", "1: `max_mode` is for managed settings alone; remove it here"),
        ("lock: [mode]", "1: `lock` is for managed settings alone; remove it here"),
        ("guard:\n  raed: ask", "2: `raed` is not a permission; did you mean `read`?"),
        (
            "guard: [{permission: read, action: deny, scope: self}]",
            "1: `scope: self` has no meaning in settings; use it in agent definitions only; remove it here",
        ),
        ("- a", "1: the file is not a map of keys; write `key: value` lines"),
        ("mode: default\nmode: dontAsk", "2: the key `mode` stands twice, first on line 1; keep one of them"),
        ("permission:\n  *: deny", '2: not YAML: a bare * starts a word; put the pattern in quotes: "*"'),
        ("permission: {no: deny}", '1: the key `no` is read as true or false by some; put quotes around it: "no"'),
    ],
)
def test_a_fault_in_a_persons_file_has_its_line_and_remedy(ground: Ground, text: str, fault: str):
    write(ground.user_file, text)
    said = [str(each) for each in ground.faults()]
    assert f"{ground.user_file}:{fault}" in said
    assert len(said) == (2 if "no:" in text else 1)


def test_no_secret_that_stands_in_the_wrong_place_is_repeated(ground: Ground):
    write(
        ground.user_file,
        "providers:\n  p: {api_key: sk-hidden, api_key_env: sk-hidden, base_url: 'https://u:sk-hidden@h'}\nmodel: [sk-hidden]",
    )
    faults = ground.faults()
    assert len(faults) == 4
    assert "sk-hidden" not in str(faults)


@pytest.mark.parametrize(
    "key",
    [
        "mode: default",
        "max_mode: default",
        "agent: build",
        "guard: {read: ask}",
        "providers: {}",
        "limits: {}",
        "sandbox: none",
        "channels: [console]",
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_what_is_never_read_from_a_workspace_is_a_fault_there(ground: Ground, key: str, trusted: bool):
    write(ground.project_file, f"permission: {{}}\n{key}\n")
    if trusted:
        ground.trust()
    faults = ground.faults()
    assert [(fault.file, fault.line) for fault in faults] == [(str(ground.project_file), 2)]
    assert "never read from a workspace" in faults[0].problem or "for managed settings alone" in faults[0].problem


@pytest.mark.parametrize("key", ["servers", "mcpServers", "base_url", "api_key"])
def test_keys_of_other_tools_that_reach_out_are_named_in_a_workspace(ground: Ground, key: str):
    write(ground.project_file, f"{key}: {{}}\n")
    assert [str(fault) for fault in ground.faults()] == [f"{ground.project_file}:1: `{key}` is never read from a workspace; {OWN}"]


def test_all_faults_of_all_files_and_flags_come_at_once(ground: Ground):
    write(ground.managed_file, "lock: [permission, limits.dept]")
    write(ground.user_file, "a: 1\nb: 2\n")
    write(ground.project_file, "mode: default\n")
    write(ground.local_file, "c: 1\n")
    flags = Flags(mode="x", tools="Read", model="y", rules=((Action.ALLOW, "Bash"),))
    assert [fault.file for fault in ground.faults(flags)] == [
        *[str(ground.user_file)] * 2,
        str(ground.project_file),
        str(ground.local_file),
        *["command line"] * 3,
        "command line, --allow",
        *[str(ground.managed_file)] * 2,
    ]


def test_locks_that_hold_nothing_are_faults(ground: Ground):
    write(
        ground.managed_file,
        "lock:\n  - permission\n  - limits.dept\n  - agents.build.permission\n  - limits.\n  - guard.read\n  - providers.work\n",
    )
    assert [(fault.line, fault.problem) for fault in ground.faults()] == [
        (2, "`permission` cannot be locked"),
        (3, "`limits.dept` cannot be locked"),
        (4, "`agents.build.permission` cannot be locked"),
        (5, "`limits.` cannot be locked"),
    ]


@pytest.mark.parametrize("name", ["settings.yml", "settings.json"])
def test_a_file_under_a_name_that_is_not_read_is_a_fault(ground: Ground, name: str):
    places = (ground.places.config, ground.places.managed, ground.workspace / ".remit", ground.places.managed / "settings.d")
    files = [write(folder / name, "permission: {bash: deny}") for folder in places]
    assert sorted(fault.file for fault in ground.faults()) == sorted(map(str, files))


def test_a_file_that_is_no_text_stops_the_start(ground: Ground):
    ground.user_file.write_bytes(b"mode: default\nmodel: \xff\n")
    assert [str(fault) for fault in ground.faults()] == [f"{ground.user_file}:2: is not UTF-8 text; save it as UTF-8"]
    ground.user_file.unlink()
    ground.user_file.mkdir()
    assert [str(fault) for fault in ground.faults()] == [f"{ground.user_file}: is not a regular file; put a text file there, or remove it"]


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_file_that_cannot_be_read_stops_the_start(ground: Ground):
    ground.user_file.symlink_to(ground.user_file)  # not even root can read that
    assert [fault.problem for fault in ground.faults()] == ["cannot be read: too many levels of symbolic links"]


@pytest.mark.skipif(os.name != "posix", reason="pipes in the file system")
def test_a_pipe_in_a_files_place_does_not_stop_the_start_for_ever(ground: Ground):
    os.mkfifo(ground.user_file)
    assert [fault.problem for fault in ground.faults()] == ["is not a regular file"]


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_managed_files_that_others_may_write_are_not_heard(ground: Ground):
    write(ground.managed_file, "permission: {bash: allow}").chmod(0o666)
    (ground.places.managed / "settings.d").chmod(0o777)
    remedy = "give it to root (`chown root`) and close it to others (`chmod go-w`)"
    assert [str(fault) for fault in ground.faults()] == [
        f"{ground.places.managed / 'settings.d'}: holds managed settings but others may write it; {remedy}",
        f"{ground.managed_file}: holds managed settings but others may write it; {remedy}",
    ]


@pytest.mark.skipif(os.name != "posix", reason="POSIX owners")
def test_managed_files_of_somebody_else_are_not_heard(ground: Ground):
    write(ground.managed_file, "permission: {bash: allow}")
    other = replace(ground, places=replace(ground.places, managed_owner=ground.places.managed_owner + 1))
    assert {fault.file for fault in other.faults()} == {
        str(ground.managed_file),
        str(ground.places.managed),
        str(ground.places.managed / "settings.d"),
    }


def test_a_byte_order_mark_is_no_fault(ground: Ground):
    ground.user_file.write_bytes(b"\xef\xbb\xbfmodel: a:b\n")
    assert ground.load().model == "a:b"


def test_what_was_read_is_listed_weakest_first(ground: Ground):
    for file in (ground.managed_file, ground.user_file, ground.project_file, ground.local_file):
        write(file, "permission: {}")
    ground.trust()
    assert [(each.source, each.file) for each in ground.load().sources] == [
        ("managed", str(ground.managed_file)),
        ("project", str(ground.project_file)),
        ("user", str(ground.user_file)),
        ("local", str(ground.local_file)),
    ]
