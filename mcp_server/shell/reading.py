"""From a line to all that it would do, as it is judged: commands in their forms, paths, addresses, and what cannot be known.

Pure but for the second parser, and for `expand`, by which patterns are looked up. What is not certain is opaque; of an
opaque line `rough` still finds every place where a command may begin, so that a deny is heard.
"""

from dataclasses import dataclass

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import CommandValue
from mcp_server.shell import prefixes
from mcp_server.shell.effects import Effects, by_table
from mcp_server.shell.forms import peeled, program, runs_hidden
from mcp_server.shell.git import git_effects
from mcp_server.shell.model import Expand, Folders, Found, Simple, Sort, Touch, nothing
from mcp_server.shell.rough import rough
from mcp_server.shell.second import confirmed
from mcp_server.shell.special import SPECIAL, UNDERSTOOD
from mcp_server.shell.variables import steers_programs
from mcp_server.shell.walking import Walk
from mcp_server.shell.words import assignment, named
from mcp_server.shell.wrapping import Inside, inside

MAX_LINE = 8 * 1024
"""Bytes. Longer than what people write or read; what is longer belongs into a script."""

MAX_COMMANDS = 1000
"""Commands of one line, those inside others counted. Nobody writes so many; each is judged."""

SYSTEM = ("/bin/", "/usr/bin/")
"""Where the programs of the tables lie. A program of such a name elsewhere is another program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A line as it is judged."""

    commands: tuple[CommandValue, ...]
    reads: tuple[Touch, ...]
    writes: tuple[Touch, ...]
    visited: tuple[Touch, ...]
    """Folders that it changes to."""
    urls: tuple[str, ...]
    words: tuple[tuple[str, Folders], ...]
    """Words that may name places, and where from; the programs left out where they are certain."""
    repositories: Folders
    """Where git, run by it, looks for its repository."""
    why: tuple[str, ...]
    """Why parts of it cannot be read, in words."""


def read_line(line: str, *, folder: str, home: str = "", expand: Expand = lambda pattern, folder: None, second: bool = True) -> Reading:
    """What the line would do in a folder. `home`: what `$HOME` stands for, where that is known.

    Raises:
        ToolFailure: It is empty, too long, or holds a character that no line should.
    """
    refuse_nonsense(line)
    text = line.strip(" \t\n")
    try:
        return _Reader(text, folder, home, expand, second).read()
    except RecursionError:
        raise ToolFailure("the command is nested deeper than anybody reads; give it in parts, or write a script") from None


class _Reader:
    def __init__(self, text: str, folder: str, home: str, expand: Expand, second: bool) -> None:
        self.text = text
        self.home = home
        self.folder = folder
        self.found: Found = nothing()
        variables = {"PWD": folder, **({"HOME": home} if home else {})}
        self.walk = Walk(variables, expand, self.found)
        self.second = second
        self.values: list[CommandValue] = []
        self.reads: list[Touch] = []
        self.writes: list[Touch] = []
        self.urls: list[str] = []
        self.words: list[tuple[str, Folders]] = []
        self.why: list[str] = []
        self.repositories: Folders = frozenset()
        self.linked: list[tuple[Touch, int, int]] = []

    def read(self) -> Reading:
        self.walk.line(self.text, frozenset({self.folder}))
        at = 0
        while at < len(self.found.simples):
            self._one(self.found.simples[at], ())
            at += 1
            if len(self.values) > MAX_COMMANDS:
                raise ToolFailure(f"the line holds more than {MAX_COMMANDS} commands; put them into a script, or give them one by one")
        self._links()
        if self.second and not self.found.problems and not confirmed(self.found.lines, self.found.seen):
            self.walk.problem("a second parser does not see the same commands in it")
        if self.found.problems:
            self._unread()
        return self._made()

    def _made(self) -> Reading:
        reads = (*self.found.reads, *self.reads)
        writes = (*self.found.writes, *self.writes)
        values = tuple(dict.fromkeys(self.values))
        if not values and not writes:
            opaque = bool(self.found.problems)
            values = (CommandValue(text=self.text, opaque=opaque, read_only=not opaque, effects_known=not opaque),)
        return Reading(
            commands=values,
            reads=tuple(dict.fromkeys(reads)),
            writes=tuple(dict.fromkeys(writes)),
            visited=tuple(self.found.visited),
            urls=tuple(dict.fromkeys(self.urls)),
            words=tuple(dict.fromkeys(self.words)),
            repositories=self.repositories,
            why=tuple(dict.fromkeys((*self.found.problems, *self.why))),
        )

    def _unread(self) -> None:
        """The line is opaque, and each of its parts: a rule that vouches for opaque commands must vouch for all of them."""
        seen = rough(self.text, self.home)
        forms = tuple(dict.fromkeys(form for piece in seen.pieces for form in piece.forms))
        whole = CommandValue(text=self.text, forms=forms, opaque=True, offer="")
        parts = [
            CommandValue(text=piece.text, forms=piece.forms, opaque=True, offer="") for piece in seen.pieces if piece.text != self.text
        ]
        known = [CommandValue(text=each.text, forms=each.forms, opaque=True, offer="") for each in self.values]
        texts = {whole.text, *(part.text for part in parts)}
        self.values = [whole, *parts, *(each for each in known if each.text not in texts)]
        self.words += [(word, frozenset({self.folder})) for word in seen.words]

    def _links(self) -> None:
        """A path through a link that the line itself makes leads where nobody can tell beforehand."""
        redirects = [*self.found.reads, *self.found.writes, *self.found.visited]
        for made, reads, writes in self.linked:
            after = [*redirects, *self.reads[reads:], *self.writes[writes:]]
            if any(_through(made, each) for each in after):
                self.walk.problem("it uses links that it makes itself")

    # ---- one command ----------------------------------------------------------------------------

    def _one(self, simple: Simple, outer: tuple[str, ...]) -> bool:
        """Judge it and what is in it. True: it is harmless."""
        if simple.compound:
            text = simple.words[0].text
            self.values.append(CommandValue(text=text, forms=(), read_only=True, effects_known=True, offer=""))
            return True
        effects = self._effects(simple)
        held = inside(simple, self._line)
        if held.opaque:
            effects.hide(held.opaque)
        loose = [word for word in simple.words if word.sort is not Sort.PLAIN and not word.under]
        if simple.words[0].sort is not Sort.PLAIN or assignment(simple.words[0].text) or (held.wraps and held.opaque and loose):
            self.walk.problem("which program it runs cannot be told")
        self._hidden(simple, effects, held)
        forms = self._forms(simple)
        whole = (*outer, *forms)
        place = len(self.values)
        within = [self._one(each, whole if held.transparent else ()) for each in held.commands]
        if held.wraps and not effects.opaque:
            effects.known = True
            effects.harmless = all(within) and _harmless_wrapper(simple, bare=not within)
        self._gather(simple, effects)
        if not held.transparent:
            self.values.insert(place, self._value(simple, effects, whole, held))
        if len(self.values) > MAX_COMMANDS:
            raise ToolFailure(f"the line holds more than {MAX_COMMANDS} commands; put them into a script, or give them one by one")
        return effects.harmless

    def _line(self, text: str, folders: Folders) -> None:
        """A line inside the line: its commands are judged like all others."""
        if len(self.found.lines) > 20:
            self.walk.problem("it holds lines in lines, deeper than anybody reads")
            return
        Walk(self.walk.wording.variables, lambda pattern, folder: None, self.found, len(self.found.lines)).line(text, folders)

    def _effects(self, simple: Simple) -> Effects:
        written = simple.words[0].text
        name = program(written)
        effects = Effects()
        if name == "git":
            git_effects(simple, effects)
            self.repositories |= effects.repositories
        elif name in SPECIAL:
            SPECIAL[name](simple, effects)
        else:
            effects = by_table(simple, name) or _untold(simple, name)
        if "/" in written and not any(written == f"{folder}{name}" for folder in SYSTEM):
            effects.known = effects.harmless = False
        _doubts(simple, name, effects)
        return effects

    def _hidden(self, simple: Simple, effects: Effects, held: Inside) -> None:
        texts = tuple(word.text for word in simple.words)
        name = program(texts[0])
        told = name in UNDERSTOOD or name in _TOLD or held.wraps or _only_shows(name, texts)
        if not told and runs_hidden(texts) and not effects.harmless:
            effects.hide("it runs code, or a program, that its words do not show")

    def _gather(self, simple: Simple, effects: Effects) -> None:
        self.reads += effects.reads
        self.writes += effects.writes
        self.urls += effects.urls
        if effects.links:
            self.linked += [(each, len(self.reads), len(self.writes)) for each in effects.writes]
        if program(simple.words[0].text) not in _SAYING:
            self.words += [(word.text, simple.folders) for word in simple.words[1:] if not word.under and word.text != "…"]
        if effects.opaque:
            self.why.append(effects.opaque)

    def _forms(self, simple: Simple) -> tuple[str, ...]:
        texts = tuple(word.text for word in simple.words)
        return peeled((*(one.raw for one in simple.assigned), *texts)).forms

    def _value(self, simple: Simple, effects: Effects, forms: tuple[str, ...], held: Inside) -> CommandValue:
        told = all(not steers_programs(one.name) for one in simple.assigned)
        shown = [word.raw for word in simple.words if word.raw]
        whole = " ".join([*(one.raw for one in simple.assigned), *shown])
        text = " ".join(shown) if told else whole
        plain = not effects.opaque and not held.wraps and told
        return CommandValue(
            text=text,
            forms=tuple(form for form in dict.fromkeys((*forms, whole)) if form != text),
            opaque=bool(effects.opaque),
            read_only=effects.harmless,
            effects_known=effects.known,
            unseen=effects.unseen,
            offer=prefixes.offered(simple.words, text) if plain else "",
        )


def _doubts(simple: Simple, name: str, effects: Effects) -> None:
    """What may make it do something else than its words say."""
    if any(word.matched and word.text.startswith("-") for word in simple.words):
        effects.hide("the name of a file looks like an option")
    if name in prefixes.INTERPRETERS and not _has_script(simple):
        effects.hide("it runs what it is fed")
    for one in simple.assigned:
        if steers_programs(one.name):
            effects.hide(f"setting {one.name} may change what programs do")
    if simple.words[0].sort is not Sort.PLAIN:
        effects.hide("which program it runs cannot be told")


def _has_script(simple: Simple) -> bool:
    texts = [word.text for word in simple.words[1:]]
    asks = bool(texts) and set(texts) <= {"--version", "-V", "-v", "--help", "-h", "-version"}
    return asks or any(not text.startswith("-") for text in texts) or "-m" in texts or any("c" in text or "e" in text for text in texts)


_TOLD = named("curl fd rg wget exec git set sort")
"""Their own tables say which of their options run programs."""


def _through(made: Touch, used: Touch) -> bool:
    """May the way to one lead through the other?"""
    if made.some:
        return not used.text.startswith("/")
    return used.text == made.text or used.text.startswith((f"{made.text.rstrip('/')}/", f"./{made.text}"))


_SAYING = named("printf exit true return false echo :")
"""Programs whose words are only said."""

_CHANGING = named("sudo doas pkexec chroot nsenter unshare strace ltrace fakeroot torsocks setsid exec")


def _harmless_wrapper(simple: Simple, *, bare: bool) -> bool:
    name = program(simple.words[0].text)
    return name in ("env", "time", "nice", "command") if bare else name not in _CHANGING


_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl"})
_SHOWING = named(
    "ps images logs inspect version info top port stats history events diff search get describe explain api-resources api-versions"
)
"""Commands of theirs that run nothing. Source: docs.docker.com, CLI reference; kubernetes.io, kubectl reference."""


def _only_shows(name: str, texts: tuple[str, ...]) -> bool:
    if name not in _CONTAINERS:
        return False
    words = texts[2:] if texts[1:2] in (("compose",), ("container",), ("image",), ("network",), ("volume",)) else texts[1:]
    return words[:1] != () and (words[0] in _SHOWING or words[0] in ("ls", "config"))


_TEXTS = {
    "gh": named("--comment -m --notes --message -t -b --body -n --subject --title"),
    "glab": frozenset({"-t", "-d", "--title", "--description", "-m"}),
    "hg": frozenset({"-m", "--message"}),
}
"""Options whose value is only text, also where it is not known."""


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


def refuse_nonsense(line: str) -> None:
    """Stop at what no shell should get.

    Raises:
        ToolFailure: It is empty, too long, or holds a character that no line should.
    """
    if not line.strip():
        raise ToolFailure("the command is empty")
    if "\0" in line:
        raise ToolFailure("the command holds a NUL character, which no shell can take")
    if "\r" in line:
        raise ToolFailure("the command holds a carriage return; end lines with a line feed alone")
    try:
        encoded = line.encode()
    except UnicodeEncodeError:
        raise ToolFailure("the command is not valid Unicode text") from None
    if len(encoded) > MAX_LINE:
        raise ToolFailure(f"the command has {len(encoded):,} bytes, the limit is {MAX_LINE:,}; write a script and run that")
