"""How the tools reach the web, as settings say."""

from collections.abc import Callable, Mapping

import structlog

from mcp_server.errors import ToolFailure
from mcp_server.settings.schema import WebSearch
from mcp_server.settings.values import Settings
from mcp_server.tools.web.hosts import PrivateHost, read_private_host
from mcp_server.tools.web.proxies import proxies_of
from mcp_server.tools.web.reach import Web
from mcp_server.tools.web.search import BRAVE, Brave, SearchProvider, SearXng
from mcp_server.tools.web.wires import Wires

log = structlog.get_logger(__name__)


def web_of(settings: Callable[[], Settings], environment: Mapping[str, str]) -> Web:
    """How the tools reach the web: the search engine as the settings name it now, private hosts as they name them at each call."""

    def private_hosts() -> tuple[PrivateHost, ...]:
        found: list[PrivateHost] = []
        for text in settings().webfetch.private_hosts:
            try:
                found.append(read_private_host(text))
            except ToolFailure as failure:
                log.warning("a private host is left out", host=text, reason=str(failure))
        return tuple(found)

    wires = Wires(proxies=proxies_of(environment), private_hosts=private_hosts)
    return Web(wires=wires, search=_search_of(settings().websearch, environment, wires))


def _search_of(said: WebSearch | None, environment: Mapping[str, str], wires: Wires) -> SearchProvider | None:
    if said is None:
        return None
    key = environment.get(said.api_key_env) if said.api_key_env else None
    if said.api_key_env and not key:
        log.warning("no web search: the variable that its key is to come from is not set", variable=said.api_key_env)
        return None
    match said.provider:
        case "brave":
            return Brave(said.base_url or BRAVE, key or "", wires)
        case "searxng":
            return SearXng(said.base_url or "", key, wires)
