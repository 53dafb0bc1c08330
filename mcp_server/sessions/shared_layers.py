"""The layers that every session of a tree shares: everyone's, its person's, the workspace's, the guard."""

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mcp_server.policy.chain import Commons
from mcp_server.policy.guard import foreign_rules
from mcp_server.policy.values import Rule
from mcp_server.principal import LOCAL
from mcp_server.records import SessionRecord
from mcp_server.sessions.book import Rulebook
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.memberships import membership_in


async def shared_layers(deployment: Deployment, rulebook: Rulebook, records: tuple[SessionRecord, ...]) -> Commons:
    """As they are now. `records`: the chain, root first, not empty."""
    session = records[-1]
    commons = rulebook.commons(session.workspace, await membership_in(deployment.store, rulebook, session.principal))
    return _apart(_started(rulebook, records, commons), records, deployment.outputs)


def _started(rulebook: Rulebook, records: tuple[SessionRecord, ...], commons: Commons) -> Commons:
    """Where the tree was started under another command line than this server's, with that one's words too."""
    started_with = records[0].started_with
    if not started_with or started_with == rulebook.command_line():
        return commons
    return replace(commons, started_with=started_with)


def _apart(commons: Commons, records: tuple[SessionRecord, ...], outputs: Path) -> Commons:
    """Behind a gateway, what was saved for others is denied. This machine's user reads with the rights that the server itself has."""
    if records[0].principal == LOCAL.key:
        return commons
    return replace(commons, foreign=_foreign(outputs, tuple(record.id for record in records)))


@lru_cache(maxsize=1024)
def _foreign(outputs: Path, own: tuple[str, ...]) -> tuple[Rule, ...]:
    """Kept, because policy compiles a list once as long as it is the very same one."""
    return foreign_rules(os.path.realpath(outputs), own)
