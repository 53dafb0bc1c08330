"""A server written with FastMCP, to be run by the Python that has it: `build/fastmcp/bin/python fast.py`."""
# pyright: basic, reportMissingImports=false
# What it imports is installed in an environment of its own.

from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image

DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364f8cf500f000386018"
    "05a347d6b0000000049454e44ae426082"
)

mcp = FastMCP("fast")


@dataclass
class Sum:
    sum: int
    terms: list[int]


@mcp.tool
def add(a: int, b: int) -> Sum:
    """Adds."""
    return Sum(sum=a + b, terms=[a, b])


@mcp.tool
async def count(to: int, ctx: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return f"counted to {to}"


@mcp.tool
def fail(why: str) -> str:
    """Fails."""
    raise ToolError(f"it failed: {why}")


@mcp.tool
def dot() -> Image:
    """A picture."""
    return Image(data=DOT, format="png")


if __name__ == "__main__":
    mcp.run(show_banner=False)
