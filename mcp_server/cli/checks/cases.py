"""`remit gateway check` on case files: are the policy's own right answers still given?"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mcp_server.cli.cases.loaders import load_policy
from mcp_server.cli.cases.reading import read_cases
from mcp_server.cli.cases.running import End, run_cases
from mcp_server.cli.finding import Finding, findings_of
from mcp_server.errors import ConfigError


def cases(files: Sequence[Path]) -> Iterator[Finding]:
    """Run as `remit test` runs them."""
    if not files:
        return
    try:
        results = run_cases(read_cases(files), load_policy)
    except ConfigError as error:
        yield from findings_of("cases", error.faults)
        return
    failed = [result for result in results if result.end is End.FAILED]
    for one in failed:
        says = f"{one.name}: {one.got}, and {one.want} was wanted"
        yield Finding(about="cases", state="fault", where=f"{one.file}:{one.line}", says=says, remedy=one.why)
    if not failed:
        yield Finding(about="cases", state="ok", says=f"{len(results)} passed")
