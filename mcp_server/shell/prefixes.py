"""How many words of a command name its action: what a standing rule for it begins with. Data.

A program that is not here is named by itself and its first word, or by itself alone where that is an option.
"""

from mcp_server.shell.model import Sort, Word
from mcp_server.shell.words import named

ARITY = {
    **dict.fromkeys(["npm", "pnpm", "yarn", "bun"], 2),
    **dict.fromkeys(("npm run", "pnpm run", "yarn run", "bun run", "npm run-script"), 3),
    **dict.fromkeys(named(
        "git gh cargo go pip uv poetry docker kubectl make mvn dotnet rake bundle cmake brew apt systemctl terraform helm"
    ), 2),
    **dict.fromkeys(named(
        "gradle ./gradlew gradlew mix composer conda aws gcloud az hg svn rustup nix pipenv tox nox just task deno"
    ), 2),
    **dict.fromkeys(("docker compose", "gh pr", "gh issue", "gh repo", "gh run", "gh release", "bundle exec", "uv pip", "git stash"), 3),
    **dict.fromkeys(("git remote", "git worktree", "git submodule", "docker container", "docker image", "go mod", "cargo install"), 3),
    **dict.fromkeys(("kubectl get", "kubectl describe", "aws s3", "aws ec2", "gcloud compute", "terraform state", "npm config"), 3),
    **dict.fromkeys(named(
        "pytest ruff mypy black eslint prettier tsc jest vitest ls cat head tail grep rg find wc mkdir touch cp tee"
    ), 1),
    **dict.fromkeys(named(
        "echo printf gofmt rustc ctest ninja clang-format shellcheck hadolint jq diff sort tree stat file which ps curl wget"
    ), 1),
    **dict.fromkeys(named("python python3 node ruby perl php lua bash sh zsh java Rscript julia deno"), 2),
}  # fmt: skip
"""Source: the documentation of each program, *Commands*; interpreters are named with their script."""

ALONE = named("rm dd shred mkfs chmod chown mv kill pkill killall truncate ln rsync scp install reboot shutdown mount umount")
"""What these do hangs on each of their words: a rule offered for one is that very line."""

INTERPRETERS = named("python python3 node ruby perl php lua bash sh zsh java Rscript julia deno")

MAX_LENGTH = 1000
"""Characters. A screen of a terminal is about 2,000; a rule, its line and the question must fit."""


def offered(words: tuple[Word, ...], text: str) -> str:
    """The pattern of the rule to offer; empty: none, this command is asked for each time."""
    if len(text) > MAX_LENGTH or text.count("\n") > 10:
        return ""
    name = words[0].raw
    exact = text if not any(char in text for char in "*?") else ""
    if name in ALONE or "/" in name.removeprefix("./"):
        return exact
    taken = _taken(words)
    plain = taken > 0 and all(word.sort is Sort.PLAIN and word.raw == word.text and not word.matched for word in words[:taken])
    if not plain or any(char in word.text for word in words[:taken] for char in "*?\n"):
        return exact
    if name in INTERPRETERS and taken < 2:
        return exact
    return f"{' '.join(word.text for word in words[:taken])} *"


def _taken(words: tuple[Word, ...]) -> int:
    """How many words name the action; 0: an option stands before it."""
    names = [word.text for word in words[:3]]
    taken = ARITY.get(names[0], 2)
    if taken > 1 and len(names) > 1:
        taken = ARITY.get(f"{names[0]} {names[1]}", taken)
    taken = min(taken, len(words))
    return 0 if any(word.text.startswith("-") for word in words[1:taken]) else taken
