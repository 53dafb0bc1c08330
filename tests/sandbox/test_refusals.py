from pathlib import Path

import pytest

from mcp_server.sandbox.profile import Place, Profile
from mcp_server.sandbox.refusals import Refusal, refusals


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    workspace = tmp_path / "work"
    (workspace / ".git").mkdir(parents=True)
    (workspace / ".env").write_text("x")
    (tmp_path / "documents").mkdir()
    return Profile(
        workspace=str(workspace),
        visible=(Place(path="/usr"), Place(path=str(workspace))),
        writable=(Place(path=f"{workspace}/build"),),
        protected=(Place(path=f"{workspace}/build/.git", because="built-in guard: edit */.git ask"),),
        hidden=(Place(path=f"{workspace}/.env", because="built-in guard: read */.env* ask"),),
        why_read_only="agent explore: edit * deny",
        why_network="no rule speaks of it, and mode default asks",
        temporary=str(tmp_path / "tmp"),
    )


def _found(profile: Profile, output: str) -> list[tuple[str, str, str]]:
    made = refusals(profile, output.replace("WS", profile.workspace), 1, cwd=profile.workspace)
    return [(each.permission, each.value.replace(profile.workspace, "WS"), each.because) for each in made]


OUTSIDE = "it lies outside the workspace, and no rule lets commands write there"
EDIT, GUARD, HIDDEN, NETWORK = (
    "agent explore: edit * deny",
    "built-in guard: edit */.git ask",
    "built-in guard: read */.env* ask",
    "no rule speaks of it, and mode default asks",
)


@pytest.mark.parametrize(
    ("output", "refused"),
    [
        ("touch: cannot touch 'new.txt': Read-only file system", ("edit", "WS/new.txt", EDIT)),
        ("/bin/bash: line 1: new.txt: Permission denied", ("edit", "WS/new.txt", EDIT)),
        ("/bin/bash: line 1: WS/a/b: Read-only file system", ("edit", "WS/a/b", EDIT)),
        ("PermissionError: [Errno 13] Permission denied: 'a.py'", ("edit", "WS/a.py", EDIT)),
        ("Error: EROFS: read-only file system, open 'WS/a.js'", ("edit", "WS/a.js", EDIT)),
        ("mkdir: cannot create directory \u2018build/.git/hooks\u2019: Permission denied", ("edit", "WS/build/.git/hooks", GUARD)),
        ("touch: cannot touch '/usr/x': Read-only file system", ("edit", "/usr/x", OUTSIDE)),
        ("cat: .env: Permission denied", ("read", "WS/.env", HIDDEN)),
        ("curl: (6) Could not resolve host: example.com", ("webfetch", "example.com", NETWORK)),
        ("fatal: unable to access 'https://x/': Could not resolve host: git.example.org", ("webfetch", "git.example.org", NETWORK)),
        ("Error: getaddrinfo ENOTFOUND registry.example.com", ("webfetch", "registry.example.com", NETWORK)),
        ("connect: Network is unreachable", ("webfetch", "*", NETWORK)),
    ],
)  # fmt: skip
def test_what_the_sandbox_refused_is_read_from_the_output(profile: Profile, output: str, refused: tuple[str, str, str]) -> None:
    assert _found(profile, output) == [refused]


@pytest.mark.parametrize(
    "output",
    [
        "error[E0308]: mismatched types at src/main.rs:3",
        "cat: missing.txt: No such file or directory",
        "1 failed, 3 passed",
        "touch: cannot touch 'build/x': Permission denied",
        "cat: /nowhere/at/all: No such file or directory",
        "",
    ],
)
def test_a_failure_of_the_command_itself_is_not_laid_to_the_sandbox(profile: Profile, output: str) -> None:
    assert _found(profile, output) == []


def test_what_lies_outside_and_is_there_is_said_to_be_hidden(profile: Profile) -> None:
    documents = Path(profile.workspace).parent / "documents"
    (found,) = refusals(profile, f"ls: cannot access '{documents}': No such file or directory", 2, cwd=profile.workspace)
    assert (found.permission, found.value) == ("read", str(documents))


def test_a_command_that_succeeded_was_refused_nothing(profile: Profile) -> None:
    assert refusals(profile, "cat: .env: Permission denied", 0, cwd=profile.workspace) == ()


def test_the_words_name_what_was_refused_and_the_rule(profile: Profile) -> None:
    (found,) = refusals(profile, "touch: cannot touch 'a': Read-only file system", 1, cwd=profile.workspace)
    assert found.words == f"The sandbox kept it from writing {profile.workspace}/a: agent explore: edit * deny."


def test_no_more_than_a_few_are_told(profile: Profile) -> None:
    output = "\n".join(f"touch: cannot touch 'f{n}': Read-only file system" for n in range(99))
    assert len(refusals(profile, output, 1, cwd=profile.workspace)) == 5


def test_binary_noise_and_long_lines_are_borne(profile: Profile) -> None:
    assert refusals(profile, "\0\ufffd" * 100_000 + "Permission denied", 1, cwd=profile.workspace) == ()


def test_each_kind_has_its_sentence() -> None:
    kinds = [Refusal(permission=kind, value="v", because="r").words for kind in ("edit", "read", "webfetch")]
    assert kinds == ["The sandbox kept it from writing v: r.", "The sandbox hides v: r.", "The sandbox kept it from reaching v: r."]
