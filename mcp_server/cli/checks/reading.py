"""`remit gateway check` on the files themselves: settings and agents, read as a server reads them at its start."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mcp_server.app import rules_at
from mcp_server.cli.checks.people import Roll
from mcp_server.cli.finding import Finding, findings_of
from mcp_server.sessions.rulebooks import Rulebooks
from mcp_server.settings.load import NO_FLAGS
from mcp_server.settings.places import Places
from mcp_server.settings.workspace import check_workspace
from mcp_server.store.api_keys import ApiKey


def books_at(workspace: Path, places: Places) -> Rulebooks:
    """What a server there would be started with.

    Raises:
        ConfigError: Settings or definitions are at fault.
        WorkspaceRefused: The folder may not be a workspace.
    """
    return rules_at(check_workspace(workspace, places), places, NO_FLAGS)


def settings(books: Rulebooks) -> Iterator[Finding]:
    """Which files were read, and what is to be known of them."""
    settings = books.own.edition.settings
    read = ", ".join(source.file for source in settings.sources) or "none, the defaults hold"
    if settings.gateway is None:
        remedy = "write `gateway: {url: …}` into the managed settings; see docs/gateway.md"
        yield Finding(about="settings", state="fault", says=f"there is no gateway in what was read: {read}", remedy=remedy)
    else:
        yield Finding(about="settings", state="ok", says=read)
    yield from findings_of("settings", settings.notices, "note")
    for book in books.every:
        agents = book.edition.agents
        yield Finding(about="agents", state="ok", where=book.workspace, says=", ".join(sorted(agents)))
        yield from findings_of("agents", agents.notices, "note")


def roll(books: Rulebooks, known: Sequence[ApiKey], now: float) -> Roll:
    """What people are looked at by. `known`: every API key."""
    settings = books.own.edition.settings
    assert settings.gateway is not None  # noqa: S101 - looked at by who calls
    agents: dict[str, bool] = {}
    for book in books.every:
        for agent in book.edition.agents.values():
            agents[agent.name] = agents.get(agent.name, False) or not agent.hidden
    counting = frozenset(one.name for one in known if one.counts(now))
    return Roll(settings=settings, gateway=settings.gateway, agents=agents, keys=counting)
