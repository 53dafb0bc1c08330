"""The tables, as an ordered list of migrations. The n-th brings a database from version n-1 to n; a published one is never edited."""

Migration = tuple[str, ...]
"""Statements, each on its own, run in one transaction."""

APPLICATION_ID = 0x52656D74
"""`Remt`, in the file's header: tells a store from any other SQLite database."""

_SESSIONS: Migration = (
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY NOT NULL,
        principal TEXT NOT NULL,
        workspace TEXT NOT NULL,
        root_id TEXT NOT NULL,
        parent_id TEXT,
        created_at REAL NOT NULL,
        record TEXT NOT NULL,
        UNIQUE (id, principal),
        FOREIGN KEY (root_id, principal) REFERENCES sessions (id, principal),
        FOREIGN KEY (parent_id, principal) REFERENCES sessions (id, principal)
    )""",
    "CREATE INDEX sessions_by_parent ON sessions (parent_id)",
    "CREATE INDEX sessions_by_root ON sessions (root_id)",
    "CREATE INDEX sessions_by_principal ON sessions (principal, created_at)",
    """CREATE TABLE session_state (
        session_id TEXT NOT NULL REFERENCES sessions (id),
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (session_id, key)
    )""",
)

_RUNS: Migration = (
    """CREATE TABLE runs (
        id TEXT PRIMARY KEY NOT NULL,
        session_id TEXT NOT NULL,
        root_id TEXT NOT NULL,
        principal TEXT NOT NULL,
        workspace TEXT NOT NULL,
        created_at REAL NOT NULL,
        final INTEGER NOT NULL,
        owner TEXT,
        lease_until REAL,
        fence INTEGER NOT NULL,
        cancel_requested TEXT,
        record TEXT NOT NULL,
        FOREIGN KEY (session_id, principal) REFERENCES sessions (id, principal)
    )""",
    "CREATE INDEX runs_by_session ON runs (session_id, created_at)",
    "CREATE INDEX runs_unfinished ON runs (workspace) WHERE final = 0",
    """CREATE TABLE entries (
        session_id TEXT NOT NULL REFERENCES sessions (id),
        seq INTEGER NOT NULL,
        run_id TEXT NOT NULL REFERENCES runs (id),
        at REAL NOT NULL,
        record TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    )""",
)

_PROMPTS: Migration = (
    """CREATE TABLE prompts (
        id TEXT PRIMARY KEY NOT NULL,
        principal TEXT NOT NULL,
        root_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        state TEXT NOT NULL,
        created_at REAL NOT NULL,
        record TEXT NOT NULL,
        FOREIGN KEY (session_id, principal) REFERENCES sessions (id, principal)
    )""",
    "CREATE INDEX prompts_by_state ON prompts (state, root_id)",
    "CREATE INDEX prompts_by_session ON prompts (session_id)",
    """CREATE TABLE rulings (
        id TEXT PRIMARY KEY NOT NULL,
        principal TEXT NOT NULL,
        root_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        once INTEGER NOT NULL,
        created_at REAL NOT NULL,
        expires_at REAL,
        used INTEGER NOT NULL,
        revoked_at REAL,
        record TEXT NOT NULL,
        FOREIGN KEY (session_id, principal) REFERENCES sessions (id, principal)
    )""",
    "CREATE INDEX rulings_by_session ON rulings (session_id)",
)

_AUDIT: Migration = (
    """CREATE TABLE audit (
        seq INTEGER PRIMARY KEY NOT NULL,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        principal TEXT NOT NULL,
        session_id TEXT NOT NULL,
        root_id TEXT,
        record TEXT NOT NULL
    )""",
    "CREATE INDEX audit_by_session ON audit (session_id)",
    "CREATE INDEX audit_by_root ON audit (root_id)",
    """CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    """CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    # also what stops REPLACE, which deletes without asking the trigger above
    """CREATE TRIGGER audit_has_no_gaps BEFORE INSERT ON audit
        WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM audit)
        BEGIN SELECT RAISE(ABORT, 'the audit trail is numbered without gaps'); END""",
)

_LIVES: Migration = (
    """CREATE TABLE changes (
        run_id TEXT NOT NULL REFERENCES runs (id),
        seq INTEGER NOT NULL,
        at REAL NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (run_id, seq)
    )""",
    # what a budget counts, so that a tree's sum is read from an index and no record is opened
    "ALTER TABLE runs ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN cost REAL NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN steps INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN seconds REAL NOT NULL DEFAULT 0",
    """UPDATE runs SET
        tokens = coalesce(json_extract(record, '$.usage.input_tokens'), 0) + coalesce(json_extract(record, '$.usage.output_tokens'), 0),
        cost = coalesce(json_extract(record, '$.usage.cost'), 0),
        steps = coalesce(json_extract(record, '$.usage.turns'), 0)""",
    "CREATE INDEX runs_by_root ON runs (root_id, tokens, cost, steps, seconds)",
    "CREATE INDEX runs_to_cancel ON runs (workspace) WHERE final = 0 AND cancel_requested IS NOT NULL",
    "CREATE INDEX prompts_by_root ON prompts (root_id)",
)

_PROMISED: Migration = (
    """CREATE TABLE promised (
        id TEXT PRIMARY KEY NOT NULL,
        root_id TEXT NOT NULL,
        principal TEXT NOT NULL,
        workspace TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        final INTEGER NOT NULL,
        owner TEXT,
        lease_until REAL,
        cancel_requested TEXT,
        record TEXT NOT NULL,
        FOREIGN KEY (root_id, principal) REFERENCES sessions (id, principal) ON DELETE CASCADE
    )""",
    "CREATE INDEX promised_open ON promised (workspace) WHERE final = 0",
    "CREATE INDEX promised_over ON promised (updated_at) WHERE final = 1",
    "CREATE INDEX promised_by_root ON promised (root_id)",
)

_CHAINED: Migration = (
    # NULL for the events from before: those up to `trail.unchained`
    "ALTER TABLE audit ADD COLUMN writer BLOB",
    "ALTER TABLE audit ADD COLUMN place INTEGER",
    "ALTER TABLE audit ADD COLUMN hash BLOB",
    """CREATE TABLE trail (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        store TEXT NOT NULL,
        unchained INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        retired INTEGER NOT NULL
    )""",
    "INSERT INTO trail SELECT 1, lower(hex(randomblob(20))), (SELECT coalesce(max(seq), 0) FROM audit), 0, 0",
    "DROP TRIGGER audit_is_never_deleted",
    """CREATE TRIGGER audit_is_deleted_only_when_retired BEFORE DELETE ON audit
        WHEN OLD.seq > (SELECT retired FROM trail)
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    "DROP TRIGGER audit_has_no_gaps",
    """CREATE TRIGGER audit_has_no_gaps BEFORE INSERT ON audit
        WHEN NEW.seq IS NOT max(coalesce((SELECT max(seq) FROM audit), 0), (SELECT retired FROM trail)) + 1
        BEGIN SELECT RAISE(ABORT, 'the audit trail is numbered without gaps'); END""",
)

_EXPIRING: Migration = (
    "ALTER TABLE trail ADD COLUMN heard REAL NOT NULL DEFAULT 0",
    # what was allowed before rulings had an end gets the one that is usual since
    """UPDATE rulings SET expires_at = created_at + 43200
        WHERE once = 0 AND expires_at IS NULL AND json_extract(record, '$.action') = 0""",
)

_API_KEYS: Migration = (
    """CREATE TABLE api_keys (
        id TEXT PRIMARY KEY NOT NULL,
        name TEXT NOT NULL,
        scopes TEXT NOT NULL,
        created_at REAL NOT NULL,
        expires_at REAL,
        revoked_at REAL,
        used_at REAL
    )""",
    "CREATE UNIQUE INDEX api_keys_living ON api_keys (name) WHERE revoked_at IS NULL",
    """CREATE TABLE api_key_secrets (
        digest TEXT PRIMARY KEY NOT NULL,
        key_id TEXT NOT NULL REFERENCES api_keys (id),
        created_at REAL NOT NULL,
        until REAL
    )""",
)

_PEOPLE: Migration = (
    """CREATE TABLE people (
        principal TEXT PRIMARY KEY NOT NULL,
        claims TEXT NOT NULL,
        issued_at REAL NOT NULL
    )""",
)

_CREDENTIALS: Migration = (
    """CREATE TABLE credentials (
        principal TEXT NOT NULL,
        server TEXT NOT NULL,
        sealed BLOB NOT NULL,
        kept_at REAL NOT NULL,
        PRIMARY KEY (principal, server)
    )""",
)

_REVOKED: Migration = (
    """CREATE TABLE revoked (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        at REAL NOT NULL
    )""",
    "CREATE INDEX revoked_by_name ON revoked (name, at)",
)

_LEDGER: Migration = (
    """CREATE TABLE ledger (
        account TEXT NOT NULL,
        day TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        cost REAL NOT NULL,
        PRIMARY KEY (account, day)
    )""",
    "CREATE INDEX ledger_by_day ON ledger (day)",
    "ALTER TABLE runs ADD COLUMN accounts TEXT",  # NULL: it counts nowhere
    "CREATE INDEX runs_counted ON runs (accounts) WHERE final = 0 AND accounts IS NOT NULL",
)

_UPSTREAMS: Migration = (
    """CREATE TABLE upstream_pins (
        principal TEXT NOT NULL,
        server TEXT NOT NULL,
        tool TEXT NOT NULL,
        digest TEXT NOT NULL,
        definition TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (principal, server, tool)
    )""",
    """CREATE TABLE upstreams (
        principal TEXT NOT NULL,
        server TEXT NOT NULL,
        said TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (principal, server)
    )""",
)

MIGRATIONS: tuple[Migration, ...] = (
    (*_SESSIONS, *_RUNS, *_PROMPTS, *_AUDIT),
    _LIVES,
    _PROMISED,
    _CHAINED,
    _EXPIRING,
    _API_KEYS,
    _PEOPLE,
    _CREDENTIALS,
    _REVOKED,
    _LEDGER,
    _UPSTREAMS,
)
