"""May git look into a repository without running a program that the repository names?

Its own settings can name programs for almost everything. Those that the environment below turns off are not looked for; of all
others one is enough for no. The person's own settings of git are the person's, and count as trusted.
"""

import os
import re
from pathlib import Path

QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "safe.bareRepository",
    "GIT_CONFIG_VALUE_1": "explicit",
    "GIT_CONFIG_KEY_2": "log.showSignature",
    "GIT_CONFIG_VALUE_2": "false",
}
"""What git is run with: no watcher, no pager, no question, no index written while looking (and so no hook), no folder that only
looks like a repository. Source: git(1), git-config(1)."""

MAX_CONFIG = 64 * 1024
"""Bytes of a settings file; one that is longer is not looked through."""

_NAMES_PROGRAMS = re.compile(
    r"^\s*\[\s*(include|includeif|filter|diff\s*\"|alias)|(^|\])\s*(textconv|command|external|process|clean|smudge|worktree|promisor"
    r"|partialclone|partialclonefilter|path|attributesfile|alternaterefscommand)\s*(=|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""Settings that make `status`, `diff`, `log` and `show` run a program, fetch, or look elsewhere."""


def names_no_programs(folder: str) -> bool:
    """Is there nothing in the repository around the folder that would be run? Where there is none git does nothing."""
    try:
        return _looked(Path(folder).resolve())
    except (OSError, ValueError):
        return False


def _looked(folder: Path) -> bool:
    for around in (folder, *folder.parents):
        mark = around / ".git"
        if mark.is_dir() and any(mark.iterdir()):  # past an empty one git looks further up
            return _with_common(mark)
        if mark.is_file():
            return _elsewhere(mark)
    return True


def _elsewhere(mark: Path) -> bool:
    """A work tree or submodule: the file names the folder that holds its settings."""
    text = mark.read_text(encoding="utf-8")[:4096]
    if not text.startswith("gitdir:"):
        return False
    return _with_common(Path(os.path.join(mark.parent, text.removeprefix("gitdir:").strip())))


def _with_common(folder: Path) -> bool:
    """It, and where it says that its settings lie instead."""
    common = folder / "commondir"
    main = Path(os.path.join(folder, common.read_text(encoding="utf-8").strip())) if common.is_file() else folder
    return _plain(folder) and _plain(main)


def _plain(folder: Path) -> bool:
    modules = folder / "modules"
    if modules.exists() and any(modules.iterdir()):
        return False  # settings of submodules are read too
    return all(_names_none(folder / name) for name in ("config", "config.worktree"))


def _names_none(file: Path) -> bool:
    if not file.exists():
        return True
    with file.open("rb") as opened:
        content = opened.read(MAX_CONFIG + 1)
    text = content.decode("utf-8")
    return len(content) <= MAX_CONFIG and "\\\n" not in text and _NAMES_PROGRAMS.search(text) is None
