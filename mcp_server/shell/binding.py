"""Variables that a line sets, and tests that it makes: what of them steers programs or runs commands."""

from typing import TYPE_CHECKING

from mcp_server.shell.model import Assigned, Folders, Place, Simple, Sort, Word
from mcp_server.shell.nodes import is_number, text_of
from mcp_server.shell.redirects import Walker
from mcp_server.shell.variables import steers_programs, steers_shell

if TYPE_CHECKING:
    from tree_sitter import Node

_ARITHMETIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_SILENT = frozenset({";", "\n", "comment"})


class Bindings:
    """Takes the assignments and tests of one walk."""

    def __init__(self, walk: Walker) -> None:
        self._walk = walk

    def take(self, node: "Node", folders: Folders) -> Place:
        """Any of them. None changes the folder."""
        match node.type:
            case "test_command":
                self.test(node, folders)
            case "declaration_command":
                self.declaration(node, folders)
            case "unset_command":
                self.unset(node)
            case _:
                self.assignments(node, folders)
        return folders, folders

    def sets(self, name: str, *, exported: bool = False) -> None:
        """The line gives a variable a value: what was known of it is not any more."""
        self._walk.wording.variables.pop(name, None)
        if steers_shell(name) or (exported and steers_programs(name)):
            self._walk.problem(f"setting {name} may change what programs do")

    def assigned(self, node: "Node", folders: Folders) -> Assigned | None:
        """One assignment; what its value runs is walked."""
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            self._walk.problem("an element of an array is set, whose place can run commands")
            return None
        written, raw = text_of(name), text_of(node)
        if value is None:
            return Assigned(name=written, value=Word(raw="", text=""), raw=raw)
        self._walk.folders = folders
        if value.type == "array":
            for child in value.children:
                if child.type not in ("(", ")", *_SILENT):
                    self._walk.wording.words(child, folders)
            return Assigned(name=written, value=Word(raw="()", text="()", sort=Sort.MANY), raw=raw)
        return Assigned(name=written, value=self._walk.wording.one(value, folders), raw=raw)

    def assignments(self, node: "Node", folders: Folders) -> None:
        """`a=1 b=2` alone."""
        several = node.type == "variable_assignments"
        self._walk.found.seen.append(tuple(text_of(child) for child in node.children) if several else (text_of(node),))
        for one in node.children if several else [node]:
            made = self.assigned(one, folders)
            if made is not None:
                self.sets(made.name)

    def declaration(self, node: "Node", folders: Folders) -> None:
        """`export` and its like."""
        self._walk.found.seen.append(tuple(text_of(child) for child in node.children))
        exports = node.children[0].type == "export"
        if not exports:
            self._walk.problem("a declaration may change what variables mean")
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                made = self.assigned(child, folders)
                if made is not None:
                    self.sets(made.name, exported=True)
            elif child.type == "variable_name":
                self.sets(text_of(child), exported=True)
            else:
                self._walk.problem("a declaration may change what variables mean")
                self._walk.folders = folders
                self._walk.wording.words(child, folders)

    def unset(self, node: "Node") -> None:
        """`unset`."""
        self._walk.found.seen.append(tuple(text_of(child) for child in node.children))
        for child in node.children[1:]:
            if child.type == "variable_name":
                self.sets(text_of(child))
            else:
                self._walk.problem("it unsets what cannot be told")

    def test(self, node: "Node", folders: Folders) -> None:
        """`[ … ]` and `[[ … ]]`."""
        self._walk.folders = folders
        self._test_parts(node, folders)
        text = text_of(node)
        self._walk.found.simples.append(Simple(words=(Word(raw=text, text=text),), folders=folders, compound=True))

    def _test_parts(self, node: "Node", folders: Folders) -> None:
        operators = {text_of(child) for child in node.children}
        if node.children and node.children[0].type == "((":
            self._walk.problem("arithmetic on variables can run commands")
        if operators & _ARITHMETIC_TESTS and not all(
            is_number(child) for child in node.children if child.is_named and child.type != "test_operator"
        ):
            self._walk.problem("a test that computes can run commands")
        for child in node.children:
            if child.type in ("binary_expression", "unary_expression", "parenthesized_expression", "negation_expression", "test_command"):
                self._test_parts(child, folders)
            elif child.is_named and child.type != "test_operator":
                self._walk.wording.one(child, folders)
