"""By what people are known to other servers, as settings say: their own sign-in, or a token that what they came with is exchanged for."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from pydantic import SecretStr

from mcp_server.errors import ConfigError
from mcp_server.principal import LOCAL, owner_of
from mcp_server.protocol.upstream.exchange import Exchange, Exchanger
from mcp_server.protocol.upstream.expanding import NotSet, held_in
from mcp_server.protocol.upstream.guarded import guarded_way
from mcp_server.protocol.upstream.personal import Bearer, Personal, Tokens, who_of
from mcp_server.protocol.upstream.sign_ins import SignIns
from mcp_server.protocol.upstream.subjects import Subjects
from mcp_server.protocol.upstream.vault import Holder, Vault
from mcp_server.settings.upstream import Upstream, UpstreamExchange, UpstreamOauth
from mcp_server.tools.web.wires import Wires

T = TypeVar("T")

ELSEWHERE = "your sign-in at this gateway could not be exchanged for one there; call again, and if that does not help ask who runs it"


class Credentials:
    """Those of one process.

    Args:
        settings: The servers as they are set now.
        vault: Keeps what people get by signing in.
        wires: To issuers.
        console: The address of the gateway's console, where people sign in; None: there is none.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        settings: Callable[[], Mapping[str, Upstream]],
        vault: Vault,
        wires: Wires,
        console: str | None,
        clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._vault = vault
        self._wires = wires
        self.subjects = Subjects(lambda: any(one.exchange is not None for one in settings().values()), clock)
        """What callers came with."""
        self.signs = SignIns(self.people)
        """Sign-ins under way."""
        self._console = console
        self._clock = clock
        self._exchanges: dict[str, tuple[Upstream, Exchange]] = {}
        self._personal: dict[str, tuple[Upstream, Personal]] = {}

    def people(self) -> Mapping[str, tuple[str, Personal]]:
        """The servers that people sign in to: where each is, and their tokens."""
        return {
            name: (config.url, self._own(name, config, config.oauth))
            for name, config in self._settings().items()
            if config.url is not None and config.oauth is not None
        }

    async def bearer(self, name: str, config: Upstream, principal: str) -> Bearer | None:
        """What makes somebody known to the server; None: nothing of theirs does. `principal`: their key.

        Raises:
            NotSet: They have no token for it, and nothing may be sent without one.
        """
        holder = Holder(principal=owner_of(principal), server=name, address=config.url or "")
        if config.oauth is not None:
            return await self._checked(self._own(name, config, config.oauth), holder, self._how_to_sign_in(name, principal))
        if config.exchange is not None:
            return await self._checked(self._exchange(name, config, config.exchange), holder, ELSEWHERE)
        return None

    async def _checked(self, tokens: Tokens, holder: Holder, otherwise: str) -> Bearer:
        try:
            token = await tokens.token(holder)
        except ConfigError as error:
            raise NotSet(f"what people's sign-ins are kept under cannot be used: {error}") from error
        if token is None:
            raise NotSet(otherwise)
        return Bearer(tokens, holder)

    def _how_to_sign_in(self, name: str, principal: str) -> str:
        if principal == LOCAL.key:
            return f"nobody has signed in to it; a person must run `remit upstreams {name} --sign-in` in a terminal, then call again"
        if self._console is None:
            return "you have not signed in to it, and this gateway has no console to do so; ask who runs it"
        return f"you have not signed in to it; a person must do so at {self._console}/servers, then call again"

    def _own(self, name: str, config: Upstream, oauth: UpstreamOauth) -> Personal:
        def made() -> Personal:
            return Personal(self._vault, partial(who_of, oauth), guarded_way(self._wires, config.url, oauth.issuer))

        return _kept(self._personal, name, config, made)

    def _exchange(self, name: str, config: Upstream, exchange: UpstreamExchange) -> Exchange:
        def made() -> Exchange:
            return Exchange(partial(_at, exchange), self.subjects.of, guarded_way(self._wires, exchange.token_endpoint), self._clock)

        return _kept(self._exchanges, name, config, made)


def _kept(known: dict[str, tuple[Upstream, T]], name: str, config: Upstream, made: Callable[[], T]) -> T:
    """The one of before, as long as the server's settings are the same."""
    found = known.get(name)
    if found is None or found[0] != config:
        found = known[name] = (config, made())
    return found[1]


def _at(exchange: UpstreamExchange) -> Exchanger:
    return Exchanger(
        endpoint=exchange.token_endpoint,
        client_id=exchange.client_id,
        client_secret=SecretStr(held_in(exchange.client_secret_file)),
        audience=exchange.audience,
        scope=exchange.scope,
    )
