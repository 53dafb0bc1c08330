"""What `bash` asks for a line: the commands it would run, as values.

For now only one plain command is read, by its words. Everything else is opaque: it asks, and is denied where a deny can be seen in it.
"""

from dataclasses import dataclass

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import CommandValue
from mcp_server.shell.forms import Peeled, peeled, program
from mcp_server.shell.programs import HARMLESS, LINE_RUNNERS, SHELLS
from mcp_server.shell.rough import rough
from mcp_server.shell.words import RESERVED, Words, assignment, certain_words

MAX_LINE = 8 * 1024
"""Bytes. Longer than what people write or read; what is longer belongs into a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A line as it is judged."""

    commands: tuple[CommandValue, ...]
    """The line itself first, then each command inside it that is judged as well."""
    words: tuple[str, ...]
    """Words that may name places, the program left out where it is certain."""


def read_line(line: str, home: str = "") -> Reading:
    """What the line would run. `home`: what `$HOME` stands for, where that is known.

    Raises:
        ToolFailure: It is empty, too long, or holds a character that no line should.
    """
    _refuse_nonsense(line)
    text = line.strip(" \t\n")
    certain = certain_words(text)
    if certain is None or (certain.words[0] in RESERVED and certain.words[0] != "time"):
        return _unread(text, home)
    return _read(text, certain, home)


def _read(text: str, certain: Words, home: str) -> Reading:
    words = certain.words
    found = peeled(words)
    hidden = _inline_lines(found, words)
    opaque = certain.quoted or found.opaque or assignment(words[0])
    harmless = not opaque and words[0] in HARMLESS
    forms = dict.fromkeys((*found.forms, *(form for line in hidden for form in _forms(line))))
    whole = CommandValue(text=text, forms=tuple(forms), opaque=opaque, read_only=harmless, effects_known=harmless)
    inner = tuple(_inner(command, opaque=opaque) for command in found.inner)
    seen = tuple(word for line in hidden for word in rough(line, home).words)
    return Reading(commands=(whole, *inner), words=(*words[1:], *seen))


def _inner(words: tuple[str, ...], *, opaque: bool) -> CommandValue:
    found = peeled(words)
    harmless = not opaque and words[0] in HARMLESS
    return CommandValue(text=" ".join(words), forms=found.forms, opaque=opaque or found.opaque, read_only=harmless, effects_known=harmless)


def _unread(text: str, home: str) -> Reading:
    """An opaque line, and each of its parts: a rule that vouches for opaque commands must vouch for all of them."""
    seen = rough(text, home)
    forms = tuple(dict.fromkeys(form for piece in seen.pieces for form in piece.forms))
    whole = CommandValue(text=text, forms=forms, opaque=True)
    parts = tuple(CommandValue(text=piece.text, forms=piece.forms, opaque=True) for piece in seen.pieces if piece.text != text)
    return Reading(commands=(whole, *parts), words=seen.words)


def _inline_lines(found: Peeled, words: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that a shell inside the command is given to run."""
    lines: list[str] = []
    for command in (words, *found.inner):
        name = program(command[0])
        if name in SHELLS:
            lines += command[1:]
        elif name in LINE_RUNNERS:
            lines.append(" ".join(command[1:]))
    return tuple(line for line in lines if not line.startswith("-"))


def _forms(line: str) -> tuple[str, ...]:
    return tuple(form for piece in rough(line).pieces for form in piece.forms)


def _refuse_nonsense(line: str) -> None:
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
