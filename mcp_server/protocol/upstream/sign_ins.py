"""Sign-ins to servers behind Remit that are under way in people's browsers: begun by one request of theirs, ended by another one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import anyio
import structlog
from anyio.abc import TaskGroup

from mcp_server.errors import RemitError
from mcp_server.principal import owner_of
from mcp_server.protocol.sign_in.given import NotGiven, Returned
from mcp_server.protocol.upstream.personal import Personal
from mcp_server.protocol.upstream.vault import Holder

log = structlog.get_logger("upstream")

SIGN_IN_SECONDS = 600.0
"""For the person at the issuer's page: time to find a password and a second factor."""

LONGEST_START = 60.0
"""Seconds until there is a page to show: a few requests to the server and the issuer."""

LONGEST_END = 60.0
"""Seconds from the person's return until there is a token."""

MOST_OF_ONE = 5
"""Under way for one person. The oldest gives way."""


@dataclass(slots=True, kw_only=True)
class _UnderWay:
    """One sign-in. A `Threshold`, whose browser comes back by `Console`'s own pages."""

    holder: Holder
    address: str
    page: str = ""
    state: str = ""
    failure: str = ""
    came: Returned | None = None
    shown: anyio.Event = field(default_factory=anyio.Event)
    back: anyio.Event = field(default_factory=anyio.Event)
    over: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def show(self, page: str) -> None:
        self.page, self.state = page, parse_qs(urlsplit(page).query)["state"][0]
        self.shown.set()

    async def returned(self, state: str) -> Returned:
        await self.back.wait()
        assert self.came is not None  # noqa: S101 - set before the event
        return self.came


class SignIns:
    """Those of one process. Whoever begins one ends it: a return is believed from the same person alone.

    Args:
        people: The servers that people sign in to, by name, as the settings are now.
    """

    def __init__(self, people: Callable[[], Mapping[str, tuple[str, Personal]]]) -> None:
        self._people = people
        self._under_way: list[_UnderWay] = []
        self._group: TaskGroup | None = None

    async def run(self) -> None:
        """As long as anybody may sign in."""
        async with anyio.create_task_group() as self._group:
            await anyio.sleep_forever()

    @property
    def any(self) -> bool:
        """Do people sign in to any server?"""
        return bool(self._people())

    async def standing(self, principal: str) -> Mapping[str, bool]:
        """Every server that people sign in to: has this person?"""
        found = {name: self.theirs(principal, name) for name in sorted(self._people())}
        return {name: await personal.token(holder) is not None for name, (personal, holder) in found.items()}

    async def begin(self, principal: str, server: str, address: str) -> str:
        """Begin one. Returns the issuer's page.

        Args:
            principal: The key of whoever begins it.
            server: Its name.
            address: Where the browser comes back to.

        Raises:
            NotGiven: There is no such server, or nothing to sign in to.
        """
        personal, holder = self.theirs(principal, server)
        if self._group is None:
            raise NotGiven("the server is ending")
        one = _UnderWay(holder=holder, address=address)
        mine = [other for other in self._under_way if other.holder.principal == holder.principal]
        for other in mine[: max(0, len(mine) - MOST_OF_ONE + 1)]:
            other.scope.cancel()
        self._under_way.append(one)
        self._group.start_soon(self._walk, personal, one)
        with anyio.move_on_after(LONGEST_START):
            await one.shown.wait()
        if one.page:
            return one.page
        one.scope.cancel()
        raise NotGiven(one.failure or "nothing that could be shown came in time")

    async def end(self, principal: str, state: str, came: Returned) -> str:
        """The person came back. Returns the server's name.

        Raises:
            NotGiven: They did not begin that, or there is no token.
        """
        one = next((one for one in self._under_way if one.state == state and one.holder.principal == owner_of(principal)), None)
        if one is None or not state or one.back.is_set():
            raise NotGiven("that sign-in was not begun here, or is over; begin it again")
        one.came = came
        one.back.set()
        with anyio.move_on_after(LONGEST_END):
            await one.over.wait()
        if one.failure or not one.over.is_set():
            raise NotGiven(one.failure or "the issuer did not answer in time")
        return one.holder.server

    async def leave(self, principal: str, server: str) -> bool:
        """Forget the person's token for it. Was there one? Raises `NotGiven` where there is no such server."""
        personal, holder = self.theirs(principal, server)
        return await personal.sign_out(holder)

    def theirs(self, principal: str, server: str) -> tuple[Personal, Holder]:
        """Where somebody's tokens for a server are.

        Raises:
            NotGiven: Nobody signs in to such a server.
        """
        found = self._people().get(server)
        if found is None:
            raise NotGiven(f"people sign in to no server of that name ({server}): its settings have no `oauth`")
        address, personal = found
        return personal, Holder(principal=owner_of(principal), server=server, address=address)

    async def _walk(self, personal: Personal, one: _UnderWay) -> None:
        one.failure = "it was left"
        try:
            with one.scope, anyio.move_on_after(SIGN_IN_SECONDS):
                await personal.sign_in(one.holder, one, one.show)
                one.failure = ""
        except (NotGiven, RemitError) as error:
            one.failure = str(error)
        except Exception:  # whatever a server or an issuer does must not end this one
            log.exception("a sign-in failed in a way nobody expected", server=one.holder.server)
            one.failure = "it failed in a way nobody expected; ask who runs this"
        finally:
            self._under_way.remove(one)
            one.shown.set()
            one.over.set()
