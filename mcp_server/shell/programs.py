"""What is known of programs, as tables: which run other programs, and by which of their options.

Incomplete on purpose: what is not here is judged by its name alone, as any program is. A wrong entry can only make a
command ask; a missing one lets a rule for that program vouch for what the program was told to run.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """A program that runs the rest of its words as a command."""

    valued: frozenset[str] = frozenset()
    """Options that take the next word as their value."""
    flags: frozenset[str] = frozenset()
    """Options that stand alone. Any other option makes the place of the command uncertain."""
    operands: int = 0
    """Words before the command, such as the time of `timeout`."""
    assignments: bool = False
    """`NAME=value` may stand before the command."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRAPPERS = {
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "chrt": Wrapper(flags=_set("-b -f -i -o -r"), operands=1),
    "chroot": Wrapper(operands=1),
    "command": Wrapper(flags=_set("-p -v -V")),
    "doas": Wrapper(valued=_set("-u -C"), flags=_set("-n -s")),
    "env": Wrapper(
        valued=_set("-u --unset -C --chdir"), flags=_set("- -i --ignore-environment -0 --null -v --debug"), assignments=True
    ),
    "exec": Wrapper(valued=_set("-a"), flags=_set("-c -l")),
    "fakeroot": Wrapper(),
    "flock": Wrapper(valued=_set("-w --timeout -E"), flags=_set("-s -x -e -n -u -o -F -v"), operands=1),
    "ionice": Wrapper(valued=_set("-c -n --class --classdata"), flags=_set("-t --ignore")),
    "ltrace": Wrapper(valued=_set("-e -o -u -s"), flags=_set("-f -c -S -t -tt")),
    "nice": Wrapper(valued=_set("-n --adjustment")),
    "nohup": Wrapper(),
    "parallel": Wrapper(valued=_set("-j --jobs -n -I"), flags=_set("-k -X -m --will-cite")),
    "pkexec": Wrapper(valued=_set("--user")),
    "setsid": Wrapper(flags=_set("-c -f -w --ctty --fork --wait")),
    "stdbuf": Wrapper(valued=_set("-i -o -e --input --output --error"), flags=_set("-i0 -o0 -e0 -iL -oL -eL")),
    "strace": Wrapper(valued=_set("-e -o -u -s -p"), flags=_set("-f -ff -c -C -t -tt -T -y -v -q -qq")),
    "sudo": Wrapper(
        valued=_set("-u --user -g --group -h --host -p --prompt -C -D --chdir -R -r -t -T -U"),
        flags=_set("-A -b -E -H -i -k -K -n -P -S -s -v --login --non-interactive --preserve-env --set-home --shell --stdin"),
        assignments=True,
    ),
    "taskset": Wrapper(flags=_set("-a -c"), operands=1),
    "time": Wrapper(valued=_set("-f --format -o --output"), flags=_set("-p -v -a -q --portability --verbose --append --quiet")),
    "timeout": Wrapper(
        valued=_set("-k --kill-after -s --signal"), flags=_set("-v -f --foreground --preserve-status --verbose"), operands=1
    ),
    "torsocks": Wrapper(),
    "unbuffer": Wrapper(flags=_set("-p")),
    "watch": Wrapper(valued=_set("-n --interval"), flags=_set("-b -c -d -e -g -t -x --beep --color --differences --exec")),
    "xargs": Wrapper(
        valued=_set("-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --replace"),
        flags=_set("-0 -o -p -r -t -x --null --open-tty --interactive --no-run-if-empty --verbose --exit"),
    ),
}  # fmt: skip
"""Programs that run a command given as words."""

SHELLS = _set("sh bash dash zsh ksh mksh ash fish rbash yash")
"""Programs whose `-c` takes a line that is itself read for commands."""

LINE_RUNNERS = _set("eval trap")
"""Builtins whose words are a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """The options by which a program runs code or other programs that its name does not show."""

    letters: str = ""
    """Short options; also inside a cluster such as `-ne`."""
    long: tuple[str, ...] = ()
    """Long options; an unambiguous beginning counts, as GNU programs take it."""
    words: frozenset[str] = frozenset()
    """Whole words, such as find's `-exec`."""
    always: bool = False
    """Whatever it is given."""
    valued: frozenset[str] | None = None
    """Where set, only the options before the first operand count; these take the next word as their value."""
    undashed: bool = False
    """The first word is a cluster of short options even without a dash, as tar has it."""


_ALWAYS = Inline(always=True)
_EVAL = Inline(letters="e", long=("--eval", "--print", "--exec"))

INLINE = {
    **dict.fromkeys(SHELLS, Inline(letters="cs", long=("--rcfile", "--init-file", "--command"))),
    **dict.fromkeys(LINE_RUNNERS, _ALWAYS),
    **dict.fromkeys(
        _set(
            ". source alias bind complete coproc declare enable export fc hash let local mapfile readarray readonly set shopt "
            "typeset unset "
            "awk gawk mawk nawk sed gsed ed ex vi vim nvim view emacs dc bc m4 expect "
            "ssh su runuser systemd-run at batch crontab screen tmux script socat nc ncat nsenter unshare "
            "docker podman nerdctl kubectl oc lxc vagrant ansible fab salt "
            "npx pnpx bunx uvx pipx dlx corepack nix-shell direnv watchexec entr gdb lldb rlwrap osascript powershell pwsh cmd "
            "psql mysql sqlite3 redis-cli mongosh"
        ),
        _ALWAYS,
    ),
    "python": Inline(letters="c", valued=_set("-W -X --check-hash-based-pycs -m")),
    "perl": Inline(letters="eEMmIxd"),
    "ruby": Inline(letters="erI"),
    "node": Inline(letters="epr", long=("--eval", "--print", "--require", "--import", "--loader", "--experimental-loader")),
    "nodejs": Inline(letters="epr", long=("--eval", "--print", "--require", "--import", "--loader", "--experimental-loader")),
    "deno": Inline(letters="e", words=_set("eval repl"), long=("--eval",)),
    "bun": Inline(letters="ep", words=_set("x exec"), long=("--eval", "--print", "--preload")),
    "php": Inline(letters="rBREadf", long=("--run", "--process-code", "--process-begin", "--process-end", "--define")),
    "lua": Inline(letters="eli"),
    "luajit": Inline(letters="elij"),
    "Rscript": Inline(letters="e"),
    "julia": Inline(letters="eEL", long=("--eval", "--print", "--load")),
    "elixir": Inline(letters="er", long=("--eval", "--require", "--rpc-eval")),
    "erl": Inline(words=_set("-eval -run -s")),
    "ghc": Inline(letters="e", long=("--frontend",)),
    "groovy": _EVAL,
    "scala": _EVAL,
    "jshell": _ALWAYS,
    "git": Inline(
        letters="c",
        long=("--config-env", "--exec-path"),
        valued=_set("-C --git-dir --work-tree --namespace --super-prefix --attr-source --list-cmds"),
    ),
    "find": Inline(words=_set("-exec -execdir -ok -okdir")),
    "fd": Inline(letters="xX", long=("--exec", "--exec-batch")),
    "rg": Inline(long=("--pre", "--hostname-bin")),
    "sort": Inline(long=("--compress-program",)),
    "split": Inline(long=("--filter",)),
    "tar": Inline(
        letters="IF",
        undashed=True,
        long=("--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script", "--new-volume-script"),
    ),
    "zip": Inline(words=_set("-T -TT"), long=("--test", "--unzip-command")),
    "rsync": Inline(letters="e", long=("--rsh", "--rsync-path")),
    "scp": Inline(letters="SoF"),
    "sftp": Inline(letters="SobF"),
    "man": Inline(letters="PH", long=("--pager", "--html")),
    "less": Inline(letters="k", long=("--lesskey-file", "--lesskey-src", "--lesskey-content")),
    "make": Inline(long=("--eval",)),
    "gmake": Inline(long=("--eval",)),
    "go": Inline(words=_set("-exec -toolexec -vettool generate"), long=("--exec", "--toolexec", "--vettool")),
    "cargo": Inline(long=("--config",)),
    "npm": Inline(words=_set("exec x init create explore"), long=("--script-shell",)),
    "pnpm": Inline(words=_set("exec dlx create")),
    "yarn": Inline(words=_set("exec dlx create")),
    "uv": Inline(words=_set("run tool")),
    "poetry": Inline(words=_set("run")),
    "bundle": Inline(words=_set("exec")),
    "tcpdump": Inline(letters="z"),
    "gcc": Inline(words=_set("-wrapper"), long=("--plugin",)),
    "curl": Inline(letters="K", long=("--config",)),
    "wget": Inline(letters="e", long=("--execute", "--use-askpass")),
    "nmap": Inline(long=("--script",)),
}  # fmt: skip
"""By the program's name. A version at its end (`python3.11`, `perl5`) is taken off before it is looked up."""

GIT_PROGRAMS = ("--upload-pack", "--receive-pack", "--exec", "--extcmd", "--open-files-in-pager", "--ext-diff", "--config")
"""Options of git's own commands that run programs."""

GIT_LETTERS = {"rebase": "x", "grep": "O", "clone": "uc", "fetch-pack": "e", "send-email": "s"}
"""The same as short options, by git's command."""

GIT_RUNNERS = _set("filter-branch bisect submodule difftool mergetool daemon shell instaweb web--browse")
"""Commands of git that run what they are told, or what the repository says."""

ASSIGNING = _set("env sudo doas")
"""Wrappers that set variables for the command inside; what those steer is not known."""

HARMLESS = _set("true false pwd echo")
"""Programs that only say something, whatever plain words they are given; the one place where effects are known."""

EXECUTING_WORDS = {"find": _set("-exec -execdir -ok -okdir"), "fd": _set("-x -X --exec --exec-batch")}
"""Words after which a command begins."""
