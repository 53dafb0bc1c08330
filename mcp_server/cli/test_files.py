"""`remit test`: run case files, right answers beside questions, against the rules of this version or of named files."""

from pathlib import Path

import click

from mcp_server.cli.cases.loaders import load_policy
from mcp_server.cli.cases.reading import read_cases
from mcp_server.cli.cases.reporting import as_json, as_junit, as_text
from mcp_server.cli.cases.running import End, run_cases
from mcp_server.cli.table import safe


@click.command(name="test")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "json_wanted", is_flag=True, help="One JSON object instead of text.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write a JUnit report there as well.")
def test_files(files: tuple[Path, ...], json_wanted: bool, junit: Path | None) -> None:
    """Check rules against case files.

    Ends with 1 where a case fails, with 2 where a file is malformed.
    """
    results = run_cases(read_cases(files), load_policy)
    if junit is not None:
        junit.write_text(as_junit(results), encoding="utf-8")
    click.echo(as_json(results) if json_wanted else safe(as_text(results)))
    if any(result.end is End.FAILED for result in results):
        raise SystemExit(1)
