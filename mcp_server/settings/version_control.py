"""Is a file of the workspace kept out of version control? Only then can it be the person's own.

Asks git without letting the repository run anything of its own. Every doubt is a no.
"""

import os
import shutil
import subprocess
from pathlib import Path

_MARKS = (".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", "CVS", ".fslckout", ".pijul")
"""What version control leaves in a folder."""

_SECONDS = 5.0
"""`check-ignore` of one path answers within milliseconds; a repository on a dead network drive must not stop the start."""


def kept_out(file: Path) -> bool:
    """True where no version control is around the file, or git ignores and does not track it.

    Args:
        file: Absolute and resolved, in the workspace's `.remit`. It need not exist.
    """
    marks = {mark for folder in file.parents for mark in _MARKS if os.path.lexists(folder / mark)}
    if not marks:
        return True
    return marks == {".git"} and _ignored_by_git(file)


def _ignored_by_git(file: Path) -> bool:
    git = shutil.which("git")
    if git is None or not os.path.isabs(git) or Path(git).resolve().is_relative_to(file.parent.parent):
        return False
    command = [
        git,
        *("-c", "core.fsmonitor=false"),
        *("-c", "core.hooksPath=/dev/null"),
        *("-C", str(file.parent)),
        "check-ignore",
        "--quiet",
        "--",
        file.name,
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command; the file is an argument behind `--`
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
