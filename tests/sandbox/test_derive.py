from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_server.policy.decide import decide
from mcp_server.policy.values import Action, AskRef, Mode, Reach, Request
from mcp_server.policy.verdicts import Ruling, RulingId, SessionId
from mcp_server.sandbox.derive import Approval
from mcp_server.sandbox.profile import Access
from mcp_server.sandbox.regions import path_value
from tests.sandbox.drawing import HOME, TEMPORARY, WORKSPACE, Scene, paths, rule, rules, scene

EDITS = AskRef(owner="agent agent0", rule="edit * ask")
"""What a person lifts who is told that a line may write in the workspace, where that rule asks."""


def test_a_session_that_may_not_edit_writes_only_its_temporary_folder() -> None:
    profile = scene("* * deny", "read * allow", "bash * allow").profile()
    assert profile.read_only
    assert profile.access(TEMPORARY) is Access.WRITE
    assert profile.access(f"{WORKSPACE}/a") is Access.READ
    assert profile.why_read_only == "agent agent0: * * deny"


def test_where_edit_asks_nothing_is_written_unless_a_person_approved_the_line() -> None:
    asking = scene("edit * ask")
    assert asking.profile().read_only
    approved = replace(asking, approval=Approval(lifted=frozenset({EDITS}))).profile()
    assert approved.access(f"{WORKSPACE}/a") is Access.WRITE


def test_no_approval_opens_what_is_denied() -> None:
    denied = scene(
        "edit * deny",
        approval=Approval(
            lifted=frozenset({AskRef(owner="agent agent0", rule="edit * deny"), EDITS}), written=(f"{WORKSPACE}/a",), network=True
        ),
    )
    assert denied.profile().read_only


@pytest.mark.parametrize(
    ("mode", "writes"), [(Mode.DEFAULT, False), (Mode.ACCEPT_EDITS, True), (Mode.BYPASS, True), (Mode.DONT_ASK, False)]
)
def test_silence_is_answered_by_the_mode(mode: Mode, writes: bool) -> None:
    assert scene(mode=mode).profile().read_only is not writes


def test_a_ruling_for_all_edits_opens_the_workspace_and_one_for_a_single_file_does_not() -> None:
    whole = Ruling(
        id=RulingId("r"),
        session_id=SessionId("s0"),
        reach=Reach.SESSION,
        rule=rule("edit * allow"),
        answers=(AskRef(owner="silence", rule="edit"),),
    )
    assert scene(rulings=(whole,)).profile().access(f"{WORKSPACE}/b") is Access.WRITE
    assert scene(rulings=(replace(whole, rule=rule("edit a.txt allow")),)).profile().access(f"{WORKSPACE}/b") is Access.READ


def test_scoped_rules_give_scoped_mounts() -> None:
    profile = scene("edit * deny", "edit src/* allow", "edit src/keep/* deny").profile()
    assert paths(profile.writable) == [f"{WORKSPACE}/src"]
    assert f"{WORKSPACE}/src/keep" in paths(profile.protected)
    assert profile.access(f"{WORKSPACE}/src/a") is Access.WRITE
    assert profile.access(f"{WORKSPACE}/src/keep/a") is Access.READ
    assert profile.access(f"{WORKSPACE}/a") is Access.READ


def test_protected_paths_are_read_only_also_where_there_are_none() -> None:
    profile = scene("edit * allow").profile()
    assert {f"{WORKSPACE}/.git", f"{WORKSPACE}/.github", f"{WORKSPACE}/.envrc", f"{WORKSPACE}/.remit"} <= set(paths(profile.protected))


def test_a_protected_path_found_deep_in_the_workspace_is_read_only() -> None:
    profile = scene("edit * allow", files=(f"{WORKSPACE}/sub/.git",)).profile()
    assert profile.access(f"{WORKSPACE}/sub/.git/hooks/x") is Access.READ
    assert profile.access(f"{WORKSPACE}/sub/x") is Access.WRITE


def test_a_line_approved_to_write_the_repository_still_may_not_change_what_git_runs() -> None:
    profile = scene("edit * allow", approval=Approval(written=(f"{WORKSPACE}/.git",))).profile()
    assert profile.access(f"{WORKSPACE}/.git/index") is Access.WRITE
    assert profile.access(f"{WORKSPACE}/.git/hooks/pre-commit") is Access.READ
    assert profile.access(f"{WORKSPACE}/.git/config") is Access.READ


def test_plans_may_be_written_beside_what_remit_obeys() -> None:
    profile = scene(mode=Mode.ACCEPT_EDITS).profile()
    assert profile.access(f"{WORKSPACE}/.remit/plans/a.md") is Access.WRITE
    assert profile.access(f"{WORKSPACE}/.remit/settings.yaml") is Access.READ


def test_a_deny_of_names_that_could_be_made_anew_is_said_not_to_hold() -> None:
    profile = scene("edit * allow", "edit *.lock deny", files=(f"{WORKSPACE}/a.lock",)).profile()
    assert profile.access(f"{WORKSPACE}/a.lock") is Access.READ
    assert [line.split(":")[1] for line in profile.unheld] == [" edit *.lock deny"]


def test_environment_files_are_hidden_wherever_they_are_found_but_not_their_examples() -> None:
    files = (f"{WORKSPACE}/.env", f"{WORKSPACE}/a/.env.local", f"{WORKSPACE}/.env.example")
    profile = scene("edit * allow", files=files).profile()
    assert [profile.access(path) for path in files] == [Access.HIDDEN, Access.HIDDEN, Access.WRITE]


def test_a_file_that_a_person_let_the_line_read_is_shown() -> None:
    shown = scene(files=(f"{WORKSPACE}/.env",), approval=Approval(read=(f"{WORKSPACE}/.env",))).profile()
    assert shown.access(f"{WORKSPACE}/.env") is Access.READ


def test_what_read_denies_or_asks_is_hidden() -> None:
    profile = scene("read private/* deny", "read drafts/* ask").profile()
    assert [profile.access(f"{WORKSPACE}/{name}/a") for name in ("private", "drafts", "public")] == [
        Access.HIDDEN, Access.HIDDEN, Access.READ,
    ]  # fmt: skip


def test_a_workspace_that_may_not_be_read_is_hidden() -> None:
    assert scene("read * deny").profile().access(f"{WORKSPACE}/a") is Access.HIDDEN


def test_outside_only_programs_are_seen_and_never_secrets() -> None:
    profile = scene("edit * allow").profile()
    seen = {path: profile.access(path) for path in ("/usr/bin/cc", f"{HOME}/.cargo/bin/rg", f"{HOME}/documents", f"{HOME}/.ssh/id", "/srv")}
    assert seen == {
        "/usr/bin/cc": Access.READ,
        f"{HOME}/.cargo/bin/rg": Access.READ,
        f"{HOME}/documents": Access.HIDDEN,
        f"{HOME}/.ssh/id": Access.HIDDEN,
        "/srv": Access.HIDDEN,
    }


def test_secrets_stay_hidden_where_everything_may_be_read() -> None:
    profile = scene(mode=Mode.BYPASS, guard=False).profile()
    assert profile.access("/srv") is Access.READ
    assert profile.access(f"{HOME}/.ssh/id") is Access.HIDDEN
    assert profile.access(f"{HOME}/.local/state/remit/remit.db") is Access.HIDDEN


def test_outside_is_not_shown_whole_while_files_by_some_name_must_be_looked_for() -> None:
    assert scene(mode=Mode.BYPASS).profile().access("/srv/a") is Access.HIDDEN
    named = scene(mode=Mode.BYPASS, approval=Approval(read=("/srv/a",))).profile()
    assert named.access("/srv/a") is Access.READ


def test_a_folder_outside_that_the_rules_lend_is_seen_and_not_written() -> None:
    lent = scene("external_directory /data/* allow", "read * allow").profile()
    assert lent.access("/data/a") is Access.READ
    both = scene("external_directory /data/* allow", "read * allow", "edit /data/* allow").profile()
    assert both.access("/data/a") is Access.WRITE
    assert scene("edit /data/* allow").profile().access("/data/a") is Access.HIDDEN


@pytest.mark.parametrize(
    ("own", "approved", "network"),
    [
        ((), False, False),
        ((), True, True),
        (("webfetch * allow",), False, True),
        (("webfetch * deny",), True, False),
        (("webfetch * allow", "webfetch https://in.example/* deny"), False, False),
        (("webfetch * allow", "webfetch https://in.example/* deny"), True, False),
        (("webfetch * allow", "webfetch https://in.example/* ask"), True, True),
        (("webfetch * deny", "webfetch https://docs.example/* allow"), False, False),
    ],
)
def test_the_network_is_open_only_where_it_is_allowed_wholly_or_approved(own: tuple[str, ...], approved: bool, network: bool) -> None:
    assert scene(*own, approval=Approval(network=approved)).profile().network is network


def test_sockets_of_agents_are_not_named_in_the_environment() -> None:
    profile = scene(environment={"PATH": "/bin", "SSH_AUTH_SOCK": "/run/agent"}).profile()
    assert profile.environment == {"PATH": "/bin"}


def test_what_a_rule_opens_to_writing_hides_its_secrets_too() -> None:
    profile = Scene(chain=(rules("edit /data/* allow"),), mode=Mode.BYPASS, files=("/data/.env",)).profile()
    assert (profile.access("/data/a"), profile.access("/data/.env")) == (Access.WRITE, Access.HIDDEN)


def test_a_child_has_no_more_than_its_parent() -> None:
    profile = Scene(chain=(rules("edit * deny", "webfetch * deny"), rules("* * allow"))).profile()
    assert (profile.read_only, profile.network) == (True, False)


def test_a_limit_of_the_parent_alone_does_not_bind_its_child() -> None:
    profile = Scene(chain=(rules("edit * deny self"), rules("edit * allow"))).profile()
    assert profile.access(f"{WORKSPACE}/a") is Access.WRITE


# ---- no profile is wider than the rules -----------------------------------------------------------

PATTERNS = ("*", "src/*", "src/a", "src/keep/*", "*.lock", "*/keep/*", "a?c", ".git/*", "docs/*", "/data/*", "~/notes/*", "*/.env*")
FILES = tuple(
    [
        f"{WORKSPACE}/{name}"
        for name in ("a", "abc", "x.lock", ".env", "src/a", "src/b", "src/keep/a", "src/x.lock", "docs/a", "docs/keep/b")
    ]
    + [f"{WORKSPACE}/{name}" for name in (".git/config", "src/.git", ".envrc", ".remit/plans/a")]
    + ["/data/a", "/data/.env", f"{HOME}/notes/a", f"{HOME}/other", "/srv/a"]
)
FOLDERS = (f"{WORKSPACE}/src/keep", f"{WORKSPACE}/docs/keep", f"{WORKSPACE}/docs")
"""Found like files. A folder that may be written in is mounted, and a mount cannot except the folder itself."""

texts = st.lists(
    st.tuples(
        st.sampled_from(("edit", "read", "*", "external_directory", "webfetch")),
        st.sampled_from(PATTERNS),
        st.sampled_from(("allow", "ask", "deny")),
        st.sampled_from(("", "self")),
    ),
    max_size=5,
).map(lambda made: rules(*(" ".join(each).strip() for each in made)))
modes = st.sampled_from([None, *Mode])


@settings(deadline=None)
@given(chain=st.lists(texts, min_size=1, max_size=3), person=texts, mode=modes)
def test_nothing_is_written_or_read_that_the_rules_do_not_allow(
    chain: list[tuple[object, ...]], person: tuple[object, ...], mode: Mode | None
) -> None:
    """New files of a denied name are the one thing that mounts cannot hold, and `unheld` says so."""
    given_scene = Scene(chain=chain, person=person, mode=mode, files=(*FILES, *FOLDERS))  # pyright: ignore[reportArgumentType] - rules
    profile, held = given_scene.profile(), given_scene.authority()
    for path in FILES:
        value = path_value(path, WORKSPACE)
        beside = () if value.inside else (Request(permission="external_directory", values=(value,)),)
        for permission, access in (("edit", {Access.WRITE}), ("read", {Access.WRITE, Access.READ})):
            if profile.access(path) in access:
                verdict = decide(held, (Request(permission=permission, values=(value,)), *beside))
                assert verdict.action is Action.ALLOW, (path, permission)


@settings(deadline=None)
@given(chain=st.lists(texts, min_size=1, max_size=2), own=texts, person=texts, mode=modes)
def test_no_child_has_a_wider_profile_than_its_parent(
    chain: list[tuple[object, ...]], own: tuple[object, ...], person: tuple[object, ...], mode: Mode | None
) -> None:
    """Rules that bind the parent alone are left out: they are no business of its child. Outside the workspace a mount needs a
    name, which only the child's rules may give; what may be done there is held by the test above.
    """
    tree = [tuple(each for each in rules_ if getattr(each, "scope", "") == "tree") for rules_ in chain]
    # What is allowed to a child by its own rule was asked of the parent: only a parent that nobody limits by silence is compared.
    parent = Scene(chain=tree, person=person, mode=Mode.BYPASS, files=(*FILES, *FOLDERS)).profile()  # pyright: ignore[reportArgumentType] - rules
    child = Scene(chain=[*tree, own], person=person, mode=mode, files=(*FILES, *FOLDERS)).profile()  # pyright: ignore[reportArgumentType] - rules
    strength = (Access.HIDDEN, Access.READ, Access.WRITE)
    inside = [path for path in FILES if path.startswith(WORKSPACE)]
    assert [path for path in inside if strength.index(child.access(path)) > strength.index(parent.access(path))] == []
    assert child.network <= parent.network


def test_names_of_the_guard_are_not_looked_for_among_installed_packages_but_repositories_are() -> None:
    found = tuple(f"{WORKSPACE}/node_modules/{name}" for name in ("a/.github", "a/.travis.yml", "b/.git", "b/.git/hooks"))
    profile = scene("edit * allow", files=found).profile()
    assert profile.access(f"{WORKSPACE}/node_modules/a/.github") is Access.WRITE
    assert profile.access(f"{WORKSPACE}/node_modules/b/.git") is Access.READ
    ours = scene("edit * allow", "edit *.yml ask", files=found).profile()
    assert ours.access(f"{WORKSPACE}/node_modules/a/.travis.yml") is Access.READ
