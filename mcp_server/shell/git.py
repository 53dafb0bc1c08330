"""What a git command would do. Source: git-scm.com reference, version 2.47; git(1) and the page of each command.

A command counts as harmless only where the repository's own programs are off (`Effects.git`): whoever runs the line sees to that.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_server.shell.effects import Effects, address, take, touches
from mcp_server.shell.model import Simple, Sort, Touch, Word
from mcp_server.shell.options import Grammar, Parsed, options, parsed
from mcp_server.shell.words import named

_GLOBAL = Grammar(
    operands="T*",
    options=options(
        "-pPhv -C:T -c:X --config-env:X --exec-path:X --git-dir:X --work-tree:X --namespace:T --no-pager --paginate --no-replace-objects "
        "--no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --bare --attr-source:X --version "
        "--help --html-path --man-path --info-path --super-prefix:X --list-cmds:T --no-lazy-fetch --no-advice"
    ),
)

_DIFF = (
    "-puszwbRaBMCDlWrtmc -U:T -S:T -G:T -O:R -i --patch --no-patch --stat --numstat --shortstat --dirstat --summary --name-only "
    "--name-status --unified:T --raw --minimal --patience --histogram --color --no-color --color-words --word-diff --word-diff-regex:T "
    "--check --full-index --binary --abbrev --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines "
    "--find-renames --find-copies --diff-filter:T --relative --text --exit-code --quiet --src-prefix:T --dst-prefix:T --no-prefix "
    "--function-context --no-ext-diff --no-textconv --ext-diff:X --textconv:X --output:W --cached --staged --merge-base --no-index "
    "--no-renames --compact-summary --indent-heuristic --submodule --ignore-submodules --inter-hunk-context:T --diff-algorithm:T "
    "--pickaxe-regex --pickaxe-all --stat-width:T --ws-error-highlight:T --color-moved --no-relative --cc"
)
_LOG = (
    _DIFF + " -n:T -g -i -E -F -P -q -L:T --oneline --graph --all --branches --tags --remotes --decorate --no-decorate --format:T --pretty "
    "--author:T --committer:T --grep:T --since:T --until:T --after:T --before:T --max-count:T --skip:T --merges --no-merges --first-parent "
    "--reverse --follow --full-history --date:T --abbrev-commit --no-abbrev-commit --left-right --cherry --cherry-pick --cherry-mark "
    "--topo-order --date-order --author-date-order --boundary --source --notes --no-notes --stdin --walk-reflogs --parents --children "
    "--simplify-by-decoration --ancestry-path --count --exclude:T --glob:T --no-mailmap --mailmap --invert-grep --all-match "
    "--regexp-ignore-case --relative-date --numbered --summary --email --group:T --log-size --no-walk --objects --disk-usage"
)

READING: Mapping[str, str] = {
    "status": "-sbuvz --short --branch --porcelain --long --untracked-files --ignored --ignore-submodules --no-renames "
    "--find-renames --show-stash --ahead-behind --no-ahead-behind --column --no-column --verbose",
    "log": _LOG,
    "diff": _DIFF,
    "show": _LOG,
    "shortlog": _LOG + " -sne",
    "whatchanged": _LOG,
    "reflog": _LOG,
    "rev-list": _LOG,
    "diff-tree": _DIFF + " --root --no-commit-id --stdin",
    "diff-index": _DIFF,
    "diff-files": _DIFF,
    "range-diff": _LOG,
    "branch": "-avrql --all --remotes --list --show-current --verbose --contains:T --no-contains:T --merged:T --no-merged:T "
    "--points-at:T --sort:T --format:T --column --no-column --color --no-color --ignore-case --abbrev:T",
    "tag": "-l -n:T --list --contains:T --no-contains:T --merged:T --no-merged:T --points-at:T --sort:T --format:T --column "
    "--ignore-case",
    "remote": "-v --verbose",
    "stash": _LOG,
    "worktree": "--porcelain -vz --verbose",
    "submodule": "--cached",
    "notes": "",
    "rev-parse": "-q --abbrev-ref --short --verify --symbolic-full-name --show-toplevel --git-dir --show-prefix --show-cdup "
    "--is-inside-work-tree --is-inside-git-dir --is-bare-repository --absolute-git-dir --git-common-dir --quiet --all "
    "--branches --tags --symbolic --not",
    "ls-files": "-cdmoikstuvzf --cached --deleted --modified --others --ignored --stage --exclude-standard --exclude:T -x:T "
    "--full-name --error-unmatch --abbrev --deduplicate --eol --directory --no-empty-directory --format:T",
    "ls-tree": "-drtlz --long --name-only --name-status --full-name --full-tree --abbrev --object-only --format:T",
    "blame": _DIFF + "  -ebflnstwM -L:T --porcelain --line-porcelain --date:T --since:T --show-email --show-name --show-number "
    "--incremental --root",
    "describe": "--tags --all --always --dirty --long --abbrev:T --match:T --exclude:T --contains --exact-match --first-parent "
    "--candidates:T --broken",
    "config": "-lz --list --get --get-all --get-regexp --show-origin --show-scope --name-only --local --global --system --null "
    "--type:T --bool --int --path --default:T --get-urlmatch --includes --no-includes",
    "merge-base": "-a --all --octopus --is-ancestor --independent --fork-point",
    "name-rev": "--tags --refs:T --all --name-only --always --no-undefined --exclude:T",
    "for-each-ref": "-sp --format:T --sort:T --count:T --contains:T --no-contains:T --merged:T --no-merged:T --points-at:T "
    "--ignore-case",
    "cat-file": "-tsep --batch-check --allow-unknown-type",
    "show-ref": "-dqs --head --heads --branches --tags --hash --verify --dereference --abbrev",
    "symbolic-ref": "-q --short --quiet",
    "count-objects": "-vH --verbose --human-readable",
    "check-ignore": "-vnqz --verbose --no-index",
    "check-attr": "-a --all",
    "verify-pack": "-vs",
    "var": "-l",
    "version": "--build-options",
    "grep": "-nHhliLcwvEFGPIaqzWp -e:T -f:R -A:T -B:T -C:T -m:T --line-number --cached --untracked --name-only "
    "--files-with-matches --count --word-regexp --ignore-case --invert-match --extended-regexp --fixed-strings "
    "--perl-regexp --heading --break --color --no-color --and --or --not --all-match --max-depth:T --recursive "
    "--no-recursive --context:T --after-context:T --before-context:T --show-function --function-context "
    "--open-files-in-pager:X -O:X --ext-grep:X --threads:T --null --only-matching -o --column --quiet --text",
}  # fmt: skip
"""Commands that only look, and their options that keep it so."""

_PRINTS_FILES = named("log diff show whatchanged stash blame grep cat-file diff-tree diff-index diff-files range-diff reflog")
"""They may print what lies in tracked files, of now and of before."""

_FIRST_WORDS: Mapping[str, frozenset[str]] = {
    "stash": frozenset({"list", "show"}),
    "worktree": frozenset({"list"}),
    "submodule": frozenset({"status"}),
    "notes": frozenset({"list", "show"}),
    "remote": frozenset({"", "get-url"}),
    "reflog": frozenset({"", "show", "exists", "list"}),
    "symbolic-ref": frozenset({""}),
}
"""Commands with commands of their own: those that only look. An empty one: it may be left out."""

_RUNS = named(
    "filter-branch bisect submodule difftool mergetool daemon shell instaweb web--browse credential send-email p4 svn cvsserver "
    "hook maintenance for-each-repo upload-archive http-backend sh-i18n"
)
"""Run what they are told, or what the repository says."""

_DANGEROUS = (
    *("--upload-pack", "--receive-pack", "--exec", "--extcmd", "--open-files-in-pager", "--ext-diff", "--config", "--textconv"),
    *("--template", "--pathspec-from-file"),
)
"""Options that run programs, or take what they do from a file."""

_DANGEROUS_LETTERS = {
    "rebase": "x",
    "grep": "O",
    "clone": "uc",
    "fetch-pack": "e",
    "send-email": "s",
    "archive": "",
    "ls-remote": "",
    "push": "",
}
TEXT_OPTIONS = {
    "commit": ("-m", "--message", "-am", "--author", "--date"),
    "tag": ("-m", "--message", "-am"),
    "stash": ("-m", "--message"),
    "merge": ("-m", "--message"),
    "notes": ("-m", "--message"),
    "push": (),
}
"""Options whose value is only text, also where it is not known."""

_NETWORK = named("pull submodule ls-remote clone fetch remote push")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCall:
    """The parts of a git command line."""

    command: str
    rest: tuple[Word, ...]
    simple: Simple
    """As seen from the folder that `-C` names."""


def git_call(simple: Simple, effects: Effects) -> GitCall | None:
    """Take the global options off. None: there is no command, or it cannot be told."""
    at, folders = 1, simple.folders
    words = simple.words
    while at < len(words) and words[at].sort is Sort.PLAIN and words[at].text.startswith("-"):
        text = words[at].text
        valued = text in (
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--config-env",
            "--super-prefix",
            "--attr-source",
            "--exec-path",
        )
        chunk = words[at : at + (2 if valued and text != "--exec-path" else 1)]
        given = parsed(chunk, _GLOBAL)
        if given.unknown_options:
            effects.hide("an option of git is not known")
        for each in given.given:
            take(effects, each, folders)
        if text == "-C" and len(chunk) == 2:
            target = touches(effects, chunk[1], folders)
            folders = frozenset(
                f"{folder}/{place.text}" if not place.text.startswith("/") else place.text for place in target for folder in folders
            )
        at += len(chunk)
    if at >= len(words):
        return None
    if words[at].sort is not Sort.PLAIN:
        effects.hide("which command of git it is cannot be told")
        return None
    moved = Simple(words=words, folders=folders, fed_by=simple.fed_by, reads_input=simple.reads_input)
    return GitCall(command=words[at].text, rest=words[at + 1 :], simple=moved)


def git_effects(simple: Simple, effects: Effects) -> None:
    """All that is known of one git command."""
    call = git_call(simple, effects)
    if call is None:
        bare = {word.text for word in simple.words[1:]} <= {"--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path"}
        effects.known = effects.harmless = bare and not effects.opaque
        return
    if not call.simple.folders:
        effects.hide("which folder it runs in cannot be told")
    effects.repositories = call.simple.folders
    _dangers(call, effects)
    table = READING.get(call.command)
    if table is not None:
        _looking(call, parsed(call.rest, Grammar(operands="T*", options=options(table), numbers=True)), effects)
    if call.command in _NETWORK:
        _network(call, effects)
    if not effects.harmless:
        _writing(call, effects)


def _dangers(call: GitCall, effects: Effects) -> None:
    if call.command in _RUNS and not (call.command in _FIRST_WORDS and _only_looks(call)):
        effects.hide(f"git {call.command} runs what it is told, or what the repository says")
    texts = TEXT_OPTIONS.get(call.command, ())
    previous = ""
    for word in call.rest:
        if word.sort is not Sort.PLAIN and not (word.sort is Sort.ONE and previous in texts):
            effects.hide("a word of it is not known, and may be an option")
        elif previous not in texts:
            if word.text == "--":
                break
            if _runs(call.command, word.text):
                effects.hide(f"{word.text} may run a program")
        previous = word.text


def _runs(command: str, option: str) -> bool:
    if option.startswith("--"):
        name = option.partition("=")[0]
        return len(name) > 3 and any(each.startswith(name) for each in _DANGEROUS)
    return option.startswith("-") and any(letter in _DANGEROUS_LETTERS.get(command, "") for letter in option[1:])


def _only_looks(call: GitCall) -> bool:
    words = _FIRST_WORDS.get(call.command)
    if words is None:
        return True
    first = next((word.text for word in call.rest if not word.text.startswith("-")), "")
    return first in words


def _looking(call: GitCall, given: Parsed, effects: Effects) -> None:
    operands = [each.word for each in given.given if not each.option]
    if given.unknown_options or not _only_looks(call) or not _kept_to_looking(call, given, operands):
        return
    for each in given.given:
        if each.option:
            take(effects, each, call.simple.folders)
    if call.command in _PRINTS_FILES:
        _printing(call, given, operands, effects)
    else:
        effects.known = not effects.opaque
    effects.harmless = not effects.opaque and not effects.writes
    effects.known = effects.known and not effects.writes


def _printing(call: GitCall, given: Parsed, operands: list[Word], effects: Effects) -> None:
    """What it prints of files, named or not."""
    effects.unseen = ("read",)
    _named_files(call, operands, effects)
    if given.has("--no-index"):
        for word in operands:
            effects.reads += touches(effects, word, call.simple.folders, whole=True)
    for each in given.given:
        if each.option == "-L":
            path = each.word.text.rpartition(":")[2]
            effects.reads += touches(effects, Word(raw=path, text=path, sort=each.word.sort), call.simple.folders)


def _kept_to_looking(call: GitCall, given: Parsed, operands: list[Word]) -> bool:
    """Commands that look or change by how many words they are given."""
    match call.command:
        case "branch":
            listing = given.has("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--show-current")
            return listing or not operands
        case "tag":
            return not operands or given.has("-l", "--list", "-n", "--contains", "--points-at", "--merged", "--no-merged")
        case "config":
            return (
                given.has("-l", "--list", "--get", "--get-all", "--get-regexp")
                or len(operands) == 1
                or operands[:1] in _config_words(operands)
            )
        case "symbolic-ref":
            return len(operands) == 1
        case _:
            return True


def _config_words(operands: list[Word]) -> list[list[Word]]:
    return [operands[:1]] if operands and operands[0].text in ("list", "get") else []


def _named_files(call: GitCall, operands: list[Word], effects: Effects) -> None:
    """`git show HEAD:path` and `git blame path` print a file by name."""
    for word in operands:
        _, colon, path = word.text.partition(":")
        if colon and path and "://" not in word.text:
            effects.reads += touches(effects, Word(raw=path, text=path, sort=word.sort), call.simple.folders)
        elif call.command == "blame" or (
            "." in word.text and ".." not in word.text and "/" not in word.text[:1] and not word.text.startswith("@")
        ):
            effects.reads += touches(effects, word, call.simple.folders, whole=True)


def _network(call: GitCall, effects: Effects) -> None:
    operands = [word for word in call.rest if not word.text.startswith("-")]
    for word in operands:
        if "://" in word.text:
            address(effects, word)
            if word.text.startswith(("ext::", "fd::")):
                effects.hide("it runs a program to reach the other side")
        elif "::" in word.text:
            effects.hide("it runs a program to reach the other side")
        elif scp := re.match(r"(?:[A-Za-z0-9_.-]+@)?([A-Za-z0-9.-]+\.[A-Za-z]+):(?!/)(.+)", word.text):
            effects.urls.append(f"ssh://{scp.group(1)}/{scp.group(2)}")
    if call.command == "clone" and operands:
        name = (
            operands[1].text
            if len(operands) > 1
            else re.sub(r"(/|\.git|/\.git)+\Z", "", operands[0].text).rpartition("/")[2].rpartition(":")[2]
        )
        effects.writes += touches(effects, Word(raw=name, text=name), call.simple.folders, whole=True)


def _writing(call: GitCall, effects: Effects) -> None:
    """What paths it is plainly told to change. It changes the repository besides, so not all is known."""
    effects.known = False
    operands = [word for word in call.rest if not word.text.startswith("-")]
    texts = [word.text for word in call.rest]
    match call.command:
        case "rm" | "restore" | "clean" if "--staged" not in texts and "--cached" not in texts and "-S" not in texts:
            paths = operands or ([Word(raw=".", text=".")] if call.command == "clean" else [])
        case "mv":
            paths = operands
        case "checkout" if "--" in texts:
            paths = list(call.rest[texts.index("--") + 1 :])
        case "init":
            paths = operands
        case _:
            paths = []
    for word in paths:
        if word.sort is Sort.PLAIN:
            effects.writes += [
                Touch(text=each.text, folders=each.folders, whole=True) for each in touches(effects, word, call.simple.folders)
            ]
