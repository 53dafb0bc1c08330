"""Local settings are the person's only where version control keeps out of them. Run against a real git."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcp_server.settings.version_control import kept_out
from tests.settings.ground import Ground, write

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, env=clean, capture_output=True
    )


def test_without_version_control_a_file_is_kept_out(ground: Ground):
    assert kept_out(ground.local_file)


@needs_git
def test_a_file_that_git_would_take_is_not(ground: Ground):
    git(ground.workspace, "init")
    write(ground.local_file, "")
    assert not kept_out(ground.local_file)


@needs_git
def test_an_ignored_file_is_kept_out(ground: Ground):
    git(ground.workspace, "init")
    write(ground.workspace / ".gitignore", ".remit/settings.local.yaml\n")
    write(ground.local_file, "")
    assert kept_out(ground.local_file)


@needs_git
def test_an_ignored_file_that_is_tracked_all_the_same_is_not(ground: Ground):
    git(ground.workspace, "init")
    write(ground.local_file, "")
    git(ground.workspace, "add", ".")
    git(ground.workspace, "commit", "-m", "x")
    write(ground.workspace / ".gitignore", ".remit/\n")
    assert not kept_out(ground.local_file)


@needs_git
def test_a_repository_around_the_workspace_counts(ground: Ground):
    git(ground.places.home, "init")
    write(ground.local_file, "")
    assert not kept_out(ground.local_file)


@needs_git
def test_nothing_that_the_repository_names_is_run(ground: Ground):
    git(ground.workspace, "init")
    ran = ground.workspace / "ran"
    spy = write(ground.workspace / "spy", f"#!/bin/sh\ntouch {ran}\n")
    spy.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external", "alias.check-ignore"):
        git(ground.workspace, "config", name, str(spy))
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        shutil.copy(spy, ground.workspace / ".git" / "hooks" / hook)
    write(ground.workspace / ".gitignore", ".remit/settings.local.yaml\n")
    write(ground.local_file, "")
    assert kept_out(ground.local_file)
    assert not ran.exists()


@needs_git
def test_a_git_that_the_workspace_brings_is_not_run(ground: Ground, monkeypatch: pytest.MonkeyPatch):
    git(ground.workspace, "init")
    ran = ground.workspace / "ran"
    write(ground.workspace / "bin" / "git", f"#!/bin/sh\ntouch {ran}\n").chmod(0o755)
    write(ground.local_file, "")
    monkeypatch.setenv("PATH", f"{ground.workspace / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert not kept_out(ground.local_file)
    assert not ran.exists()


@pytest.mark.parametrize("mark", [".hg", ".svn", ".jj"])
def test_version_control_that_cannot_be_asked_is_a_doubt(ground: Ground, mark: str):
    (ground.workspace / mark).mkdir()
    assert not kept_out(ground.local_file)


def test_a_broken_repository_is_a_doubt(ground: Ground):
    write(ground.workspace / ".git", "gitdir: /nowhere\n")
    assert not kept_out(ground.local_file)


@needs_git
def test_ignored_local_settings_of_a_trusted_workspace_are_the_persons(ground: Ground):
    git(ground.workspace, "init")
    write(ground.workspace / ".gitignore", ".remit/settings.local.yaml\n")
    write(ground.local_file, "permission: {bash: ask}\nlimits: {depth: 1}\n")
    ground.trust()
    settings = ground.load()
    assert [str(rule) for rule in settings.commons.person] == ["bash * ask"]
    assert settings.limits.depth == 1
