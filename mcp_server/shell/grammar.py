"""The grammar of bash as trees. Loaded when a line is first judged: most servers start without one."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@cache
def _parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415 - 19 ms, and only lines of a shell need it
    from tree_sitter import Language, Parser  # noqa: PLC0415 - likewise

    return Parser(Language(tree_sitter_bash.language()))


def tree_of(line: bytes) -> "Node":
    """The root of a line's tree. It may hold error nodes: whoever walks it looks for them."""
    return _parser().parse(line).root_node
