"""Built-in safety, as data. It can close and never open: an allow here only takes back an ask that stands above it.

Editable by the person's and the operator's settings alone.
"""

from collections.abc import Sequence

from mcp_server.policy import wildcards
from mcp_server.policy.values import Action, Rule

_SHELL_FILES = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".envrc"),
)
"""Run by shells when they start (`.envrc` by direnv when they enter the folder)."""

_SHELL_FOLDERS = (".config/fish", ".bashrc.d", ".zshrc.d")

_HISTORY_FOLDERS = (".git", ".hg", ".svn", ".jj")
"""Hooks and configuration in them run programs. `.git` may also be a file."""

_EDITOR_FOLDERS = (".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".vim", ".nvim", ".config/nvim", ".emacs.d")

_CI_FOLDERS = (".github", ".gitlab", ".circleci", ".buildkite", ".azure-pipelines", ".woodpecker", ".forgejo", ".gitea", ".husky")

_CI_FILES = (
    *(".gitlab-ci.yml", ".gitlab-ci.yaml", ".travis.yml", ".drone.yml", ".cirrus.yml", ".pre-commit-config.yaml"),
    *("Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".gitconfig"),
)

_AGENT_FOLDERS = (".claude", ".cursor", ".codex", ".gemini", ".opencode", ".agents", ".continue", ".windsurf", ".cline", ".roo", ".kiro")

_AGENT_FILES = (".mcp.json", "opencode.json", "opencode.jsonc")

_OURSELVES = ("remit *", "* -m mcp_server *", "* -m mcp_server.*")
"""The command, and the same as a module of Python."""

_HARMLESS_ENV = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema")
"""Files that show which variables there are, without their values."""


def guard_rules(workspace: str, home: str, state_folder: str, settings_folders: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The guard of one workspace. All folders absolute, resolved; `settings_folders` are where Remit's settings lie."""
    return (
        *_secrets(),
        *_remit_folder(workspace),
        *_protected(home),
        *(rule for folder in settings_folders for rule in _folder("edit", folder, Action.ASK, "these are Remit's own settings")),
        *(rule for permission in ("read", "edit") for rule in _folder(permission, state_folder, Action.DENY, "this is Remit's own state")),
        *(Rule(permission="bash", pattern=each, action=Action.DENY, reason="an agent may not operate Remit") for each in _OURSELVES),
    )


def foreign_rules(outputs: str, own: Sequence[str]) -> tuple[Rule, ...]:
    """Nobody reads what was saved for somebody else's session, whoever would let them.

    Args:
        outputs: The folder in which every session has one of its own. Absolute, resolved.
        own: Names of the folders of the session's chain.
    """
    made: list[Rule] = []
    for permission in ("read", "edit"):
        made += _folder(permission, outputs, Action.DENY, "output saved for other sessions lies there")
        made += [Rule(permission=permission, pattern=f"{outputs}/{each}/*", action=Action.ALLOW) for each in own]
    return tuple(made)


def _secrets() -> tuple[Rule, ...]:
    reason = "files named .env* usually hold secrets"
    return (
        Rule(permission="read", pattern="*/.env*", action=Action.ASK, reason=reason),
        *(Rule(permission="read", pattern=f"*/{name}", action=Action.ALLOW) for name in _HARMLESS_ENV),
    )


def _remit_folder(workspace: str) -> tuple[Rule, ...]:
    reason = "it holds what Remit obeys in this workspace"
    # Wildcards have no escape: where the workspace's own name holds one, its plans are known by their relative path.
    anchored = f"{workspace.rstrip('/')}/.remit/plans/*" if wildcards.plain(workspace) else None
    return (
        *_folder("edit", "*/.remit", Action.ASK, reason),
        Rule(permission="edit", pattern=".remit/plans/*", anchored=anchored, action=Action.ALLOW),
        Rule(permission="edit", pattern="*/.remit/plans/*.remit/*", action=Action.ASK, reason=reason),
    )


def _protected(home: str) -> tuple[Rule, ...]:
    groups = (
        (_HISTORY_FOLDERS, (), "what lies in it can run programs"),
        (_SHELL_FOLDERS, _SHELL_FILES, "shells run it when they start"),
        (_EDITOR_FOLDERS, (), "editors run what it names"),
        (_CI_FOLDERS, _CI_FILES, "build machines run what it names"),
        (_AGENT_FOLDERS, _AGENT_FILES, "agents obey it"),
    )
    made: list[Rule] = []
    for folders, files, reason in groups:
        made += [rule for name in folders for rule in _folder("edit", f"*/{name}", Action.ASK, reason)]
        made += [Rule(permission="edit", pattern=f"*/{name}", action=Action.ASK, reason=reason) for name in files]
    keys = _folder("edit", f"{home.rstrip('/')}/.ssh", Action.ASK, "it decides who may log in")
    return (*made, *keys)


def _folder(permission: str, folder: str, action: Action, reason: str) -> tuple[Rule, ...]:
    """The folder itself and all that lies in it."""
    base = folder.rstrip("/")
    return tuple(Rule(permission=permission, pattern=pattern, action=action, reason=reason) for pattern in (base, f"{base}/*"))
