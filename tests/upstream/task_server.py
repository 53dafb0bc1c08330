"""An MCP server of nothing but messages that makes tasks of calls, in either era, and says of them what it is told to, however odd."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ElicitRequestFormParams,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from mcp_server.protocol.tasks_wire import IDENTIFIER
from mcp_server.protocol.upstream.link import Ends
from mcp_server.protocol.upstream.servers import Opener
from mcp_server.protocol.upstream.task_wire import RELATED
from mcp_server.settings.upstream import Upstream
from mcp_server.tools.foreign import Whose
from tests.protocol.connect import Era

Send = MemoryObjectSendStream[SessionMessage | Exception]
Said = dict[str, Any]

AT = "2026-07-28T12:00:00Z"
EARLY: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}},
    "serverInfo": {"name": "tasks", "version": "1"},
}
OVER = ("completed", "failed", "cancelled")


class Refused(Exception):
    """An error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = ErrorData(code=code, message=message)


def text(said: str, *, failed: bool = False) -> Said:
    return {"content": [{"type": "text", "text": said}], "isError": failed}


@dataclass(kw_only=True)
class Job:
    """One task."""

    id: str
    arguments: Mapping[str, Any]
    status: str = "working"
    words: str | None = None
    brings: Said = field(default_factory=dict[str, Any])
    """Its result, or its error."""
    interval: Any = 50
    looks: int = 0
    """How often it was asked about."""
    updates: int = 0
    """How often it was told answers, from 2026-07-28 on."""
    over: anyio.Event = field(default_factory=anyio.Event)
    looked: anyio.Event = field(default_factory=anyio.Event)
    questions: list[ElicitRequestFormParams] = field(default_factory=list[ElicitRequestFormParams])
    put: int = 0
    """How many of them were put."""
    answers: list[Said] = field(default_factory=list[Said])
    changed: anyio.Event = field(default_factory=anyio.Event)

    def change(self, status: str, words: str | None = None, **brings: Any) -> None:
        self.status, self.words, self.brings = status, words, brings
        changed, self.changed = self.changed, anyio.Event()
        changed.set()
        if status in OVER:
            self.over.set()

    def end(self, said: str, *, failed: bool = False) -> None:
        self.change("completed", "done", result=text(said, failed=failed))

    async def ask(self, *questions: ElicitRequestFormParams) -> list[Said]:
        """As each era has it; what the person says."""
        self.questions, self.answers, self.put = list(questions), [], 0
        self.change("input_required", "wants to know")
        while len(self.answers) < len(questions):
            await self.changed.wait()
        self.change("working", "has heard")
        return self.answers

    def hear(self, answer: Said) -> None:
        self.answers.append(answer)
        self.change(self.status, self.words, **self.brings)

    def looked_at(self) -> None:
        self.looks += 1
        looked, self.looked = self.looked, anyio.Event()
        looked.set()

    async def seen(self, times: int = 2) -> None:
        """As it is now: so often."""
        for _ in range(times):
            await self.looked.wait()


Does = Callable[[Job], Coroutine[Any, Any, None]]


async def takes(job: Job) -> None:
    """Answers, as they come."""


async def ends(job: Job) -> None:
    job.end(f"done {job.arguments.get('text', '')}")


@dataclass(kw_only=True)
class TaskServer:
    """Mutable: a test steers it while it runs. Tasks outlast connections."""

    era: Era
    does: Does = ends
    support: str | None = "required"
    """Up to 2025-11-25: what its one tool says of tasks."""
    jobs: list[Job] = field(default_factory=list[Job])
    methods: list[str] = field(default_factory=list[str])
    """Every request."""
    tokens: list[Any] = field(default_factory=list[Any])
    """Of progress, one a call."""
    connections: int = 0
    odd: Callable[[str, Said], Said] = lambda _, said: said
    """Changes what it answers to a method."""
    before_update: Does = takes
    """Before it takes answers, from 2026-07-28 on."""
    refuses_early: bool = False
    """Asked for a result before there is one, it says that there is none."""
    _group: TaskGroup | None = None
    _outgoing: Send | None = None
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _replies: dict[str, Job] = field(default_factory=dict[str, Job])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Opener]:
        """It is there inside; gives the way to it."""
        async with anyio.create_task_group() as group:
            self._group = group

            def way(name: str, config: Upstream, whose: Whose, ends: Ends) -> Any:
                return self._reached(ends)

            yield way
            group.cancel_scope.cancel()

    def hang_up(self) -> None:
        """The connection is lost."""
        self._scope.cancel()

    async def tell(self, method: str, params: Said) -> None:
        assert self._outgoing is not None
        await self._outgoing.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=method, params=params)))

    @asynccontextmanager
    async def _reached(self, ended: Ends) -> AsyncGenerator[Any]:
        self.connections += 1
        to_client, read = anyio.create_memory_object_stream[SessionMessage | Exception](64)
        write, from_client = anyio.create_memory_object_stream[SessionMessage](64)
        async with anyio.create_task_group() as group:
            self._scope, self._outgoing = anyio.CancelScope(), to_client
            group.start_soon(self._serve, from_client, to_client, self._scope, ended)
            try:
                yield read, write
            finally:
                group.cancel_scope.cancel()
                for stream in (to_client, read, write, from_client):
                    stream.close()

    async def _serve(
        self, incoming: MemoryObjectReceiveStream[SessionMessage], outgoing: Send, scope: anyio.CancelScope, ended: Ends
    ) -> None:
        with scope:
            async with anyio.create_task_group() as group:
                async for message in incoming:
                    match message.message:
                        case JSONRPCRequest() as request:
                            group.start_soon(self._answer, request, outgoing)
                        case JSONRPCResponse(id=str() as key, result=result):
                            self._replies.pop(key).hear(result)
                        case _:
                            pass
        await outgoing.aclose()
        ended.end("it hung up")

    async def _answer(self, request: JSONRPCRequest, outgoing: Send) -> None:
        self.methods.append(request.method)
        params = dict(request.params or {})
        try:
            said = self.odd(request.method, await self.said(request.method, params, outgoing))
            if self.era == "2026-07-28":
                said = {"resultType": "complete", **said}
            answer: Any = JSONRPCResponse(jsonrpc="2.0", id=request.id, result=said)
        except Refused as refused:
            answer = JSONRPCError(jsonrpc="2.0", id=request.id, error=refused.error)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await outgoing.send(SessionMessage(answer))

    async def said(self, method: str, params: Said, outgoing: Send | None = None) -> Said:
        """The result. Without `outgoing` it can ask nothing by itself."""
        match method:
            case "server/discover" if self.era == "2026-07-28":
                return {"supportedVersions": [self.era], "capabilities": {"tools": {}, "extensions": {IDENTIFIER: {}}}}
            case "initialize":
                return EARLY
            case "tools/list":
                return self._tools()
            case "tools/call":
                return self._made(params)
            case _:
                return await self._about(method, params, outgoing)

    def _tools(self) -> Said:
        tool: Said = {"name": "work", "inputSchema": {"type": "object"}}
        if self.era == "2026-07-28":
            return {"tools": [tool], "ttlMs": 0, "cacheScope": "private"}
        return {"tools": [tool if self.support is None else {**tool, "execution": {"taskSupport": self.support}}]}

    async def _about(self, method: str, params: Said, outgoing: Send | None) -> Said:
        match method:
            case "tasks/get":
                job = self._job(params)
                job.looked_at()
                return self._detailed(job)
            case "tasks/result" if self.era == "2025-11-25":
                return await self._result(self._job(params), outgoing)
            case "tasks/update" if self.era == "2026-07-28":
                job = self._job(params)
                job.updates += 1
                await self.before_update(job)
                for key in sorted(params["inputResponses"]):
                    job.hear(params["inputResponses"][key])
                return {}
            case "tasks/cancel":
                job = self._job(params)
                job.change("cancelled", "as was asked")
                return {} if self.era == "2026-07-28" else self._told(job)
            case _:
                raise Refused(METHOD_NOT_FOUND, "Method not found")

    def _made(self, params: Said) -> Said:
        wanted = "task" in params if self.era == "2025-11-25" else _declared(params)
        if not wanted:
            return text("done at once")
        self.tokens.append(params.get("_meta", {}).get("progressToken"))
        job = Job(id=f"task-{len(self.jobs)}", arguments=params.get("arguments") or {})
        self.jobs.append(job)
        assert self._group is not None
        self._group.start_soon(self.does, job)
        return {"task": self._told(job)} if self.era == "2025-11-25" else {"resultType": "task", **self._told(job)}

    def _job(self, params: Said) -> Job:
        for job in self.jobs:
            if job.id == params["taskId"]:
                return job
        raise Refused(INVALID_PARAMS, "Task not found")

    def _told(self, job: Job) -> Said:
        suffix = "" if self.era == "2025-11-25" else "Ms"
        said = {"taskId": job.id, "status": job.status, "createdAt": AT, "lastUpdatedAt": AT, f"ttl{suffix}": 60_000}
        return {**said, f"pollInterval{suffix}": job.interval, **({} if job.words is None else {"statusMessage": job.words})}

    def _detailed(self, job: Job) -> Said:
        if self.era == "2025-11-25":
            return self._told(job)
        asks = {f"q{at}": {"method": "elicitation/create", "params": _dumped(one)} for at, one in enumerate(job.questions)}
        return {**self._told(job), **job.brings, **({"inputRequests": asks} if job.status == "input_required" else {})}

    async def _result(self, job: Job, outgoing: Send | None) -> Said:
        """What waits for the person goes to whoever waits for the result."""
        if self.refuses_early and job.status not in OVER:
            raise Refused(INVALID_PARAMS, "not yet")
        while job.status not in OVER:
            for at, one in list(enumerate(job.questions))[job.put :]:
                job.put, key = at + 1, f"ask-{len(self._replies)}-{at}"
                self._replies[key] = job
                assert outgoing is not None
                params = {**_dumped(one), "_meta": {RELATED: {"taskId": job.id}}}
                await outgoing.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=key, method="elicitation/create", params=params)))
            await job.changed.wait()
        if "error" in job.brings:
            raise Refused(job.brings["error"]["code"], job.brings["error"]["message"])
        return job.brings.get("result") or text("cancelled", failed=True)


def _dumped(params: ElicitRequestFormParams) -> Said:
    return params.model_dump(by_alias=True, mode="json", exclude_none=True)


def _declared(params: Said) -> bool:
    capabilities = params.get("_meta", {}).get("io.modelcontextprotocol/clientCapabilities", {})
    return IDENTIFIER in capabilities.get("extensions", {})
