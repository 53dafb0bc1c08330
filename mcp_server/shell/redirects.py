"""Redirects of a command: which files they read and write. Descriptors and `/dev/null` are no files."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from mcp_server.shell.model import Folders, Found, Sort, Touch
from mcp_server.shell.wording import Wording

if TYPE_CHECKING:
    from tree_sitter import Node

NO_FILES = re.compile(r"/dev/(null|zero|full|stdin|stdout|stderr|tty|random|urandom|fd/[0-9]+)\Z")
"""Devices that are no places to write to."""

_READS = frozenset({"<", "<&"})
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_RUNS = re.compile(rb"[$`]")


class Walker(Protocol):
    """What a redirect needs of the walk it stands in."""

    wording: Wording
    found: Found
    folders: Folders

    @property
    def problem(self) -> Callable[[str], None]: ...


class Redirects:
    """Takes the redirects of one walk."""

    HERE = frozenset({"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "comment", "\n", ";"})
    """The parts of a here-document that are no commands."""

    def __init__(self, walk: Walker) -> None:
        self._walk = walk

    def take(self, nodes: "Sequence[Node]", folders: Folders) -> bool:
        """Write them down. True: one of them is the command's input."""
        given = False
        for node in nodes:
            self._walk.folders = folders
            if node.type == "file_redirect":
                given = self._file(node, folders) or given
            elif node.type == "herestring_redirect":
                given = True
                for child in node.children:
                    if child.is_named and child.type != "file_descriptor":
                        self._walk.wording.one(child, folders)
            elif node.type == "heredoc_redirect":
                given = True
                self._here(node, folders)
            elif node.type not in ("comment", ";", "\n"):
                self._walk.problem("it has a redirect that cannot be read")
        return given

    def _file(self, node: "Node", folders: Folders) -> bool:
        targets = node.children_by_field_name("destination")
        operator = next((child.type for child in node.children if child.type in _READS | _WRITES), "")
        if len(targets) != 1:
            if (node.text or b"").rstrip(b" -").endswith((b">&", b"<&")) or (node.text or b"").endswith(b"-"):
                return False  # closes a descriptor
            self._walk.problem("a redirect has more than one target")
        if operator == "":
            self._walk.problem("it has a redirect that cannot be read")
        for target in targets:
            self._walk.found.seen.append((operator, (target.text or b"").decode(errors="replace")))
            self._target(operator, target, folders)
        return operator in _READS

    def _target(self, operator: str, target: "Node", folders: Folders) -> None:
        if target.type == "process_substitution":
            self._walk.wording.one(target, folders)
            return
        word = self._walk.wording.one(target, folders)
        if word.sort is not Sort.PLAIN:
            self._walk.problem("where a redirect leads cannot be told")
        elif operator in (">&", "<&") and re.fullmatch(r"[0-9]+-?|-", word.text):
            return
        elif word.text.startswith(("/dev/tcp/", "/dev/udp/")):
            self._walk.problem("a redirect leads to the network")
        elif word.text == "" or NO_FILES.match(word.text):
            return
        elif not folders and not word.text.startswith("/"):
            self._walk.problem("where a redirect leads cannot be told")
        elif operator in _READS:
            self._walk.found.reads.append(Touch(text=word.text, folders=folders))
        else:
            self._walk.found.writes.append(Touch(text=word.text, folders=folders))

    def _here(self, node: "Node", folders: Folders) -> None:
        start = next((child.text or b"" for child in node.children if child.type == "heredoc_start"), b"")
        quoted = any(mark in start for mark in (b"'", b'"', b"\\"))
        for child in node.children:
            if child.type == "file_redirect":
                self._file(child, folders)
            elif child.type == "heredoc_body" and not quoted:
                self._body(child)
            elif child.type in ("word", "string", "raw_string", "concatenation", "number", "simple_expansion", "expansion"):
                self._walk.problem("words stand behind a here-document")

    def _body(self, body: "Node") -> None:
        text = body.text or b""
        live = text.replace(b"\\$", b"").replace(b"\\`", b"")
        if b"`" in live or b"$(" in live or b"${" in live or b"$[" in live:
            self._walk.problem("a here-document runs commands")
