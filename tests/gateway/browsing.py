"""A browser without scripts: the real console on a real socket, and what a person does on its pages."""

import html
import re
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx2

from mcp_server.cli.explaining import Files
from mcp_server.gateway.agents import AgentsPage
from mcp_server.gateway.console import COOKIE, Console
from mcp_server.gateway.serving import listen, serve_console
from mcp_server.principal import Principal
from mcp_server.records import AuditEvent, Choice, Prompt
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from tests.bounds import LONG

BOUND = LONG

IN_THE_CLEAR = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody. For clients that speak plain HTTP and take nothing from the environment, which would else read all certificates."""


@dataclass(slots=True, kw_only=True)
class Browser:
    """One browser: its cookies, and where the console is."""

    client: httpx2.AsyncClient
    site: "Site"

    @property
    def door(self) -> str:
        return f"{self.site.origin}/{self.site.console.door}"

    async def enter(self) -> httpx2.Response:
        """Open a fresh link."""
        return await self.client.get(self.site.console.link(self.site.port))

    def enter_as(self, principal: Principal) -> None:
        """Come in as somebody who is known, however they were."""
        access = self.site.console.access
        self.client.cookies.set(COOKIE, access.admit(principal), domain="127.0.0.1", path=f"/{access.door}/")

    async def get(self, page: str = "", **headers: str) -> httpx2.Response:
        return await self.client.get(f"{self.door}/{page}", headers=headers)

    async def post(self, page: str, fields: Mapping[str, str], **headers: str) -> httpx2.Response:
        return await self.client.post(f"{self.door}/{page}", data=dict(fields), headers={"origin": self.site.origin, **headers})

    async def fields_of(self, prompt: Prompt) -> dict[str, str]:
        """The hidden fields of a prompt's form."""
        return hidden_in((await self.get(f"prompts/{prompt.id}")).text)

    async def answers(self, prompt: Prompt, choice: Choice | None = None, **fields: str) -> httpx2.Response:
        """Load the prompt's page, and send its form."""
        chosen = {"choice": choice.value} if choice is not None else {}
        return await self.post(f"prompts/{prompt.id}", {**await self.fields_of(prompt), **chosen, **fields})


@dataclass(slots=True, kw_only=True)
class Site:
    """A console that is being served."""

    console: Console
    port: int
    store: Store
    clients: list[httpx2.AsyncClient] = field(default_factory=list[httpx2.AsyncClient])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stranger(self) -> Browser:
        """A browser that has not come in."""
        client = httpx2.AsyncClient(follow_redirects=True, timeout=BOUND, trust_env=False, verify=IN_THE_CLEAR)
        self.clients.append(client)
        return Browser(client=client, site=self)

    async def browser(self) -> Browser:
        """One that has."""
        browser = self.stranger()
        assert (await browser.enter()).status_code == 200
        return browser

    def browser_of(self, principal: Principal) -> Browser:
        """One in which somebody is known."""
        browser = self.stranger()
        browser.enter_as(principal)
        return browser

    async def audit(self) -> list[AuditEvent]:
        return [stored.event for stored in await self.store.audit_log()]


@asynccontextmanager
async def site(folder: Path) -> AsyncGenerator[Site]:
    """Serve the console on the store in a folder."""
    store = open_store(folder / "remit.db")
    console = Console(store=store, rules=agents_of(folder))
    sock = listen(0)
    served = Site(console=console, port=int(sock.getsockname()[1]), store=store)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(serve_console, console, sock)
            try:
                yield served
            finally:
                for client in served.clients:
                    await client.aclose()
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


def environment_of(folder: Path) -> dict[str, str]:
    """Folders of a person whose state lies in `folder`."""
    return {
        "HOME": str(folder / "home"),
        "REMIT_STATE_DIR": str(folder),
        "REMIT_CONFIG_DIR": str(folder.parent / "config"),
        "REMIT_CACHE_DIR": str(folder.parent / "cache"),
    }


def workspace_of(folder: Path) -> Path:
    """What the console shows agents of first."""
    workspace = folder.parent / "project"
    workspace.mkdir(exist_ok=True)
    return workspace


def agents_of(folder: Path) -> AgentsPage:
    return AgentsPage(explains=Files(environment=environment_of(folder)), workspace=str(workspace_of(folder)))


def hidden_in(page: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page)}


def words_of(page: str) -> str:
    """The text of a page, without its markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))
