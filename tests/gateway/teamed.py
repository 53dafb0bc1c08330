"""A gateway's console on a real socket, before a real authorization server: what browsers of several people do there."""

import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urljoin

import anyio
import httpx2
import uvicorn
from starlette.applications import Starlette

from mcp_server.gateway.application import console_at
from mcp_server.gateway.authority import Authority
from mcp_server.gateway.coming_in import console_of
from mcp_server.gateway.door import Hosts
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.keys import KeyHolders, digest_of, new_key
from mcp_server.gateway.servers import Rooms, Servers
from mcp_server.principal import Principal, TokenPrincipal
from mcp_server.protocol.http import listen
from mcp_server.protocol.upstream.sign_ins import SignIns
from mcp_server.records import AuditEvent, Prompt
from mcp_server.sessions.book import Rulebook
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.membership import Membership, membership_of
from mcp_server.store.api_keys import ApiKey
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from tests.authorization.records import Member
from tests.authorization.site import SignIn, signing_in
from tests.authorization.walking import walked
from tests.bounds import LONG
from tests.gateway.browsing import IN_THE_CLEAR, hidden_in

CLIENT = "remit-console"
VISIT = "remit_team_console"
BROWSER = "remit_team_sign_in"


@dataclass(slots=True, kw_only=True)
class Window:
    """One browser, without scripts."""

    client: httpx2.AsyncClient
    team: "Team"

    async def get(self, page: str = "", **headers: str) -> httpx2.Response:
        return await self.client.get(f"{self.team.url}/{page}", headers=headers)

    async def post(self, page: str, fields: Mapping[str, str], **headers: str) -> httpx2.Response:
        return await self.client.post(f"{self.team.url}/{page}", data=dict(fields), headers={"origin": self.team.origin, **headers})

    async def sent_away(self, back: str = "") -> str:
        """Begin a sign-in: where the issuer's page is."""
        begun = await self.get(f"sign-in/start?next={back}")
        assert begun.status_code == 303, begun.text
        return begun.headers["location"]

    async def returns(self, member: Member, back: str = "") -> str:
        """Sign in at the issuer: the address to come back to."""
        return await walked(await self.sent_away(back), member)

    async def enter(self, member: Member, back: str = "") -> httpx2.Response:
        """The whole way in, up to the page that it ends at."""
        answer = await self.client.get(await self.returns(member, back))
        assert answer.status_code == 303, answer.text
        return await self.client.get(urljoin(self.team.origin, answer.headers["location"]))

    async def enter_by(self, key: str, back: str = "", **fields: str) -> httpx2.Response:
        """Send the form with an API key."""
        page = await self.get("sign-in" if not back else f"sign-in?next={back}")
        return await self.post("sign-in", {**hidden_in(page.text), "api_key": key, **fields})

    async def inside(self) -> bool:
        """Is a page shown?"""
        answer = await self.get("sessions")
        assert answer.status_code in (200, 403)
        return answer.status_code == 200

    async def leave(self) -> httpx2.Response:
        return await self.post("sign-out", {"key": await self.form_key()})

    async def form_key(self) -> str:
        found = re.search(r'name="key" value="([^"]+)"', (await self.get("sessions")).text)
        assert found is not None
        return found[1]

    async def answers(self, prompt: Prompt, **fields: str) -> httpx2.Response:
        """Load the prompt's page and send its form."""
        hidden = hidden_in((await self.get(f"prompts/{prompt.id}")).text)
        return await self.post(f"prompts/{prompt.id}", {"key": await self.form_key(), "digest": prompt.digest, **hidden, **fields})


@dataclass(slots=True, kw_only=True)
class Team:
    """A console that is being served."""

    url: str
    store: Store
    issuer: SignIn
    said: list[Gateway]
    """The settings, as they are now."""
    wall: list[float]
    """Seconds since the epoch, for the console."""
    steady: list[float]
    windows: list[httpx2.AsyncClient] = field(default_factory=list[httpx2.AsyncClient])

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/console")

    def window(self) -> Window:
        client = httpx2.AsyncClient(timeout=LONG, trust_env=False, verify=IN_THE_CLEAR)
        self.windows.append(client)
        return Window(client=client, team=self)

    async def window_of(self, name: str, **claims: Any) -> Window:
        """One in which a member has signed in."""
        window = self.window()
        answer = await window.enter(self.issuer.member(name, **claims))
        assert answer.status_code == 200, answer.text
        return window

    async def key(self, name: str) -> str:
        """A new API key."""
        made = new_key()
        await self.store.add_api_key(
            ApiKey(id=mint("key"), name=name, scopes=(), created_at=self.wall[0], expires_at=None), digest_of(made)
        )
        return made

    async def audit(self) -> list[AuditEvent]:
        return [stored.event for stored in await self.store.audit_log()]


@dataclass(frozen=True, slots=True)
class Says:
    """Of a rulebook, who somebody is by the gateway's settings."""

    said: list[Gateway]

    def membership(self, principal: Principal, claims: Mapping[str, Any]) -> Membership | None:
        return membership_of(self.said[0], principal, claims) if isinstance(principal, TokenPrincipal) else None


SignsOf = Callable[[Store], SignIns]
"""Makes what people sign in to other servers with."""


@asynccontextmanager
async def teamed(
    folder: Path, *, public: bool = False, signs: SignsOf = lambda _: SignIns(dict), servers: Servers = dict, **gateway: Any
) -> AsyncGenerator[Team]:
    """Serve the console on the store in a folder. `public`: without a secret at the issuer. `servers`: other ones behind it."""
    secret = None if public else mint("sec")
    async with signing_in() as issuer:
        with listen("127.0.0.1", 0) as sock:
            origin = f"http://127.0.0.1:{sock.getsockname()[1]}"
            issuer.client(CLIENT, f"{origin}/console/callback", secret=secret)
            said: dict[str, Any] = {"client_id": CLIENT}
            if secret is not None:
                (file := folder / "client-secret").write_text(f"{secret}\n")
                file.chmod(0o600)
                said["client_secret_file"] = str(file)
            settings = {"url": f"{origin}/mcp", "issuers": [{"issuer": issuer.url}], "console": said, **gateway}
            now = [Gateway.model_validate(settings)]
            async with _served(now, folder, sock, signs, servers) as (store, clocks):
                team = Team(
                    url=f"{origin}/console",
                    store=store,
                    issuer=issuer,
                    said=now,
                    wall=clocks[0],
                    steady=clocks[1],
                )
                yield team
                for client in team.windows:
                    await client.aclose()


@asynccontextmanager
async def _served(
    now: list[Gateway], folder: Path, sock: Any, signs: SignsOf, servers: Servers
) -> AsyncGenerator[tuple[Store, tuple[list[float], list[float]]]]:
    gateway, clocks = now[0], ([time.time()], [1000.0])
    store, fetcher = open_store(folder / "remit.db"), Fetcher()
    try:
        keys = KeyHolders(store, lambda: clocks[0][0], [])
        authority = Authority(gateway, fetcher, keys, steady=lambda: clocks[1][0], clock=lambda: clocks[0][0])
        console = console_of(
            gateway,
            store,
            authority,
            keys,
            fetcher,
            cast("Rulebook", Says(now)),
            settled=lambda: now[0],
            home="/home/x",
            rooms=Rooms(signs(store), servers),
            steady=lambda: clocks[1][0],
            clock=lambda: clocks[0][0],
        )
        assert console is not None
        app = Hosts(Starlette(routes=console_at("/console", console)), gateway)
        config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="off", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(running.serve, [sock])
            try:
                yield store, clocks
            finally:
                running.should_exit = True
    finally:
        with anyio.CancelScope(shield=True):
            await fetcher.close()
            await store.close()
