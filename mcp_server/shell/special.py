"""Programs whose words are a language of their own: find, tar, dd, sed, awk, test, and editors in place."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from mcp_server.shell.effects import Effects, take, touches
from mcp_server.shell.model import Simple, Sort, Touch, Word
from mcp_server.shell.options import Grammar, Parsed, Role, options, parsed
from mcp_server.shell.words import named

# ---- find ---------------------------------------------------------------------------------------

_FIND_ALONE = named(
    "-print -print0 -prune -empty -follow -xdev -mount -depth -d -quit -ls -true -false -not -and -or -o -a ! ( ) , -daystart "
    "-noleaf -readable -writable -executable -nouser -nogroup -ignore_readdir_race -warn -nowarn"
)
_FIND_VALUED = named(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -ctime -cmin "
    "-atime -amin -newer -anewer -cnewer -newermt -newerct -maxdepth -mindepth -perm -user -group -uid -gid -links -inum "
    "-samefile -used -lname -ilname -printf -fstype -context"
)
_FIND_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
"""Source for all of find: GNU findutils manual."""


def find_roots(simple: Simple) -> tuple[list[Word], int]:
    """Where a search starts, and where its expression does."""
    at = 1
    while at < len(simple.words) and simple.words[at].text in ("-L", "-H", "-P", "-O1", "-O2", "-O3"):
        at += 1
    start = at
    while at < len(simple.words) and not simple.words[at].text.startswith(("-", "(", "!", ",")):
        at += 1
    return list(simple.words[start:at]) or [Word(raw=".", text=".")], at


def found_under(simple: Simple) -> tuple[Touch, ...]:
    """The places that a search's results lie in; empty: that cannot be told."""
    scratch = Effects()
    roots, _ = find_roots(simple)
    under = [place for root in roots for place in touches(scratch, root, simple.folders, whole=True)]
    return () if scratch.opaque else tuple(under)


def _find(simple: Simple, effects: Effects) -> None:
    roots, at = find_roots(simple)
    effects.known = effects.harmless = True
    under = found_under(simple)
    if not under:
        effects.hide("where it searches cannot be told")
    words = simple.words
    while at < len(words):
        at = _find_one(simple, effects, words, at)
    if any(word.text == "-delete" for word in words):
        effects.writes += under
    if effects.writes:
        effects.harmless = False
    del roots


def _find_one(simple: Simple, effects: Effects, words: tuple[Word, ...], at: int) -> int:
    text = words[at].text
    if words[at].sort is not Sort.PLAIN:
        effects.hide("a word of it is not known, and may be an option")
    if text in _FIND_WRITES:
        effects.writes += touches(effects, words[at + 1], simple.folders) if at + 1 < len(words) else []
        return at + 1 + _FIND_WRITES[text]
    if text in FIND_RUNS:
        return _run_ends(words, at) + 1
    if text in _FIND_VALUED:
        if at + 1 < len(words) and words[at + 1].sort is Sort.MANY:
            effects.hide("a word of it is not known, and may be an option")
        return at + 2
    if text not in _FIND_ALONE and text != "-delete":
        effects.known = effects.harmless = False
        if text.startswith("-files0"):
            effects.hide("where it searches cannot be told")
    return at + 1


def _run_ends(words: tuple[Word, ...], at: int) -> int:
    for place in range(at + 1, len(words)):
        if words[place].text == ";" or (words[place].text == "+" and words[place - 1].text == "{}"):
            return place
    return len(words)


def find_runs(simple: Simple) -> list[tuple[Word, ...]]:
    """The commands that a search runs, with what it puts in place of `{}`."""
    under = found_under(simple)
    made: list[tuple[Word, ...]] = []
    for at, word in enumerate(simple.words):
        if word.text in FIND_RUNS:
            inner = simple.words[at + 1 : _run_ends(simple.words, at)]
            made.append(
                tuple(Word(raw=each.raw, text=each.text, sort=Sort.ONE, under=under) if "{}" in each.text else each for each in inner)
            )
    return [each for each in made if each]


# ---- tar, dd ------------------------------------------------------------------------------------

_TAR = Grammar(
    operands="T*",
    options=options(
        "-cxtrudvzjJahpkmOoSPwWlnisUB -f:T -C:T -X:R -T:X -F:X -I:X -b:T -N:T -K:T -V:T -H:T -L:T -g:X --create --extract --get --list "
        "--append --update --file:T --directory:T --gzip --bzip2 --xz --zstd --verbose --exclude:T --exclude-from:R --strip-components:T "
        "--to-command:X --checkpoint-action:X --checkpoint --use-compress-program:X --rsh-command:X --info-script:X --new-volume-script:X "
        "--files-from:X --to-stdout --keep-old-files --overwrite --preserve-permissions --no-same-owner --exclude-vcs --auto-compress "
        "--transform:T --xform:T --sort:T --mtime:T --owner:T --group:T --dereference --absolute-names --one-file-system --wildcards "
        "--remove-files --listed-incremental:X --index-file:W --multi-volume --totals --anchored --delete --catenate --diff"
    ),
    source="GNU tar manual",
)


def _tar(simple: Simple, effects: Effects) -> None:
    words = list(simple.words)
    if len(words) > 1 and re.fullmatch(r"[A-Za-z]+", words[1].text):
        words[1] = Word(raw=words[1].raw, text=f"-{words[1].text}", sort=words[1].sort)
    given = parsed(tuple(words[1:]), _TAR)
    _seen(effects, given.unknown_options, simple)
    for each in given.given:
        if each.role in (Role.CODE, Role.READ, Role.WRITE):
            take(effects, each, simple.folders)
    making = given.has("-c", "--create", "-r", "--append", "-u", "--update", "--delete")
    taking = given.has("-x", "--extract", "--get") and not given.has("-O", "--to-stdout")
    for each in given.given:
        if each.option in ("-f", "--file"):
            (effects.writes if making else effects.reads).extend(touches(effects, each.word, simple.folders))
            if ":" in each.word.text:
                effects.hide("it may reach another machine")
    folders = [each.word for each in given.given if each.option in ("-C", "--directory")]
    _packed(simple, given, effects, folders, making=making, taking=taking)
    effects.harmless = effects.known and given.has("-t", "--list") and not effects.writes
    # What lies in an archive, and where a link in it leads, no word says.
    effects.known = effects.harmless
    effects.links = taking


def _packed(simple: Simple, given: Parsed, effects: Effects, folders: list[Word], *, making: bool, taking: bool) -> None:
    """What goes into an archive, or comes out of it."""
    if making and not folders:
        for each in given.given:
            if not each.option:
                effects.reads += touches(effects, each.word, simple.folders, whole=True)
    if taking:
        for word in folders or [Word(raw=".", text=".")]:
            effects.writes += [replace(each, some=True) for each in touches(effects, word, simple.folders, whole=True)]


def _dd(simple: Simple, effects: Effects) -> None:
    effects.known = True
    for word in simple.words[1:]:
        name, _, value = word.text.partition("=")
        if word.sort is not Sort.PLAIN:
            effects.hide("which path it means cannot be told")
        elif name in ("if", "of"):
            (effects.reads if name == "if" else effects.writes).extend(touches(effects, Word(raw=value, text=value), simple.folders))


# ---- sed, awk: programs as words -----------------------------------------------------------------

_SED = Grammar(
    operands="TR*",
    options=options(
        "-nErsuz -e:T -f:X -l:T --quiet --silent --regexp-extended --expression:T --file:X --separate --null-data --unbuffered --debug "
        "--posix --sandbox --follow-symlinks --line-length:T"
    ),
    source="GNU sed manual",
)
_ADDRESS = r"(?:(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?)(?:,[+~]?(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?))?\s*!?\s*)?"
_SUBSTITUTE = r"[sy]([/|#,:@!%_+])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiImM0-9]*"
_SED_COMMAND = re.compile(rf"\s*{_ADDRESS}(?:{_SUBSTITUTE}|[dDpPnNgGhHxlqQ=](?:[0-9]*))?\s*(?:;|\n|\Z)")
_SED_TEXT = re.compile(rf"\s*{_ADDRESS}[aic]\\?\s*[^\\\n]*\Z")


def sed_is_plain(script: str) -> bool:
    """Only commands that change the text that goes through it: no `e`, `w`, `r`, `W`, `R`, and no flags that do the same."""
    if _SED_TEXT.match(script):
        return True
    at = 0
    while at < len(script):
        found = _SED_COMMAND.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
    return True


def _sed(simple: Simple, effects: Effects) -> None:
    in_place = [word for word in simple.words[1:] if word.sort is Sort.PLAIN and _in_place(word.text)]
    kept = tuple(each for word in simple.words[1:] if (each := _without_in_place(word, in_place)) is not None)
    given = parsed(kept, _SED)
    if given.has("-e", "--expression", "-f", "--file"):
        given = parsed(kept, Grammar(operands="R*", options=_SED.options, source=_SED.source))
    _seen(effects, given.unknown_options, simple)
    effects.harmless = effects.known
    scripts = [each.word for each in given.given if each.role is Role.TEXT and each.option in ("", "-e", "--expression")]
    if not all(word.sort is Sort.PLAIN and sed_is_plain(word.text) for word in scripts):
        effects.hide("its script may run programs or write files")
    for each in given.given:
        if each.role is not Role.TEXT:
            take(effects, each, simple.folders)
    if in_place:
        effects.harmless = False
        effects.writes += effects.reads
        # A suffix keeps copies beside.
        effects.known = effects.known and all(word.text.endswith("i") or word.text == "--in-place" for word in in_place)


def _without_in_place(word: Word, in_place: list[Word]) -> Word | None:
    """`-ni` without its `i`; nothing where nothing is left."""
    if word not in in_place:
        return word
    letters = re.match(r"-([nErsuz]+)i", word.text)
    return None if letters is None else Word(raw=word.raw, text=f"-{letters.group(1)}")


def _in_place(text: str) -> bool:
    return text.startswith("--in-place") or re.match(r"-[nErsuz]*i", text) is not None


_AWK = Grammar(
    operands="TR*",
    options=options(
        "-F:T -v:T -f:X -i:X -l:X -E:X -e:X --field-separator:T --assign:T --file:X --include:X --load:X --posix --re-interval"
    ),
    source="GNU awk manual",
)
_AWK_ACTS = re.compile(r"system|getline|\||>|@|close|fflush|ARGV|ARGC|ENVIRON|PROCINFO|FNAME|load|include|\bFILENAME\s*=")


def _awk(simple: Simple, effects: Effects) -> None:
    given = parsed(simple.words[1:], _AWK)
    _seen(effects, given.unknown_options, simple)
    effects.harmless = effects.known
    program = next((each.word for each in given.given if not each.option), None)
    if program is None or program.sort is not Sort.PLAIN or _AWK_ACTS.search(program.text):
        effects.hide("its program may run programs or write files")
    for each in given.given:
        operand = not each.option and each.role is Role.READ
        if operand and re.match(r"[A-Za-z_][A-Za-z0-9_]*=", each.word.text):
            continue
        take(effects, each, simple.folders)


# ---- the rest -----------------------------------------------------------------------------------


def _test(simple: Simple, effects: Effects) -> None:
    texts = {word.text for word in simple.words}
    numbers = texts & {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
    if texts & {"-v", "-R"} or (numbers and any(word.sort is Sort.MANY for word in simple.words)):
        effects.hide("a test that computes can run commands")
        return
    effects.known = effects.harmless = True


def _interpreter(simple: Simple, effects: Effects) -> None:
    """Perl and ruby with `-i`: the files that they change. Whether their code is plain is not looked at."""
    texts = [word.text for word in simple.words[1:]]
    if not any(re.match(r"-[A-Za-z0-9]*i", text) for text in texts if not text.startswith("--")):
        return
    coded = False
    for word in simple.words[1:]:
        if coded:
            coded = False
        elif re.match(r"-[A-Za-z0-9.]*[eE]\Z", word.text):
            coded = True
        elif not word.text.startswith("-"):
            effects.writes += touches(effects, word, simple.folders)


def _seen(effects: Effects, unknown: bool, simple: Simple) -> None:
    effects.known = not unknown
    if unknown and any(word.sort is not Sort.PLAIN and not word.under for word in simple.words[1:]):
        effects.hide("a word of it is not known, and may be an option")


SPECIAL: Mapping[str, Callable[[Simple, Effects], None]] = {
    "find": _find,
    "tar": _tar,
    "dd": _dd,
    "sed": _sed,
    "gsed": _sed,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "test": _test,
    "perl": _interpreter,
    "ruby": _interpreter,
}
"""By the program's name."""

UNDERSTOOD = frozenset(SPECIAL) - {"perl", "ruby"}
"""Those whose code is looked at, so that what runs programs is told from what does not."""
