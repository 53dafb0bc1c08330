"""What `$'…'` says: the escapes of ANSI C as bash reads them."""

import re

_ESCAPE = re.compile(r"\\(?:([abeEfnrtv\\'\"?])|x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([\s\S]))")
_LETTERS = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    **{letter: letter for letter in "\\'\"?"},
}


def ansi_c(text: str) -> str | None:
    """The text between the quotes, decoded. None: it holds an escape whose meaning is not certain."""
    certain = True

    def decoded(found: re.Match[str]) -> str:
        nonlocal certain
        letter, hexadecimal, octal, short, long, _ = found.groups()
        if letter is not None:
            return _LETTERS[letter]
        number = hexadecimal or short or long
        value = int(number, 16) if number is not None else int(octal, 8) if octal is not None else 0
        # A NUL ends the string, bytes past ASCII make no character of their own, and the rest is bash's to say.
        if not 0 < value < 128:
            certain = False
            return ""
        return chr(value)

    made = _ESCAPE.sub(decoded, text)
    return made if certain else None
