"""What one command does, whichever table describes it, and whether its words say all of what it runs."""

import re

from mcp_server.shell.effects import Effects, by_table
from mcp_server.shell.forms import program, runs_hidden
from mcp_server.shell.git import git_effects
from mcp_server.shell.model import Simple, Sort
from mcp_server.shell.prefixes import INTERPRETERS
from mcp_server.shell.special import SPECIAL, UNDERSTOOD
from mcp_server.shell.variables import steers_programs
from mcp_server.shell.words import named

SYSTEM = ("/bin/", "/usr/bin/")
"""Where the programs of the tables lie. A program of such a name elsewhere is another program."""

SAYING = named("printf exit true return false echo :")
"""Programs whose words are only said."""

_TOLD = named("curl fd rg wget exec git set sort")
"""Their own tables say which of their options run programs."""

_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl"})
_SHOWING = named(
    "ps images logs inspect version info top port stats history events diff search get describe explain api-resources api-versions"
)
"""Commands of theirs that run nothing. Source: docs.docker.com, CLI reference; kubernetes.io, kubectl reference."""

_TEXTS = {
    "gh": named("--comment -m --notes --message -t -b --body -n --subject --title"),
    "glab": frozenset({"-t", "-d", "--title", "--description", "-m"}),
    "hg": frozenset({"-m", "--message"}),
}
"""Options whose value is only text, also where it is not known."""


def effects_of(simple: Simple) -> Effects:
    """By the tables; of a program that none describes, what can be said of any."""
    written = simple.words[0].text
    name = program(written)
    effects = Effects()
    if name == "git":
        git_effects(simple, effects)
    elif name in SPECIAL:
        SPECIAL[name](simple, effects)
    else:
        effects = by_table(simple, name) or _untold(simple, name)
    if "/" in written and not any(written == f"{folder}{name}" for folder in SYSTEM):
        effects.known = effects.harmless = False
    _doubts(simple, name, effects)
    return effects


def check_hidden(simple: Simple, effects: Effects, *, wraps: bool) -> None:
    """Hide it where it runs inline code, or a program that an option names, and nothing looked at that."""
    texts = tuple(word.text for word in simple.words)
    name = program(texts[0])
    told = name in UNDERSTOOD or name in _TOLD or wraps or _only_shows(name, texts)
    if not told and runs_hidden(texts) and not effects.harmless:
        effects.hide("it runs code, or a program, that its words do not show")


def _doubts(simple: Simple, name: str, effects: Effects) -> None:
    """What may make it do something else than its words say."""
    if any(word.matched and word.text.startswith("-") for word in simple.words):
        effects.hide("the name of a file looks like an option")
    if name in INTERPRETERS and not _has_script(simple):
        effects.hide("it runs what it is fed")
    for one in simple.assigned:
        if steers_programs(one.name):
            effects.hide(f"setting {one.name} may change what programs do")
    if simple.words[0].sort is not Sort.PLAIN:
        effects.hide("which program it runs cannot be told")


def _has_script(simple: Simple) -> bool:
    """Is it told what to run, or does it run its input?"""
    texts = [word.text for word in simple.words[1:]]
    if texts and set(texts) <= {"--version", "-V", "-v", "--help", "-h", "-version"}:
        return True
    valued = {at + 1 for at, text in enumerate(texts) if re.fullmatch(r"-[A-Za-z]*[WX]|--check-hash-based-pycs", text)}
    return any(not text.startswith("-") for at, text in enumerate(texts) if at not in valued)


def _only_shows(name: str, texts: tuple[str, ...]) -> bool:
    if name not in _CONTAINERS:
        return False
    words = texts[2:] if texts[1:2] in (("compose",), ("container",), ("image",), ("network",), ("volume",)) else texts[1:]
    return words[:1] != () and (words[0] in _SHOWING or words[0] in ("ls", "config"))


def _untold(simple: Simple, name: str) -> Effects:
    """A program that no table describes: allowed by its words or not at all."""
    effects = Effects()
    previous = ""
    for word in simple.words[1:]:
        text_only = word.sort is Sort.ONE and previous in _TEXTS.get(name, ())
        if word.sort is not Sort.PLAIN and not word.under and not text_only:
            effects.hide("a word of it is not known")
        previous = word.text
    return effects
