"""Where what people are known by is kept, and under which keys."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mcp_server.protocol.upstream.credentials import Credentials
from mcp_server.protocol.upstream.vault import Vault
from mcp_server.settings.key_files import kept_keys
from mcp_server.settings.values import Settings
from mcp_server.store.protocol import Store
from mcp_server.tools.web.composing import web_of
from mcp_server.tools.web.wires import Wires

KEY_FILE = "credentials.key"


def own_credentials(settings: Settings, store: Store, state: Path, environment: Mapping[str, str]) -> Credentials:
    """Those of this machine's user, for one command."""
    return credentials_of(lambda: settings, store, state, web_of(lambda: settings, environment).wires, time.time)


def credentials_of(settings: Callable[[], Settings], store: Store, state: Path, wires: Wires, clock: Callable[[], float]) -> Credentials:
    """By what people are known to other servers. `settings`: as they are now; `state`: the state folder."""

    def keys() -> Sequence[bytes]:
        named = settings().credential_key_file
        file = Path(named).expanduser() if named is not None else state / KEY_FILE
        return kept_keys(file, remedy="put back the file that was there; what was kept under its keys opens with no others")

    gateway = settings().gateway
    return Credentials(
        lambda: settings().upstreams, Vault(store, keys, clock), wires, None if gateway is None else gateway.console_url, clock
    )
