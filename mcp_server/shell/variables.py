"""Which variables steer programs. Data.

Of a variable that is exported, or stands in front of a command, only those below are known to be harmless. One that is set for
the shell alone reaches no program, unless it is one that the shell itself obeys or that is in the environment already.
"""

import re

from mcp_server.shell.words import named

HARMLESS = named(
    "CI COLUMNS COLORTERM CLICOLOR CLICOLOR_FORCE FORCE_COLOR NO_COLOR TERM LINES TZ LANG LANGUAGE DEBUG VERBOSE QUIET NODE_ENV "
    "RAILS_ENV RACK_ENV APP_ENV FLASK_ENV FLASK_DEBUG DJANGO_DEBUG ENVIRONMENT LOG_LEVEL RUST_LOG RUST_BACKTRACE "
    "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PORT HOST CGO_ENABLED GOOS GOARCH HUSKY SKIP_TESTS TEST_ENV "
    "BUILD_ENV DISABLE_TELEMETRY DO_NOT_TRACK NEXT_TELEMETRY_DISABLED GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT DEBIAN_FRONTEND "
    "SOURCE_DATE_EPOCH TF_IN_AUTOMATION UPDATE_SNAPSHOTS"
)  # fmt: skip
"""Read by many programs, and name neither a program nor a file to any. Source: the documentation of Node, Rails, Rust, Go, pytest,
Git, and the conventions no-color.org and consoledonottrack.com."""

_LOCALE = re.compile(r"LC_[A-Z]+\Z")

_SHELLS_OWN = re.compile(
    r"(PATH|HOME|PWD|OLDPWD|CDPATH|IFS|ENV|BASH.*|PS[0-9]|PROMPT_COMMAND|SHELL.*|GLOBIGNORE|GLOBSORT|EXECIGNORE|FIGNORE|FUNCNEST|HIST.*"
    r"|TMPDIR|TMOUT|POSIXLY_CORRECT|OPT.*|MAIL.*|LD_.*|DYLD_.*|GIT_.*|.*PAGER|EDITOR|VISUAL|LESS.*|PYTHON.*|NODE_.*|PERL.*|RUBY.*"
    r"|GEM_.*|BUNDLE_.*|JAVA_.*|_JAVA_OPTIONS|CLASSPATH|MAKEFLAGS|MAKE.*|CC|CXX|LANG|LC_.*|TERM.*|USER|LOGNAME|REMIT_.*|XDG_.*"
    r"|SSH_.*|npm_.*|NPM_.*|CARGO.*|RUST.*|GO[A-Z]+|http_proxy|https_proxy|.*_PROXY|AWS_.*|TZ|_|RANDOM|SECONDS|LINENO|UID|EUID|PPID"
    r"|DIRSTACK|FUNCNAME|GROUPS|REPLY|COPROC|MAPFILE|READLINE.*|COMP.*|INPUTRC|HOST.*|OSTYPE|MACHTYPE|DISPLAY|BROWSER|CFLAGS|LDFLAGS)\Z"
)
"""Obeyed by the shell, or often in an environment, so that setting one reaches programs. Source: bash(1), *Shell Variables*."""


def steers_programs(name: str) -> bool:
    """May the variable, exported, make programs do something else?"""
    return name not in HARMLESS and _LOCALE.match(name) is None


def steers_shell(name: str) -> bool:
    """May setting it, without exporting it, change what the shell or a program does?"""
    return _SHELLS_OWN.match(name) is not None
