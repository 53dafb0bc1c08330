"""The parts of the SQLite store that have modules of their own, as one."""

from collections.abc import Sequence

from mcp_server.store.api_key_rows import SqliteApiKeys
from mcp_server.store.audit_trail import SqliteAudit
from mcp_server.store.connection import Database
from mcp_server.store.credential_rows import SqliteCredentials
from mcp_server.store.ledger_rows import SqliteLedger
from mcp_server.store.life_rows import SqliteLives
from mcp_server.store.people_rows import SqlitePeople
from mcp_server.store.promised_rows import SqlitePromised
from mcp_server.store.revoked_rows import SqliteRevocations
from mcp_server.store.upstream_rows import SqliteUpstreams


class SqliteParts(
    SqliteAudit,
    SqliteApiKeys,
    SqliteCredentials,
    SqliteLedger,
    SqliteLives,
    SqlitePeople,
    SqliteRevocations,
    SqliteUpstreams,
    SqlitePromised,
):
    """Promised calls, keys, credentials, claims, use, what was revoked, runs, other servers, and the audit, on one connection."""

    def __init__(self, database: Database, secrets: Sequence[str] = ()) -> None:
        SqliteAudit.__init__(self, database, secrets)
