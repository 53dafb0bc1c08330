"""Takes out of what a server says what it was given to keep to itself: programs show what they were started with, in errors above all."""

from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Any, cast

from mcp.client._transport import ReadStream, TransportStreams  # no public name has them
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from mcp_server.redaction import SHORTEST, without

MOST_SENT = 8
"""Tokens of one connection that are remembered: a server may show the one before the newest, and hardly an older one."""

STATE = "requestState"
"""Goes back to its server as it came, and is shown to nobody."""


class Blots:
    """What one connection's server was given. Known values as they are: in another form (Base64, spelt backwards) they pass."""

    def __init__(self) -> None:
        self._given: frozenset[str] = frozenset()
        self._sent: deque[str] = deque(maxlen=MOST_SENT)
        self._known: tuple[str, ...] = ()

    def give(self, values: Iterable[str]) -> None:
        """It is started, or spoken with, by these."""
        self._given |= frozenset(values)
        self._know()

    def send(self, token: str) -> None:
        """It is sent this one. Another may take its place later."""
        if len(token) >= SHORTEST and token not in self._sent:
            self._sent.append(token)
            self._know()

    def _know(self) -> None:
        # The longest first: what holds another one must not be left with a part of itself.
        self._known = tuple(sorted({*self._given, *self._sent}, key=len, reverse=True))

    def text(self, text: str) -> str:
        """Without them."""
        return without(text, self._known)

    def heard(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """A message without them, wherever they stand in it."""
        if not isinstance(item, SessionMessage) or not self._known:
            return item
        match message := item.message:
            case JSONRPCRequest(params=params) | JSONRPCNotification(params=params) if self._shows(params):
                clean = message.model_copy(update={"params": self._clean(params)})
            case JSONRPCResponse(result=result) if self._shows(result):
                kept = {STATE: result[STATE]} if STATE in result else {}
                clean = message.model_copy(update={"result": self._clean(result) | kept})
            case JSONRPCError(error=error) if self._shows([error.message, error.data]):
                said = error.model_copy(update={"message": self.text(error.message), "data": self._clean(error.data)})
                clean = message.model_copy(update={"error": said})
            case _:
                return item
        return SessionMessage(clean, metadata=item.metadata)

    def _shows(self, value: Any) -> bool:
        match value:
            case str():
                return any(secret in value for secret in self._known)
            case dict():
                return any(self._shows(name) or self._shows(each) for name, each in cast("dict[str, Any]", value).items())
            case list():
                return any(map(self._shows, cast("list[Any]", value)))
            case _:
                return False

    def _clean(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self._clean(each) for name, each in cast("dict[str, Any]", value).items()}
            case list():
                return [self._clean(each) for each in cast("list[Any]", value)]
            case _:
                return value


def blotted(streams: TransportStreams, blots: Blots) -> TransportStreams:
    """The same way, with what is heard over it cleaned."""
    read, write = streams
    return _Blotted(read, blots), write


class _Blotted:
    """A stream that cleans each message."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], blots: Blots) -> None:
        self._inner = inner
        self._blots = blots

    @property
    def last_context(self) -> Any:
        """See the protocol's library: whoever sent the last message."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._blots.heard(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> "_Blotted":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._blots.heard(await self._inner.__anext__())

    async def __aenter__(self) -> "_Blotted":
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)
