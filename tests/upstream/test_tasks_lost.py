"""Calls that another server made tasks of, and then was lost: looked at again, and never sent again."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_server.errors import OutcomeUnknown
from mcp_server.protocol.upstream import standing
from mcp_server.protocol.upstream.link import Ends
from mcp_server.protocol.upstream.servers import Servers
from mcp_server.protocol.upstream.web import reached
from mcp_server.settings.upstream import Upstream
from mcp_server.store.sqlite import open_store
from mcp_server.tools.foreign import Order, Whose
from mcp_server.tools.hearing import Deaf
from tests.behaviour.stories import NEAR, bounded
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import Era, Person, accepts
from tests.upstream.scripted import Nobody
from tests.upstream.task_server import Job, Refused, TaskServer
from tests.upstream.test_elicitation import NAME, SETTINGS
from tests.upstream.test_lives import HERE
from tests.upstream.test_tasks import UNKNOWN, each_upstream, one_call


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was lost is made again without a pause, however short it lived."""
    monkeypatch.setattr(standing, "SHORT_LIFE", 0.0)


@each_upstream
@pytest.mark.parametrize("comes_back", ["knowing it", "having forgotten it", "another"])
async def test_a_task_whose_connection_is_lost_is_asked_about_over_a_new_one_and_the_call_is_not_sent_again(
    theirs: Era, comes_back: str, tmp_path: Path
) -> None:
    async def works(job: Job) -> None:
        await job.seen(1)
        if comes_back == "another":
            server.era = "2026-07-28" if theirs == "2025-11-25" else "2025-11-25"
        if comes_back == "having forgotten it":
            server.jobs.clear()
        server.hang_up()
        await job.seen(2)
        (answer,) = await job.ask(NAME)
        job.end(f"{answer['action']}")

    server, person = TaskServer(era=theirs, does=works), Person(accepts(decision="Ada"))
    result, _ = await one_call(server, tmp_path, person=person)
    said = {
        "knowing it": "accept",
        "having forgotten it": f"{UNKNOWN} it no longer knows the task that it made of the call (Task not found)",
        "another": f"{UNKNOWN} it speaks another version of the protocol now",
    }
    assert text_of(result).startswith(said[comes_back])
    assert (server.connections, server.methods.count("tools/call"), server.methods.count("tasks/cancel")) == (2, 1, 0)


async def test_no_other_server_is_asked_about_a_task_that_has_its_makers_name_in_settings_since(tmp_path: Path) -> None:
    async def works(job: Job) -> None:
        await job.seen(1)
        settings["play"] = Upstream(command="another")
        server.hang_up()

    async def unheard(_: object) -> None:
        pass

    settings, server, store = {"play": Upstream(command="unused")}, TaskServer(era="2026-07-28", does=works), open_store(tmp_path / "db")
    async with server.running() as way:
        servers = Servers(settings=lambda: {**settings}, store=store, opener=way, version="1", clock=lambda: 0.0, steady=lambda: 0.0)
        async with servers.open():
            found = await bounded(servers.tool(HERE, "play__work"))
            assert found is not None
            order = Order(whose=HERE, tool=found, arguments={}, progress=unheard, hearer=Deaf(), ask=Nobody())
            with pytest.raises(OutcomeUnknown, match="settings have another server of that name now"):
                await bounded(servers.call(order))
    await store.close()
    assert server.connections == 1


class Street(httpx2.AsyncBaseTransport):
    """Between Remit and a server: which looks at tasks do not come through. A status; 0: no connection."""

    def __init__(self, server: TaskServer, losses: list[int]) -> None:
        self.server = server
        self.losses = losses
        self.session = "first"

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            return httpx2.Response(405, request=request)
        said = json.loads(await request.aread())
        if said["method"] == "tasks/get" and self.losses:
            status = self.losses.pop(0)
            if not status:
                raise httpx2.ConnectError("nobody there", request=request)
            if status == 404:
                self.session = "second"
            else:
                return httpx2.Response(status, request=request)
        if said["method"] not in ("initialize", "server/discover") and self._forgot(request):
            return httpx2.Response(404, request=request)
        return httpx2.Response(202, request=request) if "id" not in said else await self._answered(said, request)

    def _forgot(self, request: httpx2.Request) -> bool:
        return self.server.era == "2025-11-25" and request.headers.get("mcp-session-id") != self.session

    async def _answered(self, said: Any, request: httpx2.Request) -> httpx2.Response:
        self.server.methods.append(said["method"])
        try:
            result = await self.server.said(said["method"], said.get("params") or {})
            answer: dict[str, Any] = {"result": {"resultType": "complete", **result} if self.server.era == "2026-07-28" else result}
        except Refused as refused:
            answer = {"error": refused.error.model_dump(exclude_none=True)}
        headers = {"mcp-session-id": self.session} if self.server.era == "2025-11-25" else {}
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": said["id"], **answer}, headers=headers, request=request)


@pytest.mark.parametrize(("theirs", "loss"), [("2026-07-28", 0), ("2026-07-28", 503), ("2025-11-25", 404)])
async def test_a_look_that_is_lost_on_its_way_is_made_again_and_the_call_is_not(theirs: Era, loss: int, tmp_path: Path) -> None:
    """404: up to 2025-11-25 the server has forgotten the session, and may know the task all the same."""

    async def works(job: Job) -> None:
        await job.seen(2)
        job.end("worked")

    async def nobody() -> None:
        return None

    def way(name: str, config: Upstream, whose: Whose, ends: Ends) -> Any:
        return reached(config, whose, {}, ends.status, nobody, sent.append, through=street)

    sent = list[str]()
    server = TaskServer(era=theirs, does=works, refuses_early=True)
    street = Street(server, [loss])
    world = make_world(tmp_path, settings={**SETTINGS, "mcpServers": {"play": {"url": "https://play.example/mcp"}}})
    async with server.running(), connect(world, NEAR, opener=way) as connected:
        result = await bounded(connected.call("play__work"))
    assert text_of(result) == "worked"
    assert street.losses == []
    assert server.methods.count("tools/call") == 1
