"""Where a setting is written, for a fault that shows only once all sources are together."""

from collections.abc import Mapping

from mcp_server.errors import Fault


def fault_at(origins: Mapping[str, str], key: str, problem: str, remedy: str) -> Fault:
    """A fault at a key, or at the first that stands inside it. `origins`: keys, with dots, to `file:line` or a flag."""
    place = next((place for at, place in origins.items() if at == key or at.startswith(f"{key}.")), key)
    file, _, line = place.rpartition(":")
    if not file or not line.isdecimal():
        return Fault(file=place, line=None, problem=problem, remedy=remedy)
    return Fault(file=file, line=int(line), problem=problem, remedy=remedy)
