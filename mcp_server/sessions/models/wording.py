"""Texts as every model can be given them, whoever speaks for it."""

import re

LEFT_OPEN = "No result: the run ended before this call did. Its outcome is unknown."
"""What the model is told of a call that an earlier run of its session left without a result."""


def sound(text: str) -> str:
    """`text` without the halves of characters that invalid input leaves behind and nobody takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def wire_name(tool: str) -> str:
    """A tool's name as everybody takes it. Differs only where a model made up a name that is none."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:64] or "unknown"
