"""From a line to all that it would do, as it is judged: commands in their forms, paths, addresses, and what cannot be known.

Pure but for the second parser, and for `expand`, by which patterns are looked up. What is not certain is opaque; of an
opaque line `rough` still finds every place where a command may begin, so that a deny is heard.
"""

from dataclasses import dataclass

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import CommandValue
from mcp_server.shell import prefixes
from mcp_server.shell.doing import SAYING, check_hidden, effects_of
from mcp_server.shell.effects import Effects
from mcp_server.shell.forms import peeled, program
from mcp_server.shell.model import Expand, Folders, Found, Simple, Sort, Touch, nothing
from mcp_server.shell.rough import rough
from mcp_server.shell.second import confirmed
from mcp_server.shell.variables import steers_programs
from mcp_server.shell.walking import Walk
from mcp_server.shell.words import assignment, named
from mcp_server.shell.wrapping import Inside, inside

MAX_LINE = 8 * 1024
"""Bytes. Longer than what people write or read; what is longer belongs into a script."""

MAX_COMMANDS = 1000
"""Commands of one line, those inside others counted. Nobody writes so many; each is judged."""


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
        effects = effects_of(simple)
        self.repositories |= effects.repositories
        held = inside(simple, self._line)
        if held.opaque:
            effects.hide(held.opaque)
        loose = [word for word in simple.words if word.sort is not Sort.PLAIN and not word.under]
        if simple.words[0].sort is not Sort.PLAIN or assignment(simple.words[0].text) or (held.wraps and held.opaque and loose):
            self.walk.problem("which program it runs cannot be told")
        check_hidden(simple, effects, wraps=held.wraps)
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

    def _gather(self, simple: Simple, effects: Effects) -> None:
        self.reads += effects.reads
        self.writes += effects.writes
        self.urls += effects.urls
        if effects.links:
            self.linked += [(each, len(self.reads), len(self.writes)) for each in effects.writes]
        if program(simple.words[0].text) not in SAYING:
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


def _through(made: Touch, used: Touch) -> bool:
    """May the way to one lead through the other?"""
    if made.some:
        return not used.text.startswith("/")
    return used.text == made.text or used.text.startswith((f"{made.text.rstrip('/')}/", f"./{made.text}"))


_CHANGING = named("sudo doas pkexec chroot nsenter unshare strace ltrace fakeroot torsocks setsid exec")


def _harmless_wrapper(simple: Simple, *, bare: bool) -> bool:
    name = program(simple.words[0].text)
    return name in ("env", "time", "nice", "command") if bare else name not in _CHANGING


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
