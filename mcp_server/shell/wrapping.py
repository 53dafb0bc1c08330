"""The commands inside a command: what wrappers, shells and searches run, as simple commands of their own."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from mcp_server.shell.forms import program, wrapped_at
from mcp_server.shell.model import NOWHERE, Folders, Simple, Sort, Touch, Word
from mcp_server.shell.programs import SHELLS
from mcp_server.shell.special import find_runs, found_under
from mcp_server.shell.variables import steers_programs
from mcp_server.shell.words import assignment

TRANSPARENT = frozenset({"time", "timeout", "nice", "nohup", "stdbuf", "ionice", "command"})
"""Wrappers that change nothing of what the command inside may do: it alone is judged, and they are forms of it.
Source: GNU coreutils manual, *Modified command invocation*; bash(1)."""

_SAYS = frozenset({"time", "strace", "ltrace"})
"""Wrappers with an option `-o FILE`."""

_JOINING = frozenset({"watch", "parallel"})
"""They hand their words to a shell as one line."""

_ENDS = re.compile(r"-[A-Za-z]*c[A-Za-z]*\Z")
_QUIET_SHELL = re.compile(r"-[ceux]+\Z")


@dataclass(slots=True)
class Inside:
    """What is found in one command."""

    commands: list[Simple]
    opaque: str = ""
    """Why it is not certain that this is all."""
    transparent: bool = False
    """The command itself is no value of its own."""
    wraps: bool = False
    """It is a wrapper, a shell or a search that runs commands."""


def inside(simple: Simple, line: Callable[[str, Folders], None]) -> Inside:
    """The commands in it. `line` is told of each line that a shell in it reads, and where."""
    name = program(simple.words[0].text)
    texts = tuple(word.text for word in simple.words)
    if name == "find":
        runs = [replace(simple, words=words, assigned=(), reads_input=True) for words in find_runs(simple)]
        if "-execdir" in texts or "-okdir" in texts:
            runs = [replace(each, folders=NOWHERE) for each in runs]
        return Inside(commands=runs, wraps=bool(runs))
    if name in SHELLS:
        return _shell(simple, line)
    if name == "script":
        return _recorded(simple, line)
    if name == "command" and len(texts) > 1 and texts[1] in ("-v", "-V"):
        return Inside(commands=[], wraps=True)
    at = wrapped_at(texts)
    if name == "xargs":
        return _fed(simple, at)
    if at is not None:
        return _wrapper(simple, name, at, line)
    uncertain = _is_wrapper(name)
    return Inside(commands=[], opaque="which command it runs cannot be told" if uncertain else "", wraps=uncertain)


def _is_wrapper(name: str) -> bool:
    return wrapped_at((name,)) is not None


def _wrapper(simple: Simple, name: str, at: int, line: Callable[[str, Folders], None]) -> Inside:
    before, words = simple.words[1:at], simple.words[at:]
    made = Inside(commands=[], wraps=True)
    options = {word.text.partition("=")[0] for word in before}
    if any(word.sort is not Sort.PLAIN for word in before):
        made.opaque = "which command it runs cannot be told"
    if name in _SAYS and any(option.startswith(("-o", "--out")) for option in options):
        made.opaque = "it writes down what it sees"
    if any(assignment(word.text) and steers_programs(word.text.partition("=")[0]) for word in before):
        made.opaque = "a variable it sets may change what programs do"
    if name == "flock":
        made.opaque = "it makes a file to lock"
    moves = name in ("env", "sudo", "doas") and any(option.startswith(("-C", "-D", "--chd")) for option in options)
    folders = NOWHERE if moves or name == "chroot" else simple.folders
    if name in _JOINING:
        text = " ".join(word.text for word in words)
        if name == "parallel" or any(word.sort is not Sort.PLAIN for word in words):
            made.opaque = "what it runs is made of its input"
        line(text, folders)
    elif words:
        made.commands.append(replace(simple, words=words, assigned=(), folders=folders))
    plain = name == simple.words[0].raw and name in TRANSPARENT
    made.transparent = plain and bool(words) and not made.opaque and not simple.assigned
    return made


def _recorded(simple: Simple, line: Callable[[str, Folders], None]) -> Inside:
    """script(1): a line, in a terminal of its own that is written down."""
    said = [
        value if given else following.text
        for word, following in pairwise((*simple.words[1:], Word(raw="", text="", sort=Sort.PLAIN)))
        for option, given, value in (word.text.partition("="),)
        if option == "--command" or _ENDS.match(option)
    ]
    for text in said:
        line(text, simple.folders)
    return Inside(commands=[], opaque="it gives what it runs a terminal, and writes down what is shown there", wraps=bool(said))


def _fed(simple: Simple, at: int | None) -> Inside:
    """xargs: the command gets words of its input behind its own."""
    if at is None:
        return Inside(commands=[], opaque="which command it runs cannot be told", wraps=True)
    before, words = simple.words[1:at], simple.words[at:]
    under = () if any(word.text.startswith(("-a", "--arg")) for word in before) else _results(simple.fed_by)
    made = Inside(commands=[], wraps=True)
    if any(word.sort is not Sort.PLAIN for word in (*before, *words[:1])):
        made.opaque = "which command it runs cannot be told"
    replaced = _replaced(before)
    if replaced is None:
        words = (*words, Word(raw="…", text="…", sort=Sort.MANY, under=under))
    else:
        words = tuple(
            Word(raw=word.raw, text=word.text, sort=Sort.MANY, under=under if word.text == replaced else ())
            if replaced in word.text
            else word
            for word in words
        )
    if len(words) > 1 and (not replaced or simple.words[at:]):
        made.commands.append(replace(simple, words=words, assigned=(), fed_by=None, reads_input=True))
    return made


def _replaced(before: tuple[Word, ...]) -> str | None:
    for at, word in enumerate(before):
        if word.text in ("-I", "--replace") and at + 1 < len(before):
            return before[at + 1].text
        if word.text.startswith("-I"):
            return word.text[2:]
    return None


def _results(fed_by: Simple | None) -> tuple[Touch, ...]:
    """The places that the lines of a command's output lie in; empty: that cannot be told."""
    if fed_by is None or not fed_by.words:
        return ()
    texts = [word.text for word in fed_by.words]
    if texts[0] == "find" and not {"-printf", "-exec", "-execdir", "-ls", "-ok"} & set(texts):
        return found_under(fed_by)
    return ()  # of other lists a name may begin with a dash, and count as an option


def _shell(simple: Simple, line: Callable[[str, Folders], None]) -> Inside:
    made = Inside(commands=[])
    words = simple.words[1:]
    for at, word in enumerate(words):
        if word.sort is not Sort.PLAIN:
            made.opaque = "what the shell is told to do cannot be told"
            return made
        if not word.text.startswith("-") and not word.text.startswith("+"):
            return made
        if _ENDS.match(word.text) and not word.text.startswith("--"):
            return _told(made, words, at, simple.folders, line)
        if word.text == "-s" or word.text.startswith(("--rc", "--init", "-i")):
            made.opaque = "what the shell is told to do cannot be told"
    if not {word.text for word in words} & {"--version", "--help"}:
        made.opaque = "the shell runs what it is fed"
    return made


def _told(made: Inside, words: tuple[Word, ...], at: int, folders: Folders, line: Callable[[str, Folders], None]) -> Inside:
    made.wraps = True
    if at + 1 >= len(words) or words[at + 1].sort is not Sort.PLAIN:
        made.opaque = "what the shell is told to do cannot be told"
        return made
    if not _QUIET_SHELL.match(words[at].text):
        made.opaque = "the shell reads its start-up files first"
    line(words[at + 1].text, folders)
    return made
