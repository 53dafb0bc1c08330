"""`remit explain`: what the rules say of a call, every opinion, and what would change it. Decides as the gate does, runs nothing."""

import json
import re
from pathlib import Path
from typing import Any

import click

from mcp_server.cli.explaining import explained
from mcp_server.cli.here import here, workspace_option
from mcp_server.cli.state import with_store
from mcp_server.cli.table import safe, table
from mcp_server.gateway.explaining import Explained
from mcp_server.policy.chain import Authority
from mcp_server.policy.explain import changes_of, finding, sentence
from mcp_server.policy.values import Mode
from mcp_server.policy.verdicts import Opinion, ValueVerdict, Verdict
from mcp_server.sessions.wording import path_of
from mcp_server.store.protocol import Store


@click.command(short_help="Tell what the rules say of a call, and why.")
@click.argument("chain")
@click.argument("tool")
@click.argument("value", default="*")
@workspace_option
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="The mode that the root session asks for.  [your settings']")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def explain(chain: str, tool: str, value: str, workspace: Path, mode: str | None, as_json: bool) -> None:
    r"""Tell what would happen if the last agent of CHAIN called TOOL with VALUE, and why.

    CHAIN is agents with commas between, root first: build,explore. VALUE is the tool's main argument (a path, a command, an agent),
    or all arguments as a JSON object. Rulings are left out: they belong to sessions, not to agents.

    \b
    remit explain plan,explore edit src/a.py
    remit explain build bash 'git push'
    """
    place = here(workspace)
    names = [name.strip() for name in re.split(r"[,›>]", chain)]

    async def found(store: Store) -> Explained:
        return explained(place, names, Mode(mode) if mode else None, tool, value, store)

    told = with_store(found)
    held, verdict = told.held, told.verdict
    if as_json:
        click.echo(json.dumps(_as_json(names, tool, value, held, verdict), ensure_ascii=False, indent=2))
    else:
        click.echo(safe(f"{path_of(names)}, mode {held.mode.value}: {tool} {value}\n{finding(verdict, held.mode)}"))
        for part in verdict.parts:
            _tell(part)


def _tell(part: ValueVerdict) -> None:
    rows = [(o.layer.kind.value, o.layer.owner, _said(o), _rule(o), o.note) for o in part.opinions if o.layer.rules]
    click.echo(safe(f"\n{part.permission} {part.value.text}: {part.action.word} at step {part.step.value}"))
    heads = ("LAYER", "WHOSE", "SAYS", "RULE", "NOTE")
    kept = len(heads) if any(note for *_, note in rows) else len(heads) - 1
    click.echo(table(heads[:kept], [row[:kept] for row in rows]))
    for change in changes_of(part):
        click.echo(safe(f"- {change}"))


def _said(opinion: Opinion) -> str:
    return "nothing" if opinion.action is None else opinion.action.word


def _rule(opinion: Opinion) -> str:
    if opinion.rule is None:
        return ""
    return f"{opinion.rule}  [{opinion.rule.origin}]" if opinion.rule.origin else str(opinion.rule)


def _as_json(chain: list[str], tool: str, value: str, held: Authority, verdict: Verdict) -> dict[str, Any]:
    return {
        "chain": chain,
        "mode": held.mode.value,
        "tool": tool,
        "value": value,
        "action": verdict.action.word,
        "step": verdict.step.value,
        "explanation": sentence(verdict, held.mode),
        "parts": [_part(part) for part in verdict.parts],
    }


def _part(part: ValueVerdict) -> dict[str, Any]:
    return {
        "permission": part.permission,
        "value": part.value.text,
        "action": part.action.word,
        "step": part.step.value,
        "asks": [str(ask) for ask in part.asks],
        "changes": list(changes_of(part)),
        "opinions": [
            {
                "layer": opinion.layer.kind.value,
                "owner": opinion.layer.owner,
                "action": opinion.action.word if opinion.action is not None else None,
                "rule": str(opinion.rule) if opinion.rule is not None else None,
                "origin": opinion.rule.origin if opinion.rule is not None else "",
                "note": opinion.note,
            }
            for opinion in part.opinions
        ],
    }
