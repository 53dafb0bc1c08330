"""nginx in front with the settings that the page shows, TLS, and fifty people at once over both eras: each is asked, answers in their own
form, and meets nothing of anybody else's.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from mcp_server.records import PromptState
from tests.behaviour.gated import Gated, gated
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing
from tests.gateway.proxied import NGINX, Front, front_in, proxied
from tests.protocol.connect import ERAS, Person, decides

PEOPLE = 50


@dataclass(slots=True, kw_only=True)
class Visitor:
    """One of them."""

    number: int
    token: str
    person: Person

    @property
    def name(self) -> str:
        return f"person-{self.number:02}"

    async def visits(self, front: Front, arrived: anyio.Event, waiting: list[str]) -> None:
        era = ERAS[self.number % 2]
        trusting = ssl.create_default_context(cafile=str(front.certificate.chain))
        headers = {"authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(headers=headers, verify=trusting, timeout=2 * LONG) as wire:
            transport = streamable_http_client(f"{front.origin}/mcp", http_client=wire)
            mode = "legacy" if era == "2025-11-25" else "auto"
            async with Client(transport, mode=mode, elicitation_callback=self.person, read_timeout_seconds=4 * LONG) as client:
                assert client.protocol_version == era
                waiting.append(self.name)
                if len(waiting) == PEOPLE:
                    arrived.set()
                await arrived.wait()
                await self._works(client)

    async def _works(self, client: Client) -> None:
        file = f"{self.name}.txt"
        assert "A sample." in text_of(await client.call_tool("read", {"filePath": "README.md"}))
        written = await client.call_tool("write", {"filePath": file, "content": f"of {self.name}"})
        assert not written.is_error, text_of(written)
        assert f"of {self.name}" in text_of(await client.call_tool("read", {"filePath": file}))
        messages = [form.message for form in self.person.forms]
        assert len(messages) == 1
        assert file in messages[0]
        assert messages[0].count("person-") == messages[0].count(self.name)


@pytest.mark.skipif(not Path(NGINX).exists(), reason="needs nginx: apt-get install nginx-light")
async def test_fifty_people_at_once_are_each_asked_and_answered_and_meet_nothing_of_anybody_elses(tmp_path: Path) -> None:
    front = front_in(tmp_path)
    behind = {"url": f"{front.origin}/mcp", "trusted_proxies": ["127.0.0.1"]}
    async with issuing() as issuer, gated(make_world(tmp_path / "team"), {**behind, "issuers": [{"issuer": issuer.url}]}) as served:
        port = int(urlsplit(served.address).port or 0)
        async with proxied(tmp_path, front, port):
            crowd = [
                Visitor(
                    number=number,
                    token=issuer.token(f"{front.origin}/mcp", sub=f"person-{number:02}"),
                    person=Person(decides("allow_once")),
                )
                for number in range(PEOPLE)
            ]
            arrived, waiting = anyio.Event(), list[str]()
            with anyio.fail_after(6 * LONG):
                async with anyio.create_task_group() as group:
                    for visitor in crowd:
                        group.start_soon(visitor.visits, front, arrived, waiting)
        await _each_has_their_own(served, issuer)
        log = served.log.read_text()
        assert not [visitor.token for visitor in crowd if visitor.token in log]


async def _each_has_their_own(served: Gated, issuer: Issuer) -> None:
    store = served.world.store()
    try:
        for number in range(PEOPLE):
            name = f"person-{number:02}"
            key = f'["{issuer.url}","{name}","editor"]'
            (session,) = await store.sessions(key)
            (prompt,) = await store.prompts(principal=key)
            assert (prompt.root_id, prompt.state) == (session.id, PromptState.ANSWERED)
            heard = [stored.event for stored in await store.audit_log(principal=key)]
            assert {event.session_id for event in heard} == {session.id}
        everybody = await store.prompts()
        assert len(everybody) == PEOPLE
    finally:
        await store.close()
