"""What bash really does with lines: every program that it runs, and every file that it changes.

Many lines a start of bash, each in a folder of its own. Programs are not found, so that bash calls a function instead, which
writes down the words; of known writers it then runs the real one, of wrappers the command inside. Everything happens in a temporary
folder, with bounds on time and on the length of files: a line may well read what it writes.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120
"""For one start: far more than its lines ever take."""

OLD = 1_000_000_000
"""The time of every file before a line runs."""

PRELUDE = r"""
REAL=%(real)s
command_not_found_handle() {
    printf '%%s\0' "$#" "$PWD" "$@" >&9
    local name=$1
    case $name in
    nice|nohup|setsid) shift; "$@" ;;
    timeout) shift 2; "$@" ;;
    env|sudo) shift; while [[ $1 == *=* ]]; do shift; done; "$@" ;;
    bash) shift; [[ $1 == -c ]] && (eval "$2") ;;
    xargs) shift; local args=() one; while read -r -t 0.2 one; do args+=("$one"); done; [ $# -gt 0 ] && "$@" "${args[@]}" ;;
    find) local at=() ; shift
        for one in "$@"; do [[ $one == -exec ]] && break; at+=("$one"); done
        local rest=("${@:${#at[@]}+2}")
        if [ ${#rest[@]} -gt 0 ]; then
            unset 'rest[-1]'
            for one in $("$REAL/find" "${at[@]}"); do "${rest[@]/\{\}/$one}"; done
        else "$REAL/find" "${at[@]}"; fi ;;
    cp|mv|rm|touch|mkdir|tee|sort|cat|truncate|ln|dd|sed|chmod|install|uniq|ls|tar|head|rmdir|split)
        shift; "$REAL/$name" "$@" 2>/dev/null ;;
    esac
    return $(( $# %% 2 ))
}
PATH=/nowhere FUNCNEST=20
for folder in "$1"/*/; do
    line=; IFS= read -r -d '' line < "$folder/line"
    (cd "$folder/over/work" && ulimit -f 200 -t 2 && exec 9>"$folder/log" </dev/null >/dev/null 2>&1 && eval "$line"; wait)
done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One program as bash ran it."""

    folder: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of one line."""

    line: str
    work: Path
    runs: tuple[Run, ...]
    changed: tuple[str, ...]
    """Every path that was made, changed or removed. Absolute."""


def laid_out(lines: Sequence[str], folder: Path) -> list[Path]:
    """A folder for each line to run in. `folder` is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    return [_lay_out(folder / f"{number:06}", line) for number, line in enumerate(lines)]


def executed(lines: Sequence[str], folder: Path) -> list[Done]:
    """Run them where they are laid out."""
    before = [_state(folder / f"{number:06}" / "over") for number in range(len(lines))]
    home = folder / "home"
    script = PRELUDE % {"real": "/usr/bin" if os.path.exists("/usr/bin/cp") else "/bin"}
    subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script, "bash", str(folder)],
        env={"HOME": str(home), "LANG": "C.UTF-8"},
        timeout=SECONDS,
        check=False,
        capture_output=True,
    )
    made: list[Done] = []
    for number, line in enumerate(lines):
        here = folder / f"{number:06}"
        after = _state(here / "over")
        changed = tuple(sorted(path for path in {*before[number], *after} if before[number].get(path) != after.get(path)))
        made.append(Done(line=line, work=here / "over" / "work", runs=_logged(here / "log"), changed=changed))
    return made


def _lay_out(here: Path, line: str) -> Path:
    work = here / "over" / "work"
    (work / "sub" / "deep").mkdir(parents=True)
    (work / "sub" / "empty").mkdir()
    for name in ("a", "b", "c.txt", "d.txt", "sub/e", "sub/f.txt"):
        (work / name).write_text(f"x {name}\n")
    for path in (here / "over", *(here / "over").rglob("*")):
        os.utime(path, (OLD, OLD))
    (here / "line").write_bytes(line.encode() + b"\0")
    return work


def _state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Files by content and age; folders by their being there, since their age is that of what lies in them."""
    found: dict[str, tuple[object, ...]] = {}
    for root, folders, files in os.walk(folder):
        for name in folders:
            path = os.path.join(root, name)
            found[path] = ("link", os.readlink(path)) if os.path.islink(path) else ("folder",)
        for name in files:
            path = os.path.join(root, name)
            state = os.lstat(path)
            found[path] = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_mode)
    return found


def _logged(log: Path) -> tuple[Run, ...]:
    if not log.exists():
        return ()
    parts = log.read_bytes().decode(errors="replace").split("\0")
    made: list[Run] = []
    at = 0
    while at < len(parts) and parts[at].isdigit():
        count = int(parts[at])
        made.append(Run(folder=parts[at + 1], words=tuple(parts[at + 2 : at + 2 + count])))
        at += 2 + count
    return tuple(made)
