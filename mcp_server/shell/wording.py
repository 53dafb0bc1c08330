"""From a node of the tree to words: quote removal, braces, tilde, known variables, patterns; in the order that bash has.

Pure, given a way to look patterns up. What cannot be known stays as written, and the word says so.
"""

import glob
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_server.shell.escapes import ansi_c
from mcp_server.shell.model import Expand, Folders, Sort, Word

if TYPE_CHECKING:
    from tree_sitter import Node

PLAIN = re.compile(rb"[A-Za-z0-9_./,:=@%+^-]+\Z")
"""Characters that no shell gives a meaning inside a word."""

MAX_BRACED = 64
"""Words that braces of one word may come to; more is not for reading."""

_NO_SPLIT = re.compile(r"[A-Za-z0-9_./,:=@%+^-]*\Z")
_COMMAS = re.compile(r"\{([^{}]*,[^{}]*)\}")
_RANGE = re.compile(r"\{(-?[0-9]{1,4})\.\.(-?[0-9]{1,4})\}")
_ESCAPED = re.compile(r"\\(\n|[\s\S])")
_IN_DOUBLE = re.compile(r"\\(\n|[$`\"\\])")
_GLOB = re.compile(r"[*?\[]")
_RUNS = re.compile(r"(?<!\\)(\$[({\[]|[<>]\()")
_ASSIGNED_TILDE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=(.*:)?~")
"""`if=~/x`: bash expands the tilde of whatever looks like an assignment."""

LITERAL, LIVE, ONE, MANY = range(4)
"""Kinds of part: quoted text, text in which the shell finds patterns, one unknown, any number of unknowns."""

Part = tuple[int, str]


class Wording:
    """Makes words where a line stands."""

    def __init__(self, variables: Mapping[str, str], expand: Expand, problem: Callable[[str], None], inside: "Callable[[Node], None]"):
        self.variables = dict(variables)
        """Those that are known. The reader takes out what the line sets."""
        self._expand = expand
        self._problem = problem
        self._inside = inside
        """Told of every node that runs commands while the word is made."""

    def words(self, node: "Node", folders: Folders) -> list[Word]:
        """What one node comes to: mostly one word, with braces and patterns several."""
        raw = node.text or b""
        if PLAIN.match(raw) and node.type in ("word", "number"):
            text = raw.decode()
            return [Word(raw=text, text=text)]
        written = raw.decode(errors="replace")
        parts = self._parts(node, folders)
        braced = _braced(parts)
        if braced is None:
            return [Word(raw=written, text=written, sort=Sort.MANY)]
        made = [word for one in braced for word in self._finished(written, self._tilde(one), folders)]
        return [word if at == 0 else replace(word, raw="") for at, word in enumerate(made)]

    def one(self, node: "Node", folders: Folders) -> Word:
        """The same where bash neither splits nor expands patterns: a value, a redirect's target is taken as it stands."""
        raw = node.text or b""
        written = raw.decode(errors="replace")
        parts = self._tilde(self._parts(node, folders))
        if any(kind in (ONE, MANY) for kind, _ in parts):
            return Word(raw=written, text=written, sort=Sort.ONE)
        if any(kind == LIVE and _GLOB.search(text) for kind, text in parts) or _brace_like(parts):
            return Word(raw=written, text=written, sort=Sort.ONE)
        return Word(raw=written, text="".join(text for _, text in parts))

    # ---- parts ----------------------------------------------------------------------------------

    def _parts(self, node: "Node", folders: Folders) -> list[Part]:
        text = (node.text or b"").decode(errors="replace")
        match node.type:
            case "word" | "number" | "test_operator" | "{" | "}" | "extglob_pattern" | "regex" | "variable_name":
                if _RUNS.search(text):
                    self._problem("a pattern in it runs commands")
                return _live(text)
            case "raw_string":
                return [(LITERAL, text[1:-1])]
            case "ansi_c_string":
                decoded = ansi_c(text[2:-1])
                return [(ONE, text)] if decoded is None else [(LITERAL, decoded)]
            case "string":
                return self._quoted(node, folders)
            case "concatenation":
                return self._joined(node, folders)
            case "brace_expression":
                return _live(text)
            case _:
                return [self._unknown(node, folders, quoted=False)]

    def _joined(self, node: "Node", folders: Folders) -> list[Part]:
        parts: list[Part] = []
        at = node.start_byte
        for child in node.children:
            if child.start_byte != at:
                self._problem("a word of it has a part that cannot be read")
            parts += [(LIVE, "$")] if child.type == "$" else self._parts(child, folders)
            at = child.end_byte
        return parts

    def _quoted(self, node: "Node", folders: Folders) -> list[Part]:
        """A string in double quotes. What no child covers is text too."""
        whole = node.text or b""
        parts: list[Part] = []
        at = 1
        end = len(whole) - 1
        for child in node.children:
            start = child.start_byte - node.start_byte
            if child.type in ('"', "string_content", "$") or start < at:
                continue
            parts.append((LITERAL, _unescaped(whole[at:start])))
            parts.append(self._unknown(child, folders, quoted=True))
            at = child.end_byte - node.start_byte
        parts.append((LITERAL, _unescaped(whole[at:end])))
        return parts

    def _unknown(self, node: "Node", folders: Folders, *, quoted: bool) -> Part:
        text = (node.text or b"").decode(errors="replace")
        match node.type:
            case "simple_expansion" | "expansion":
                return self._variable(node, text, folders, quoted=quoted)
            case "command_substitution":
                self._inside(node)
                return (ONE if quoted else MANY, text)
            case "process_substitution":
                self._inside(node)
                return (ONE, text)
            case "arithmetic_expansion":
                if not re.fullmatch(r"\$\(\([0-9\s+*/%()<>=!&|^~?:-]*\)\)", text):
                    self._problem("arithmetic on variables can run commands")
                return (ONE, text)
            case _:
                self._problem(f"a part of it cannot be read: {text[:40]}")
                return (MANY, text)

    def _variable(self, node: "Node", text: str, folders: Folders, *, quoted: bool) -> Part:
        name = text[1:].strip("{}")
        if name == "PWD" and "PWD" in self.variables:
            known = next(iter(folders)) if len(folders) == 1 else None
        else:
            known = self.variables.get(name)
        if known is not None and text in (f"${name}", f"${{{name}}}"):
            return (LITERAL, known) if quoted or _NO_SPLIT.match(known) else (MANY, text)
        if node.type == "expansion":
            self._check_expansion(node, text)
        if name in ("@", "*") or name.endswith(("[@]", "[*]")):
            return (MANY, text)
        return (ONE, text) if quoted or name in ("?", "#", "$", "!") else (MANY, text)

    def _check_expansion(self, node: "Node", text: str) -> None:
        if not re.match(r"\$\{#?[A-Za-z_0-9@*?!$#-]+(\}|:?[-+?]|##?|%%?|//?|\^\^?|,,?)", text) or text.startswith("${!"):
            self._problem("an expansion in it can run commands or name other variables")
        stack = list(node.children)
        while stack:
            child = stack.pop()
            if child.type in ("command_substitution", "process_substitution"):
                self._inside(child)
            else:
                if child.type in ("subscript", "arithmetic_expansion", "expansion"):
                    self._problem("an expansion in it can run commands or name other variables")
                stack += child.children

    # ---- from parts to words --------------------------------------------------------------------

    def _tilde(self, parts: list[Part]) -> list[Part]:
        if not parts or parts[0][0] != LIVE:
            return parts
        if _ASSIGNED_TILDE.match(parts[0][1]):
            return [(ONE, parts[0][1]), *parts[1:]]
        if not parts[0][1].startswith("~"):
            return parts
        text = parts[0][1]
        home = self.variables.get("HOME")
        whole = len(parts) == 1
        if home is not None and ((text == "~" and whole) or text.startswith("~/")):
            return [(LITERAL, home), (LIVE, text[1:]), *parts[1:]]
        return [(ONE, text), *parts[1:]]

    def _finished(self, raw: str, parts: list[Part], folders: Folders) -> list[Word]:
        if any(kind == MANY for kind, _ in parts):
            return [Word(raw=raw, text=raw, sort=Sort.MANY)]
        live = any(kind == LIVE and _GLOB.search(text) for kind, text in parts)
        if any(kind == ONE for kind, _ in parts):
            return [Word(raw=raw, text=raw, sort=Sort.MANY if live else Sort.ONE)]
        text = "".join(text for _, text in parts)
        if not live:
            return [Word(raw=raw, text=text)]
        return self._matches(raw, text, parts, folders)

    def _matches(self, raw: str, text: str, parts: list[Part], folders: Folders) -> list[Word]:
        pattern = "".join(text if kind == LIVE else glob.escape(text) for kind, text in parts)
        # Sets with ranges, classes or `^` mean other things to bash and to us.
        odd = re.search(r"\[[^\]]*[-:^\\]", pattern) is not None
        if odd or not (len(folders) == 1 or text.startswith("/")):
            return [Word(raw=raw, text=text, sort=Sort.MANY)]
        found = self._expand(pattern, next(iter(folders), "/"))
        if found is None:
            return [Word(raw=raw, text=text, sort=Sort.MANY)]
        return [Word(raw=raw, text=name, matched=True) for name in found] or [Word(raw=raw, text=text)]


def _unescaped(text: bytes) -> str:
    return _IN_DOUBLE.sub(lambda found: "" if found.group(1) == "\n" else found.group(1), text.decode(errors="replace"))


def _live(text: str) -> list[Part]:
    """Unquoted text: what a backslash quotes is literal."""
    if "\\" not in text:
        return [(LIVE, text)]
    parts: list[Part] = []
    at = 0
    for found in _ESCAPED.finditer(text):
        parts.append((LIVE, text[at : found.start()]))
        parts.append((LITERAL, "" if found.group(1) == "\n" else found.group(1)))
        at = found.end()
    parts.append((LIVE, text[at:]))
    return [part for part in parts if part != (LIVE, "")]


def _brace_like(parts: list[Part]) -> bool:
    live = "".join(text for kind, text in parts if kind == LIVE)
    return "{" in live and "}" in live and ("," in live or ".." in live)


def _braced(parts: list[Part]) -> list[list[Part]] | None:
    """The words that braces come to. None: they cannot be told."""
    if not _brace_like(parts):
        return [parts]
    if any(kind != LIVE for kind, _ in parts):
        return None
    done: list[str] = []
    todo = ["".join(text for _, text in parts)]
    while todo:
        text = todo.pop(0)
        if len(done) + len(todo) > MAX_BRACED:
            return None
        alternatives = _alternatives(text)
        if alternatives is None:
            done.append(text)
        else:
            todo = [*alternatives, *todo]
    return None if any("{" in text or "}" in text for text in done) else [[(LIVE, text)] for text in done]


def _alternatives(text: str) -> list[str] | None:
    # The innermost first: what comes of it is the same, but for the order where braces nest.
    if found := _COMMAS.search(text):
        return [f"{text[: found.start()]}{one}{text[found.end() :]}" for one in found.group(1).split(",")]
    if found := _RANGE.search(text):
        first, last = int(found.group(1)), int(found.group(2))
        step = 1 if last >= first else -1
        if abs(last - first) > MAX_BRACED or len(found.group(1)) != len(str(first)) or len(found.group(2)) != len(str(last)):
            return None
        return [f"{text[: found.start()]}{one}{text[found.end() :]}" for one in range(first, last + step, step)]
    return None
