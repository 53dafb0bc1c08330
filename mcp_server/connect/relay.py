"""Relays messages between a host on standard input and output and a server over Streamable HTTP, whichever era the host speaks.

It looks at what a message is, never at what it is about: texts and ids stay as they are, so progress, cancellation, prompts and tasks
need no care of their own. It never makes a call a second time: what the server refused unread is sent again, nothing else.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import anyio
import httpx2
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream

from mcp_server.connect.messages import (
    CLOSED,
    HARMLESS,
    NO_METHOD,
    Answer,
    Id,
    Message,
    Notification,
    Request,
    Unreadable,
    error_answer,
    error_text,
    own_version,
    read,
    routing_headers,
    with_id,
)
from mcp_server.connect.parameters import ParameterHeaders
from mcp_server.connect.reaching import Failed, Server
from mcp_server.connect.receiving import error_in, is_stream, received, refusal
from mcp_server.connect.sessions import Opened, Session
from mcp_server.connect.upkeep import GET, PAUSE, POST, Upkeep

_LEAVE_SECONDS = 3.0
_RESUMES = 5
"""Times in a row that an answer's stream is taken up again without anything new on it."""


@dataclass(slots=True, kw_only=True)
class _Way:
    """A request of the host's that is under way."""

    modern: bool
    """It stands for itself, in no session."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    cancelled: bool = False
    """The host wants no answer any more."""


class Relay:
    """One host and one server."""

    def __init__(self, server: Server, write: Callable[[str], Awaitable[None]], say: Callable[[str], None]) -> None:
        """`write`: one message to the host, never two at once; `say`: a line for the person."""
        self._server = server
        self._write = write
        self._say = say
        self._session = Session()
        self._parameters = ParameterHeaders()
        self._ways: dict[Id, _Way] = {}
        self._upkeep = Upkeep(server, self._session, self._passed, say)
        self._out, self._written = anyio.create_memory_object_stream[str](0)
        self._group: TaskGroup

    async def run(self, lines: AsyncIterable[str]) -> None:
        """Until the host's input ends; then whatever is under way is given up and the session ended."""
        queue, messages = anyio.create_memory_object_stream[Message](float("inf"))
        try:
            async with self._out, self._written, queue, messages, anyio.create_task_group() as self._group:
                self._upkeep.group = self._group
                self._group.start_soon(self._write_all)
                self._group.start_soon(self._pass_all, messages)
                async for line in lines:
                    try:
                        await queue.send(read(line))
                    except Unreadable as error:
                        await self._out.send(error_text(None, error.code, str(error)))
                self._group.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(_LEAVE_SECONDS, shield=True):
                await self._upkeep.leave()

    # ---- what the host sends ------------------------------------------------------------------------

    async def _write_all(self) -> None:
        async for line in self._written:
            await self._write(line)

    async def _pass_all(self, messages: MemoryObjectReceiveStream[Message]) -> None:
        """Requests side by side; what has no answer in its order."""
        async for message in messages:
            match message:
                case Request():
                    if (superseded := self._ways.get(message.id)) is not None:
                        superseded.scope.cancel()
                    self._ways[message.id] = way = _Way(modern=own_version(message) is not None)
                    self._group.start_soon(self._ask, message, way)
                case Notification(method="notifications/cancelled"):
                    await self._cancel(message)
                case Notification() | Answer():
                    await self._tell(message)
                case _:
                    assert_never(message)

    async def _cancel(self, message: Notification) -> None:
        """From 2026-07-28 on the end of a request's connection is what cancels it, before that a message is."""
        number = message.params.get("requestId")
        way = self._ways.get(number) if isinstance(number, str | int) else None
        if way is not None and way.modern:
            way.scope.cancel()
        elif way is not None or self._session.now is not None:
            if way is not None:
                way.cancelled = True
            await self._tell(message)

    async def _tell(self, message: Notification | Answer) -> None:
        """Something that has no answer."""
        modern = isinstance(message, Notification) and own_version(message) is not None
        opened = None if modern else self._session.now
        headers = {**POST, **routing_headers(message), **(opened.headers if opened is not None else {})}
        try:
            async with self._server.exchange("POST", headers, message.text, pauses=()) as answer:
                refused = answer.status_code
        except (Failed, httpx2.HTTPError) as error:
            self._say(f"a message of the client's did not arrive: {error or type(error).__name__}")
            return
        if refused >= 400:
            self._say(f"the server did not take a message of the client's ({refused})")
        elif isinstance(message, Notification) and message.method == "notifications/initialized" and opened is not None:
            self._upkeep.listen(opened)

    # ---- what has an answer -------------------------------------------------------------------------

    async def _ask(self, request: Request, way: _Way) -> None:
        """The host gets exactly one answer, unless it has cancelled."""
        try:
            with way.scope:
                told = await self._asked(request, way)
                if told is not None and not way.cancelled:
                    await self._out.send(told)
        finally:
            if self._ways.get(request.id) is way:
                del self._ways[request.id]

    async def _asked(self, request: Request, way: _Way) -> str | None:
        """The text to answer with where the server gave none; None: it did."""
        try:
            return await self._exchanged(request, way)
        except Failed as error:
            return error_text(request.id, CLOSED, str(error))
        except httpx2.HTTPError:
            return error_text(request.id, CLOSED, self._broken())

    def _broken(self) -> str:
        return f"the connection to {self._server.shown} broke before the answer came; whether the call took effect is not known"

    async def _exchanged(self, request: Request, way: _Way) -> str | None:
        """A session that the server has ended is opened again, once, and the request made there if it was not taken before."""
        for again in (True, False):
            opened = None if way.modern or request.method == "initialize" else self._session.now
            headers = {**POST, **self._headers(request, opened)}
            async with self._server.exchange("POST", headers, request.text) as answer:
                if answer.status_code < 300:
                    return await self._passed_on(request, way, answer)
                error = await error_in(answer)
                ended = answer.status_code == 404 and opened is not None and (error is None or error["code"] != NO_METHOD)
                if not (ended and again):
                    return self._refused(request, answer, error)
            assert opened is not None  # noqa: S101 - `ended`
            in_doubt = error is None and request.method not in HARMLESS
            try:
                await self._upkeep.reopen(opened)
            except Failed:
                if not in_doubt:
                    raise
            if in_doubt:
                return error_text(request.id, CLOSED, self._in_doubt())
        raise AssertionError

    def _in_doubt(self) -> str:
        return (
            f"{self._server.shown} answered that there is nothing (404), and not in the words of an MCP server that knows no such session; "
            "whether the call took effect is not known, so it was not made again. Look before you repeat it"
        )

    def _headers(self, request: Request, opened: Opened | None) -> dict[str, str]:
        if opened is not None:
            return opened.headers
        return routing_headers(request) | self._parameters.headers(request.method, request.params)

    def _refused(self, request: Request, answer: httpx2.Response, error: Mapping[str, Any] | None) -> str:
        if error is not None and answer.status_code != 401:
            return error_answer(request.id, error)
        return error_text(request.id, *refusal(request, answer, self._server.shown))

    async def _passed_on(self, request: Request, way: _Way, answer: httpx2.Response) -> str | None:
        """Everything that comes on an answer, up to the answer itself."""
        last, pause = "", PAUSE
        if answer.status_code in (202, 204):
            raise Failed("the server took the request and gives no answer to it")
        try:
            async for event in received(answer):
                last, pause = event.id or last, event.retry if event.retry is not None else pause
                if event.text and await self._delivered(event.text, request, answer):
                    return None
        except httpx2.HTTPError:
            if not last:
                raise
        if way.modern or not last or way.cancelled:
            return error_text(request.id, CLOSED, self._broken())
        return await self._resumed(request, way, last, pause)

    async def _resumed(self, request: Request, way: _Way, last: str, pause: float) -> str | None:
        """Take up a stream that ended before the answer where it ended: no second call, the server kept what it had to say."""
        opened, tries = self._session.now, 0
        while opened is not None and tries < _RESUMES and not way.cancelled:
            await anyio.sleep(pause)
            tries += 1
            try:
                async with self._server.exchange("GET", {**GET, **opened.headers, "last-event-id": last}) as answer:
                    if not is_stream(answer):
                        break
                    async for event in received(answer):
                        last, tries = event.id or last, 0 if event.text else tries
                        if event.text and await self._delivered(event.text, request, answer):
                            return None
            except httpx2.HTTPError:
                continue
        return error_text(request.id, CLOSED, self._broken())

    async def _passed(self, text: str) -> None:
        """What the server sends of its own accord, and the bridge in its place. An answer is nobody's there."""
        try:
            message = read(text)
        except Unreadable as error:
            self._say(f"the server sent what cannot be read: {error}")
            return
        if not isinstance(message, Answer):
            await self._out.send(message.text)

    async def _delivered(self, text: str, request: Request, answer: httpx2.Response) -> bool:
        """Pass one message of the server's on. Was it the answer to the request?"""
        try:
            message = read(text)
        except Unreadable as error:
            raise Failed(f"the server answered with what cannot be read: {error}") from None
        if not isinstance(message, Answer):
            await self._out.send(message.text)
            return False
        if message.id != request.id and not (message.id is None and message.result is None):
            return False
        self._learn(request, message, answer)
        await self._out.send(with_id(message, request.id))
        return True

    def _learn(self, request: Request, message: Answer, answer: httpx2.Response) -> None:
        """Before the host sees it, and builds on it."""
        self._parameters.learn(request, message)
        if message.result is None or own_version(request) is not None:
            return
        if request.method == "initialize":
            self._session.opened(request.params, message.result, answer.headers.get("mcp-session-id"))
        else:
            self._session.answered(request.method, request.params)
