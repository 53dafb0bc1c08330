"""What one simple command would do, by the tables: paths read and written, addresses fetched, and what of it cannot be known.

Says nothing of the commands inside wrappers: each is looked at by itself.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mcp_server.shell.model import Folders, Simple, Sort, Touch, Word
from mcp_server.shell.options import Given, Grammar, Parsed, Role, parsed
from mcp_server.shell.plain_tables import HARMLESS, WRITERS


@dataclass(slots=True)
class Effects:
    """Gathered for one command."""

    reads: list[Touch] = field(default_factory=list[Touch])
    writes: list[Touch] = field(default_factory=list[Touch])
    urls: list[str] = field(default_factory=list[str])
    opaque: str = ""
    """Why a part of it cannot be read; empty: all can."""
    known: bool = False
    """It does nothing but what stands here."""
    harmless: bool = False
    """It stands in the read-only table, with harmless options."""
    unseen: tuple[str, ...] = ("edit", "read", "webfetch")
    """Where not all is known: what it may do besides."""
    repositories: Folders = frozenset()
    """Where git looks for its repository."""
    links: bool = False
    """It may make links."""

    def hide(self, why: str) -> None:
        """A part of it cannot be read."""
        self.opaque = self.opaque or why
        self.known = self.harmless = False


Look = Callable[[Simple, Effects], None]


def by_table(simple: Simple, name: str) -> Effects | None:
    """What the plain tables say; None: the program is not in them."""
    harmless = HARMLESS.get(name)
    grammar = harmless or WRITERS.get(name)
    if grammar is None:
        return None
    effects = Effects(known=True, harmless=harmless is not None)
    given = parsed(simple.words[1:], _adapted(name, simple, grammar))
    if given.unknown_options:
        effects.known = effects.harmless = False
        if any(word.sort is not Sort.PLAIN and not word.under for word in simple.words[1:]):
            effects.hide("a word of it is not known, and may be an option")
    for each in given.given:
        take(effects, each, simple.folders)
    finish = _FINISH.get(name)
    if finish is not None:
        finish(simple, given, effects)
    if effects.writes:
        effects.harmless = False
    return effects


def take(effects: Effects, given: Given, folders: Folders) -> None:
    """One word with its role."""
    word, role = given.word, given.role
    match role:
        case Role.FLAG | Role.TEXT | Role.TARGET:
            return  # what goes into a target is seen by the program's own look
        case Role.CODE:
            effects.hide(f"{given.option or word.raw} makes it run or obey something else")
        case Role.URL:
            address(effects, word)
        case Role.NAMES:
            _names(effects, word, folders)
        case Role.READ | Role.TREE:
            effects.reads += touches(effects, word, folders, whole=role is Role.TREE)
        case Role.WRITE | Role.BOTH:
            both = role is Role.BOTH
            found = touches(effects, word, folders, whole=both)
            effects.writes += found
            effects.reads += found if both else []


def touches(effects: Effects, word: Word, folders: Folders, *, whole: bool = False) -> list[Touch]:
    """A word as a path."""
    if word.under:
        return list(word.under)
    if word.sort is not Sort.PLAIN:
        effects.hide("which path it means cannot be told")
        return []
    if word.text in ("-", ""):
        return []
    if not folders and not word.text.startswith("/"):
        effects.hide("which folder it runs in cannot be told")
        return []
    return [Touch(text=word.text, folders=folders, whole=whole)]


def _names(effects: Effects, word: Word, folders: Folders) -> None:
    """Only looked at from outside. What lies outside the workspace is still a place that it reaches."""
    if word.sort is not Sort.PLAIN and not word.under:
        effects.hide("which path it means cannot be told")
    elif not folders and not word.text.startswith("/"):
        effects.hide("which folder it runs in cannot be told")


_NO_ADDRESS = re.compile(r"[\[\]{}\s]|^-|^$|^file:", re.IGNORECASE)
"""More than one address, none, or a local file."""


def address(effects: Effects, word: Word) -> None:
    """A word as an address."""
    if word.sort is not Sort.PLAIN or _NO_ADDRESS.search(word.text):
        effects.hide("which address it fetches cannot be told")
    else:
        effects.urls.append(word.text)


# ---- programs whose operands depend on their options ---------------------------------------------


def _adapted(name: str, simple: Simple, grammar: Grammar) -> Grammar:
    texts = [word.text for word in simple.words[1:]]
    if name in ("grep", "egrep", "fgrep", "rg", "jq"):
        given = parsed(simple.words[1:], grammar)
        if given.has("-e", "--regexp", "-f", "--file", "--from-file", "--files", "--type-list"):
            return _with(grammar, grammar.operands[1:])
    if name == "chmod" and any(re.fullmatch(r"-[rwxXst]+", text) or text.startswith("--ref") for text in texts):
        return _with(grammar, "W*")
    if name in ("chown", "chgrp") and any(text.startswith("--ref") for text in texts):
        return _with(grammar, "W*")
    if name in ("cp", "mv", "ln", "install") and parsed(simple.words[1:], grammar).has("-t", "--target-directory"):
        return _with(grammar, "B*" if name == "mv" else "D*")
    if name == "install" and ("-d" in texts or "--directory" in texts):
        return _with(grammar, "W*")
    return grammar


def _with(grammar: Grammar, operands: str) -> Grammar:
    return Grammar(
        operands=operands, options=grammar.options, harmless=grammar.harmless, sound=grammar.sound, numbers=grammar.numbers,
        single=grammar.single, source=grammar.source,
    )  # fmt: skip


def _operand_words(given: Parsed) -> list[Word]:
    return [each.word for each in given.given if not each.option]


def _searching(simple: Simple, given: Parsed, effects: Effects) -> None:
    """Grep and rg: folders are read with all in them."""
    name = simple.words[0].text.rpartition("/")[2]
    recursive = name == "rg" or given.has("-r", "-R", "--recursive", "--dereference-recursive")
    if not recursive:
        return
    hidden = name == "rg" and not given.has("-u", "-.", "--hidden", "--unrestricted", "--no-ignore")
    effects.reads = [Touch(text=each.text, folders=each.folders, whole=True, shown_only=hidden) for each in effects.reads]
    places = [each for each in given.given if not each.option and each.role in (Role.READ, Role.TREE)]
    fed = name == "rg" and (simple.reads_input or simple.fed_by is not None)
    if not places and not fed and not given.has("--files", "--type-list"):
        effects.reads += touches(effects, Word(raw=".", text="."), simple.folders, whole=True)
        effects.reads[-1:] = [Touch(text=each.text, folders=each.folders, whole=True, shown_only=hidden) for each in effects.reads[-1:]]
    if given.has("--files"):
        effects.reads = [each for each in effects.reads if each.text not in {word.text for word in _operand_words(given)}]


def _copying(simple: Simple, given: Parsed, effects: Effects) -> None:
    """cp, mv, ln, install: what lands in a folder lands there under its own name."""
    name = simple.words[0].text.rpartition("/")[2]
    operands = _operand_words(given)
    into = [each.word for each in given.given if each.option in ("-t", "--target-directory")]
    if name == "install" and given.has("-d", "--directory"):
        return
    sources = operands if into else operands[:-1]
    effects.writes = [each for each in effects.writes if name == "mv"]
    if name == "mv":
        effects.writes = [each for word in sources for each in touches(effects, word, simple.folders, whole=True)]
    targets = into or operands[-1:]
    for target in targets:
        if name == "ln" and not into and len(operands) == 1:
            target, sources = Word(raw=".", text="."), operands
        effects.writes += _landing(effects, target, sources, simple.folders, certain=bool(into) or len(sources) > 1)
    recursive = given.has(
        "-r", "-R", "-a", "-d", "-P", "-l", "-s", "--recursive", "--archive", "--no-dereference", "--link", "--symbolic-link"
    )
    effects.links = name == "ln" or (name == "cp" and recursive)
    if name == "ln" and given.has("-s", "--symbolic"):
        _pointing(effects, sources, targets[-1:], simple.folders)
    if not targets:
        effects.known = False


def _pointing(effects: Effects, sources: list[Word], targets: list[Word], folders: Folders) -> None:
    """A link's text is taken from where the link stands."""
    beside = targets[0].text.rstrip("/") if targets else "."
    above = beside.rpartition("/")[0] or "."
    for source in sources:
        if source.sort is Sort.PLAIN and not source.text.startswith("/"):
            effects.reads += [Touch(text=f"{place}/{source.text}", folders=folders) for place in {above, beside}]


def _landing(effects: Effects, target: Word, sources: list[Word], folders: Folders, *, certain: bool) -> list[Touch]:
    made: list[Touch] = []
    for place in touches(effects, target, folders):
        names = [source.text.rstrip("/").rpartition("/")[2] for source in sources if source.sort is Sort.PLAIN]
        if any(source.sort is not Sort.PLAIN for source in sources) or any(name in ("", ".", "..") for name in names):
            made.append(Touch(text=place.text, folders=place.folders, whole=True))
        for name in names:
            text = f"{place.text.rstrip('/')}/{name}" if certain else place.text
            made.append(Touch(text=text, folders=place.folders, inside_as="" if certain else name, whole=True))
    return made


def _removing(simple: Simple, given: Parsed, effects: Effects) -> None:
    if given.has("-r", "-R", "--recursive"):
        effects.writes = [Touch(text=each.text, folders=each.folders, whole=True) for each in effects.writes]


def _curl(simple: Simple, given: Parsed, effects: Effects) -> None:
    data = ("-d", "--data", "--data-binary", "--data-urlencode", "-F", "--form", "-H", "--header", "--json", "-w", "--write-out", "-b")
    for each in given.given:
        text = each.word.text
        if each.option in data and (sent := re.search(r"(?:@|=<)([^;]*)", text)):
            name = sent.group(1)
            effects.reads += touches(effects, Word(raw=name, text=name, sort=each.word.sort), simple.folders)
    if given.has("-L", "--location"):
        _elsewhere(effects)
    folder = next((each.word.text for each in given.given if each.option == "--output-dir"), "")
    if folder:
        effects.writes = [Touch(text=f"{folder}/{each.text}", folders=each.folders) for each in effects.writes]
    if given.has("-O", "--remote-name"):
        _saved(effects, simple, folder)


def _elsewhere(effects: Effects) -> None:
    """A server may send it on to any other address."""
    effects.known = False
    effects.unseen = ("webfetch",)


def _wget(simple: Simple, given: Parsed, effects: Effects) -> None:
    _elsewhere(effects)
    if not given.has("-O", "--output-document", "--spider"):
        folder = next((each.word.text for each in given.given if each.option in ("-P", "--directory-prefix")), "")
        _saved(effects, simple, folder)


def _saved(effects: Effects, simple: Simple, folder: str) -> None:
    """Under the last name of each address."""
    for url in effects.urls:
        name = re.sub(r"[?#].*", "", url).partition("://")[2].partition("/")[2].rpartition("/")[2] or "index.html"
        effects.writes += touches(effects, Word(raw=name, text=f"{folder}/{name}" if folder else name), simple.folders)


def _packing(_simple: Simple, given: Parsed, effects: Effects) -> None:
    """Gzip and its like write beside what they read, or only out."""
    if given.has("-c", "--stdout", "-l", "--list", "-t", "--test"):
        effects.writes = []
    effects.known = False
    effects.unseen = ("edit",)


def _making(_simple: Simple, given: Parsed, effects: Effects) -> None:
    """`mkdir -p a/../b` makes `a` too."""
    if given.has("-p", "--parents"):
        for each in list(effects.writes):
            steps = each.text.split("/")
            ups = [at for at, step in enumerate(steps) if step == ".." and at]
            effects.writes += [Touch(text="/".join(steps[:at]), folders=each.folders) for at in ups]


def _patching(_simple: Simple, given: Parsed, effects: Effects) -> None:
    if not _operand_words(given):
        effects.known = False


def _unknown_writes(_simple: Simple, _given: Parsed, effects: Effects) -> None:
    effects.known = False


_FINISH: Mapping[str, Callable[[Simple, Parsed, Effects], None]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), _searching),
    **dict.fromkeys(("cp", "mv", "ln", "install"), _copying),
    **dict.fromkeys(("rm", "chmod", "chown", "chgrp"), _removing),
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"), _packing),
    "curl": _curl,
    "wget": _wget,
    "patch": _patching,
    "split": _unknown_writes,
    "mkdir": _making,
}
