"""Which parts of a machine programs need, and which hold secrets. Data; nothing is looked up here."""

SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "nix", "snap", "gnu", "sw", "var")
"""Folders of the root that hold programs and their settings. All others are shown only where the rules say so."""

SYSTEM_SECRETS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private"),
    *("/etc/security/opasswd", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/wireguard", "/etc/NetworkManager/system-connections"),
    *("/etc/docker", "/etc/ppp", "/etc/openvpn", "/etc/cups", "/etc/letsencrypt", "/etc/rancher", "/etc/vault.d"),
    *("/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_dsa_key"),
    *("/var/log", "/var/mail", "/var/spool", "/var/backups", "/var/tmp", "/var/www"),  # noqa: S108 - hidden, not used
)
"""Keys and passwords of the machine, what its services say and hold. File modes guard most of them, but not from root."""

HOME_TOOLS = (
    *(".pyenv", ".rustup", ".cargo", ".nvm", ".volta", ".asdf", ".sdkman", ".bun", ".deno", ".rbenv", ".gem", ".rvm", ".nodenv"),
    *(".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/mise", ".local/share/uv", ".local/share/pnpm"),
    *(".local/share/fnm", ".local/share/virtualenvs", ".npm-global", ".yarn", ".npm", ".cache/pip", ".cache/uv", ".cache/pypoetry"),
    *(".cache/go-build", ".cache/ms-playwright", ".cache/yarn", ".cache/node", ".m2/repository", ".gradle/caches", ".gradle/wrapper"),
    *("go", ".dotnet", ".nuget/packages", ".ghcup", ".cabal", ".stack", ".opam", ".julia", ".juliaup", ".nix-profile", ".elan", ".mix"),
    *("miniconda3", "anaconda3", "miniforge3", ".conda", ".pub-cache", ".composer/vendor", ".local/state/nix", ".foundry", ".swiftly"),
    *(".gitconfig", ".config/git", ".gitignore", ".gitattributes", ".editorconfig", ".inputrc", ".vimrc", ".wgetrc", ".screenrc"),
)
"""Where people keep compilers, interpreters and package caches, and the settings that tools need to work at all."""

HOME_SECRETS = (
    *(".ssh", ".aws", ".azure", ".config/gcloud", ".gnupg", ".kube", ".docker", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf"),
    *(".git-credentials", ".config/git/credentials", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip", ".pip/pip.conf"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml"),
    *(".gradle/gradle.properties", ".nuget/NuGet", ".composer/auth.json", ".config/composer/auth.json", ".config/gh", ".config/glab-cli"),
    *(".config/hub", ".terraform.d", ".terraformrc", ".vault-token", ".oci", ".databrickscfg", ".boto", ".s3cfg", ".rclone.conf"),
    *(".config/rclone", ".config/sops", ".config/op", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".pki"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/Signal"),
    *(".config/heroku", ".config/doctl", ".config/hcloud", ".config/helm", ".config/containers/auth.json", ".config/age"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".config/opencode", ".local/share/opencode", ".config/github-copilot"),
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history"),
    *(".lesshst", ".viminfo", ".local/share/fish", ".huggingface", ".cache/huggingface/token", ".config/huggingface", ".kaggle"),
    *(".config/anthropic", ".config/openai", ".android", ".gpg", ".subversion/auth", ".hgrc", ".config/hg", ".Xauthority", ".ICEauthority"),
)
"""Keys, passwords, browsers, and what was typed before. Hidden whatever the rules say of reading."""

HOME_ONLY = frozenset({
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc", ".gitconfig", ".login"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".bashrc.d", ".zshrc.d"),
    *(".config/fish", ".config/nvim", ".vim", ".nvim", ".emacs.d"),
})  # fmt: skip
"""Names that nothing reads but in the home folder: elsewhere those that exist are kept, but nothing is put where none is."""

COMMON_FOLDER = "commondir"
"""The file in a repository that says where its settings lie instead."""

PACKAGES = frozenset({"node_modules", "site-packages"})
"""Folders that package managers fill: the `.github` or `.travis.yml` of somebody's library, which no machine obeys there."""

REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})

GIT_PROGRAMS = ("hooks", "config", "config.worktree", "info/attributes", "modules", "worktrees", COMMON_FOLDER)
"""What in a repository's `.git` runs programs, says which, or where that is said: it stays read-only where a person let a line write
`.git`."""

SERVER_SECRETS = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY")
"""Variables that lead to a socket or key; none is passed on, even if a settings file named it harmless."""
