"""Small questions to nodes of a tree."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


def text_of(node: "Node") -> str:
    """As written."""
    return (node.text or b"").decode(errors="replace")


def live_backtick(root: "Node", line: bytes) -> bool:
    """Is there one that is not in single quotes or a quoted here-document?"""
    left = bytearray(line)
    stack = [root]
    while stack:
        node = stack.pop()
        here = node.type == "heredoc_redirect"
        start = next((child.text or b"" for child in node.children if child.type == "heredoc_start"), b"") if here else b""
        if node.type == "raw_string":
            left[node.start_byte : node.end_byte] = b" " * (node.end_byte - node.start_byte)
        for child in node.children:
            if child.type == "heredoc_body" and start[:1] in (b"'", b'"', b"\\"):
                left[child.start_byte : child.end_byte] = b" " * (child.end_byte - child.start_byte)
            else:
                stack.append(child)
    return b"`" in left


def is_number(node: "Node") -> bool:
    """Written as one, quoted or not."""
    text = text_of(node).strip("\"'")
    return re.fullmatch(r"-?[0-9]+|\$[#?]", text) is not None
