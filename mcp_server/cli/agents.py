"""`remit agents`: who there is, what each may do, and what is wrong in their files."""

import json
from pathlib import Path
from typing import Any

import click

from mcp_server.agents.definition import AgentDefinition, AgentSet
from mcp_server.agents.load import load_agents
from mcp_server.cli.here import Here, here, workspace_option
from mcp_server.cli.shown import NotFound
from mcp_server.cli.table import safe, table
from mcp_server.policy.values import Rule


@click.group(invoke_without_command=True)
@workspace_option
@click.option("--all", "everyone", is_flag=True, help="The hidden ones too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def agents(ctx: click.Context, workspace: Path, everyone: bool, as_json: bool) -> None:
    """The agents of a workspace and what they may do."""
    if ctx.invoked_subcommand is not None:
        return
    place = here(workspace)
    found = load_agents(places=place.places, settings=place.settings)
    shown = [agent for agent in found.values() if everyone or not agent.hidden]
    if as_json:
        for agent in shown:
            click.echo(json.dumps(_as_json(agent, place), ensure_ascii=False))
        return
    rows = [(agent.name, agent.mode, _model(agent, place) or "not set", agent.where, agent.description) for agent in shown]
    click.echo(table(("AGENT", "MODE", "MODEL", "FROM", "WHAT FOR"), rows))
    _notices(found)


@agents.command()
@click.argument("name")
@workspace_option
def show(name: str, workspace: Path) -> None:
    """Show one agent whole: its rules, and what your settings say of it."""
    place = here(workspace)
    found = load_agents(places=place.places, settings=place.settings)
    if name not in found:
        raise NotFound(f"no agent is called {name}; `remit agents --all` lists them")
    agent, tuning = found[name], place.settings.tuning(name)
    lines = [
        f"{agent.name}: {agent.description}",
        f"mode {agent.mode}, model {_model(agent, place) or 'not set'}, asks {'the person' if agent.prompts == 'bubble' else 'nobody'}",
        f"from {agent.source}",
        "",
        "its rules, the last that matches wins:" if agent.permission else "no rules of its own",
        *(f"  {_rule(rule)}" for rule in agent.permission),
        *(f"  {_rule(rule)}  (your settings)" for rule in tuning.person),
        *(f"  {_rule(rule)}  (managed settings)" for rule in tuning.managed),
        "",
        agent.prompt,
    ]
    click.echo(safe("\n".join(lines)))


@agents.command()
@workspace_option
def check(workspace: Path) -> None:
    """Read every agent and settings file; tell all faults at once, with file, line and remedy."""
    place = here(workspace)
    found = load_agents(places=place.places, settings=place.settings)
    click.echo(f"{len(found)} agents, no faults")
    _notices(found)


def _notices(found: AgentSet) -> None:
    for notice in found.notices:
        click.echo(safe(f"note: {notice}"), err=True)


def _model(agent: AgentDefinition, place: Here) -> str | None:
    return place.settings.model_for(agent.model, hidden=agent.hidden)


def _rule(rule: Rule) -> str:
    extras = (f"scope {rule.scope}" if rule.scope == "self" else "", rule.reason or "")
    said = "; ".join(part for part in extras if part)
    return f"{rule}  ({said})" if said else str(rule)


def _as_json(agent: AgentDefinition, place: Here) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "mode": agent.mode,
        "hidden": agent.hidden,
        "model": _model(agent, place),
        "prompts": agent.prompts,
        "permission_mode": agent.permission_mode.value if agent.permission_mode else None,
        "tools": list(agent.tools) if agent.tools is not None else None,
        "rules": [str(rule) for rule in agent.permission],
        "source": agent.source,
        "where": agent.where,
    }
