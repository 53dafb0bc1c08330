"""A walk over the tree of a line: every simple command with its words, its folders and its redirects.

Only node types that are known are walked; any other makes the line one that cannot be read for certain.
"""

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_server.shell.binding import Bindings
from mcp_server.shell.grammar import tree_of
from mcp_server.shell.model import NOWHERE, Assigned, Expand, Folders, Found, Place, Simple, Sort, Touch, Word
from mcp_server.shell.nodes import live_backtick, text_of
from mcp_server.shell.redirects import Redirects
from mcp_server.shell.steering import HARMLESS_SET, MOVING, STEERING
from mcp_server.shell.wording import Wording

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 40
"""Commands in commands. Nobody reads deeper, and neither does this."""

MAX_FOLDERS = 8
"""Ways that a line may have taken through folders; past that they count as not known."""

_SILENT = frozenset(
    {";", "\n", "&", ";;", ";&", ";;&", "comment", "then", "do", "done", "fi", "else", "in", "{", "}", "(", ")", "heredoc_end"}
)
_LEAVES = frozenset({"exit", "return", "break", "continue"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LEAD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*=")


class Walk:
    """One line being walked."""

    def __init__(self, variables: dict[str, str], expand: Expand, found: Found, depth: int = 0) -> None:
        self.found = found
        self._depth = depth
        self.folders: Folders = NOWHERE
        self._last_start: Folders = NOWHERE
        self.wording = Wording(variables, expand, self.problem, self._inside)
        self._redirects = Redirects(self)
        self._bindings = Bindings(self)

    def problem(self, words: str) -> None:
        """The line cannot be read for certain."""
        if words not in self.found.problems:
            self.found.problems.append(words)

    def line(self, text: str, folders: Folders) -> Folders:
        """Walk a whole line. Returns where it may end."""
        root = tree_of(text.encode())
        if root.has_error:
            self.problem("it has an error, or a form that is not known")
        if "`" in text and live_backtick(root, text.encode()):
            self.problem("it runs commands in backticks")
        self.found.lines.append(text)
        _, after = self.sequence(root.children, folders)
        return after

    def _inside(self, node: "Node") -> None:
        """Commands in a substitution: what they change stays in it."""
        before = self.folders
        self.sequence([child for child in node.children if child.type not in ("$(", "<(", ">(", ")", "`")], before)
        self.folders = before

    # ---- statements -----------------------------------------------------------------------------

    def sequence(self, nodes: "Sequence[Node]", folders: Folders) -> Place:
        """One after the other; each starts wherever the one before it may have ended."""
        done, after = folders, folders
        for at, node in enumerate(nodes):
            if node.type in _SILENT:
                continue
            start = after
            done, after = self.statement(node, start)
            if at + 1 < len(nodes) and nodes[at + 1].type == "&":
                done, after = start, start
        return done, after

    def statement(self, node: "Node", folders: Folders, fed_by: Simple | None = None) -> Place:
        """Any one statement."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.problem("it is nested too deep")
            return NOWHERE, NOWHERE
        self.folders = folders
        place = self._dispatch(node, folders, fed_by)
        self._depth -= 1
        return place

    def _dispatch(self, node: "Node", folders: Folders, fed_by: Simple | None) -> Place:
        match node.type:
            case "command":
                return self._command(node, folders, fed_by)
            case "redirected_statement":
                return self._redirected(node, folders, fed_by)
            case "list":
                return self._list(node, folders)
            case "pipeline":
                return self._pipeline(node.children, folders, fed_by)
            case "negated_command":
                _, after = self.sequence([child for child in node.children if child.type != "!"], folders)
                return after, after
            case "variable_assignment" | "variable_assignments" | "test_command" | "declaration_command" | "unset_command":
                return self._bindings.take(node, folders)
            case _:
                return self._compound(node, folders)

    def _compound(self, node: "Node", folders: Folders) -> Place:
        match node.type:
            case "compound_statement" if node.children and node.children[0].type == "((":
                self.problem("arithmetic on variables can run commands")
                return folders, folders
            case "compound_statement" | "do_group":
                return self.sequence(node.children, folders)
            case "subshell":
                self.sequence(node.children, folders)
                return folders, folders
            case "if_statement":
                return self._if(node, folders)
            case "while_statement" | "for_statement":
                return self._loop(node, folders)
            case "case_statement":
                return self._case(node, folders)
            case "function_definition":
                self.problem("it defines a function, which may stand for any command")
                self.sequence([child for child in node.children if child.type not in ("word", "function")], folders)
                return folders, folders
            case _:
                self.problem("it has a form that is not known")
                self.sequence([child for child in node.children if child.is_named and child.type not in ("word", "variable_name")], folders)
                return NOWHERE, NOWHERE

    def _list(self, node: "Node", folders: Folders) -> Place:
        done, after = folders, folders
        operator = ""
        for child in node.children:
            if child.type in ("&&", "||"):
                operator = child.type
            elif child.type not in _SILENT:
                done, after = self._joined(operator, child, (done, after), folders)
        return done, after

    def _joined(self, operator: str, node: "Node", before: Place, folders: Folders) -> Place:
        done, after = before
        start = {"": folders, "&&": done}.get(operator, after)
        right, right_after = self.statement(node, start)
        self._last_start = start
        if operator == "":
            return right, right_after
        if operator == "&&":
            return right, _some(after | right_after)
        return _some(done | right), _some(done | right_after)

    def _pipeline(self, nodes: "Sequence[Node]", folders: Folders, fed_by: Simple | None) -> Place:
        first, *rest = nodes
        body, redirects = _peeled(first)
        if body.type == "list":
            return self._regrouped(body, redirects, rest, folders)
        # Each command of a pipeline runs in a shell of its own.
        for child in nodes:
            if child.type in ("|", "|&"):
                continue
            if child is not first and _peeled(child)[0].type == "list":
                self.problem("in which order it runs cannot be told")
            count = len(self.found.simples)
            self.statement(child, folders, fed_by)
            made = self.found.simples[count:]
            fed_by = made[0] if len(made) == 1 else None
        self._last_start = folders
        return folders, folders

    def _regrouped(self, body: "Node", redirects: "Sequence[Node]", rest: "Sequence[Node]", folders: Folders) -> Place:
        """`a && b 2>c | d`: the tree takes `a && b` for the first command of the pipeline, where bash takes `b`."""
        parts = [child for child in body.children if child.type not in _SILENT]
        *before, operator, last = parts
        place, joining = (folders, folders), ""
        for child in before:
            if child.type in ("&&", "||"):
                joining = child.type
            else:
                place = self._joined(joining, child, place, folders)
        start = place[0] if operator.type == "&&" else place[1]
        self._redirects.take(redirects, start)
        self._pipeline([last, *rest], start, None)
        self._last_start = start
        if operator.type == "&&":
            return start, _some(place[1] | start)
        either = _some(place[0] | start)
        return either, either

    def _redirected(self, node: "Node", folders: Folders, fed_by: Simple | None) -> Place:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        place, where = (folders, folders), folders
        count = len(self.found.simples)
        if body is not None:
            self._last_start = folders
            place = self.statement(body, folders, fed_by)
            # The tree hangs the redirect of a list's last command on the whole list.
            where = self._last_start if body.type in ("list", "negated_command", "pipeline") else folders
        if self._redirects.take(redirects, where) and body is not None and body.type == "command" and len(self.found.simples) > count:
            self._given_input(len(self.found.simples) - 1)
        self.folders = folders
        first = self.found.simples[count] if len(self.found.simples) == count + 1 else None
        for each in redirects:
            place = self._after_here(each, place, first)
        return place

    def _given_input(self, at: int) -> None:
        last = self.found.simples[at]
        self.found.simples[at] = Simple(words=last.words, assigned=last.assigned, folders=last.folders, reads_input=True)

    def _after_here(self, node: "Node", place: Place, fed_by: Simple | None) -> Place:
        """`cat <<EOF | grep x`: the tree holds the rest of the line inside the here-document."""
        if node.type != "heredoc_redirect":
            return place
        operator = ""
        for child in node.children:
            if child.type in ("&&", "||"):
                operator = child.type
            elif child.type == "pipeline":
                place = self._pipeline(child.children, place[1], fed_by)
            elif child.type not in Redirects.HERE and child.type != "file_redirect":
                place = self._joined(operator, child, place, place[1]) if operator else self.statement(child, place[1])
        return place

    # ---- branches and loops ---------------------------------------------------------------------

    def _if(self, node: "Node", folders: Folders) -> Place:
        conditions = node.children_by_field_name("condition")
        done, after = self.sequence(conditions, folders)
        ends: list[Folders] = []
        body = [
            child for child in node.children if child not in conditions and child.type not in ("if", "elif", "elif_clause", "else_clause")
        ]
        if node.type == "elif_clause":
            body = [child for child in node.children if child.type != "elif"]
            then = next((at for at, child in enumerate(body) if child.type == "then"), 0)
            done, after = self.sequence(body[:then], folders)
            body = body[then:]
        ends.append(self.sequence(body, done)[1])
        closed = False
        for child in node.children:
            if child.type == "elif_clause":
                ends.append(self._if(child, after)[1])
            elif child.type == "else_clause":
                closed = True
                ends.append(self.sequence(child.children, after)[1])
        whole = _some(frozenset[str]().union(*ends, frozenset() if closed else after))
        return whole, whole

    def _loop(self, node: "Node", folders: Folders) -> Place:
        count = len(self.found.visited)
        for child in node.children:
            if child.type in ("while", "until", "for", "select", *_SILENT):
                if child.type == "select":
                    self.problem("it has a form that is not known")
            elif child.type == "variable_name":
                self._bindings.sets(text_of(child))
            elif node.field_name_for_child(node.children.index(child)) == "value":
                self.folders = folders
                self.wording.words(child, folders)
            else:
                self._same_place(child, folders)
        if len(self.found.visited) > count:
            self.problem("it changes its folder in a loop")
        return folders, folders

    def _same_place(self, node: "Node", folders: Folders) -> None:
        count = len(self.found.visited)
        _, after = self.statement(node, folders)
        if after == folders:
            del self.found.visited[count:]  # in subshells: left again

    def _case(self, node: "Node", folders: Folders) -> Place:
        ends: list[Folders] = [folders]
        for child in node.children:
            if child.type == "case_item":
                values = child.children_by_field_name("value")
                self.folders = folders
                for value in values:
                    self.wording.one(value, folders)
                skipped = {")", "|", "("}
                ends.append(self.sequence([part for part in child.children if part not in values and part.type not in skipped], folders)[1])
            elif child.is_named and child.type != "comment":
                self.wording.one(child, folders)
        whole = _some(frozenset[str]().union(*ends))
        return whole, whole

    # ---- commands -------------------------------------------------------------------------------

    def _command(self, node: "Node", folders: Folders, fed_by: Simple | None) -> Place:
        assigned: list[Assigned] = []
        words: list[Word] = []
        redirects: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment":
                made = self._bindings.assigned(child, folders)
                assigned += [] if made is None else [made]
            elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                redirects.append(child)
            else:
                self.folders = folders
                words += self.wording.words(child.children[0] if child.type == "command_name" else child, folders)
        written = tuple(text_of(child) for child in node.children if child not in redirects)
        self.found.seen.append(written[2:] if written[:2] == ("time", "-p") else written[1:] if written[:1] == ("time",) else written)
        input_given = self._redirects.take(redirects, folders)
        if words:
            self._check_name(node, words[0])
        simple = Simple(words=tuple(words), assigned=tuple(assigned), folders=folders, fed_by=fed_by, reads_input=input_given)
        if not words:
            return folders, folders
        self._steers(words)
        if words[0].text in MOVING:
            return self._moved(simple)
        self.found.simples.append(simple)
        return (NOWHERE, NOWHERE) if words[0].text in _LEAVES else (folders, folders)

    def _check_name(self, node: "Node", word: Word) -> None:
        if word.sort is not Sort.PLAIN or word.matched:
            self.problem("which program it runs cannot be told")
        elif word.text in ("!", "{", "(", "time") and _LEAD.match(node.text or b""):
            self.problem("it has a form that is not known")

    def _steers(self, words: list[Word]) -> None:
        """Builtins that change what the rest of the line means."""
        name, rest = words[0].text, words[1:]
        if name in ("command", "builtin", "time"):
            name = next((word.text for word in rest if word.text in STEERING or word.text in (*MOVING, "read")), name)
            if name in (*MOVING, "read"):
                self.problem(f"what {name} changes cannot be told")
        if name in STEERING and not (name == "set" and all(word.text in HARMLESS_SET for word in rest)):
            self.problem(f"{name} changes what the rest of the line means")
        elif name == "read":
            self._reads(rest)

    def _reads(self, words: list[Word]) -> None:
        for word in words:
            if word.sort is Sort.PLAIN and _NAME.match(word.text):
                self._bindings.sets(word.text)
            elif word.sort is not Sort.PLAIN or not word.text.startswith("-") or word.text.startswith(("-a", "-i")):
                self.problem("it sets what cannot be told")

    def _moved(self, simple: Simple) -> Place:
        folders = simple.folders
        name = simple.words[0].text
        operands = [word for word in simple.words[1:] if word.text not in ("-L", "-P", "-e", "--")]
        if simple.assigned or name == "popd" or len(operands) > 1 or any(word.sort is not Sort.PLAIN for word in operands):
            self.problem("the folder it changes to cannot be told")
            return NOWHERE, NOWHERE
        target = operands[0].text if operands else self.wording.variables.get("HOME", "-")
        if target.startswith(("-", "+")) or target == "" or not folders or "-P" in {word.text for word in simple.words}:
            self.problem("the folder it changes to cannot be told")
            return NOWHERE, NOWHERE
        self.found.visited.append(Touch(text=target, folders=folders))
        # A shell goes to `..` by the name it came by, not by where a link led.
        reached = frozenset(posixpath.normpath(posixpath.join(folder, target)) for folder in folders)
        return reached, _some(folders | reached)


def _peeled(node: "Node") -> "tuple[Node, Sequence[Node]]":
    """What its redirects are hung on, and they."""
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return (node, ()) if body is None else (body, [child for child in node.children if child != body])


def _some(folders: Folders) -> Folders:
    return folders if len(folders) <= MAX_FOLDERS else NOWHERE
