"""The webhook as settings name it: its address, its secret, the way there."""

from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from mcp_server.errors import ToolFailure
from mcp_server.gateway.notices.posting import Poster
from mcp_server.gateway.notices.signing import SecretSource
from mcp_server.gateway.notices.webhook import Webhook
from mcp_server.settings.schema import Webhook as Hook
from mcp_server.tools.web.proxies import proxies_of
from mcp_server.tools.web.urls import read_url
from mcp_server.tools.web.wires import Wires

log = structlog.get_logger(__name__)


def secrets_of_hook(hook: Hook, environment: Mapping[str, str]) -> SecretSource:
    """Where its secret is."""
    file = Path(hook.secret_file).expanduser() if hook.secret_file else None
    return SecretSource(file=file, variable=hook.secret_env, environment=environment)


def webhook_of(hook: Hook, environment: Mapping[str, str], clock: Callable[[], float]) -> tuple[Webhook, ...]:
    """None, and a line in the log, where its address is none that can be posted to."""
    try:
        url = read_url(hook.url or "")
    except ToolFailure as failure:
        log.error("the webhook is told nothing: `webhook.url` cannot be used", reason=str(failure))
        return ()
    poster = Poster(url=url, wires=Wires(proxies=proxies_of(environment)))
    return (Webhook(poster, secrets_of_hook(hook, environment), clock=clock),)
