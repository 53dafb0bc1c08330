"""The composition root: the one module that knows all the others. It wires and decides nothing."""

import importlib.metadata
import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup
from mcp.server.lowlevel.server import Server

from mcp_server.errors import ConfigError, Fault
from mcp_server.gateway.callers import Callers, noting
from mcp_server.gateway.notices.composing import Ground, announcer_of
from mcp_server.gateway.panel import Panels
from mcp_server.gateway.reception import Reception
from mcp_server.principal import LOCAL
from mcp_server.protocol.apps import Panel
from mcp_server.protocol.lines import Line
from mcp_server.protocol.looks import Looks
from mcp_server.protocol.server import build_server
from mcp_server.protocol.showing import Showing
from mcp_server.protocol.state_key import request_state_key
from mcp_server.protocol.tasks import Tasks
from mcp_server.protocol.tasks_told import TaskSource
from mcp_server.protocol.timing import Timing
from mcp_server.protocol.upstream.composing import opener_of
from mcp_server.protocol.upstream.credentials import Credentials
from mcp_server.protocol.upstream.expanding import secrets_in
from mcp_server.protocol.upstream.keeping import credentials_of
from mcp_server.protocol.upstream.servers import Opener, Servers
from mcp_server.redaction import LONGEST_STRING, Redaction, secrets_of
from mcp_server.sandbox.enclosing import Enclosing
from mcp_server.sessions.bounds import limits_of
from mcp_server.sessions.deployment import Deployment, Limits, Told
from mcp_server.sessions.desk import Desk
from mcp_server.sessions.ended_elsewhere import EndedElsewhere
from mcp_server.sessions.executor import Advance, Executor, InProcess
from mcp_server.sessions.front import Caller
from mcp_server.sessions.models.backends import Backends
from mcp_server.sessions.models.client import ClientModel
from mcp_server.sessions.models.endpoints import ProviderConfig
from mcp_server.sessions.models.fallback import Fallback
from mcp_server.sessions.models.provider import ProviderBackend
from mcp_server.sessions.models.scripted import ScriptedBackend
from mcp_server.sessions.models.telling import Telling
from mcp_server.sessions.promise_desk import PromiseDesk
from mcp_server.sessions.retention import DAY, Keeping, prune
from mcp_server.sessions.rulebook import Edition, FileRules
from mcp_server.sessions.rulebooks import Rulebooks, rulebooks_at
from mcp_server.sessions.sealing import Sealer
from mcp_server.sessions.sight import StoreSight
from mcp_server.sessions.supervisor import Supervisor
from mcp_server.sessions.toolbox import Toolbox
from mcp_server.sessions.toolset.all import every_tool
from mcp_server.sessions.watch import Watch
from mcp_server.sessions.ways import Ways
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.places import Places, private_folder
from mcp_server.settings.values import Flags, Settings
from mcp_server.store.console_address import console_address
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store
from mcp_server.telemetry.base import SILENT, Telemetry
from mcp_server.tools.web.composing import web_of
from mcp_server.tools.web.reach import Web

log = structlog.get_logger(__name__)

STORE_FILE = "remit.db"
SETTLED = 3.0
"""Seconds after its start within which a server has its client's first requests to answer, and does nothing that can wait."""
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
"""Where the authorities are that this machine trusts beside the usual ones: where they are set, `npx` fetches nothing without."""

HARMLESS = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ", *CERTIFICATES)
"""What a tool's processes get of the server's environment. Everything else may be a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A process's parts while they run."""

    settings: Settings
    """As they were at the start."""
    books: Rulebooks
    deployment: Deployment
    supervisor: Supervisor
    desk: Desk
    promised: PromiseDesk
    looks: Looks
    server: Server[Line]
    reception: Reception
    """Receives a gateway's callers."""
    credentials: Credentials
    """What people are known by to other servers."""

    @property
    def gateway(self) -> Gateway | None:
        """None: over HTTP, this machine's own programs alone."""
        return self.settings.gateway

    async def tidy(self) -> None:
        """Remove what has ended and is older than settings keep it."""
        keeping = Keeping(
            days=self.settings.retention.days, megabytes=self.settings.retention.megabytes, audit_days=self.settings.retention.audit_days
        )
        pruned = await prune(self.deployment.store, self.deployment.outputs, keeping, now=self.deployment.clock())
        if pruned.trees or pruned.events:
            log.info("removed what was old", trees=pruned.trees, sessions=pruned.sessions, events=pruned.events)

    async def end(self) -> None:
        """Take nothing more, lay down what acts."""
        self.supervisor.stop()

    def part(self) -> None:
        """Have requests that only wait leave."""
        self.desk.part()
        self.looks.end()


@asynccontextmanager
async def running(
    *,
    workspace: Path,
    places: Places,
    flags: Flags,
    environment: Mapping[str, str],
    timing: Timing | None = None,
    limits: Callable[[Limits], Limits] = lambda limits: limits,
    clock: Callable[[], float] = time.time,
    opened: Callable[[Path], Store] | None = None,
    executor: Callable[[Advance], Executor] = InProcess,
    telemetry: Telemetry = SILENT,
    opener: Opener | None = None,
) -> AsyncGenerator[Running]:
    """Everything but the transport, from open store to laid-down runs. `opened`, `opener`: other ways to the store, to other servers.

    Raises:
        ConfigError: Settings or definitions are at fault.
        StoreError: The store cannot be opened.
    """
    settings = (books := rules_at(workspace, places, flags)).own.edition.settings
    redaction = Redaction(secrets=_secrets(settings, environment))
    async with _kept((opened or partial(open_store, secrets=redaction.secrets))(private_folder(places.state) / STORE_FILE)) as store:
        web, credentials = _outward(books, store, environment, places, clock)
        deployment = Deployment(
            store=store,
            clock=clock,
            rulebook=books,
            asks=(asks := ClientModel(enabled=lambda: books.own.edition.settings.sampling, clock=clock)),
            backend=_told_of(replace(backend_of(settings, workspace, environment), client=asks), telemetry),
            limits=limits(limits_of(settings)),
            outputs=private_folder(places.cache) / "outputs",
            environment=harmless(environment),
            owner=f"{os.getpid()}-{secrets.token_hex(8)}",
            workspaces=books.workspaces,
            enclosing=(enclosing := Enclosing(settings.sandbox, places, harmless(environment))),
            upstreams=_servers(books, store, opener or _way(environment, enclosing, places, redaction, credentials), clock),
            web=web,
            tools=settings.tools,
            herald=announcer_of(settings, _ground(store, settings, environment, places, redaction, clock)),
            ways=_ways(settings, places),
            arguments_told=_told(books.own, redaction),
            telemetry=telemetry,
        )
        async with _living(_wired(deployment, settings, places, timing or timing_of(settings), executor, books, credentials)) as parts:
            yield parts


def _outward(
    books: Rulebooks, store: Store, environment: Mapping[str, str], places: Places, clock: Callable[[], float]
) -> tuple[Web, Credentials]:
    """How the web is reached, and by what people are known to other servers."""
    web = web_of(lambda: books.own.edition.settings, environment)
    return web, credentials_of(lambda: books.own.edition.settings, store, places.state, web.wires, clock)


def _way(environment: Mapping[str, str], enclosing: Enclosing, places: Places, redaction: Redaction, credentials: Credentials) -> Opener:
    """The real way to other servers."""
    return opener_of(environment, harmless(environment), enclosing, private_folder(places.cache), redaction.text, credentials)


def _servers(books: Rulebooks, store: Store, opener: Opener, clock: Callable[[], float]) -> Servers:
    """The other servers, as the files say at each call."""
    return Servers(
        settings=lambda: books.own.edition.settings.upstreams,
        recent=lambda: books.own.recent.settings.upstreams,
        store=store,
        opener=opener,
        version=importlib.metadata.version("remit"),
        clock=clock,
        steady=time.monotonic,
    )


@asynccontextmanager
async def _lent(deployment: Deployment) -> AsyncGenerator[None]:
    """What tools start lives inside, and ends after whoever uses it."""
    async with deployment.background.open(), deployment.upstreams.open():
        yield


@asynccontextmanager
async def _kept(store: Store) -> AsyncGenerator[Store]:
    """Open, until everything that writes to it has ended."""
    try:
        yield store
    finally:
        await store.close()


def _told_of(backend: Backends, telemetry: Telemetry) -> Telling:
    """The models with their fallbacks, each turn told of."""
    return Telling(backend=Fallback(backend=backend), telemetry=telemetry)


def _secrets(settings: Settings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be written down anywhere: keys, and what the environment holds under a telling name."""
    named = (one.api_key_env for one in (*settings.providers.values(), settings.websearch) if one is not None)
    lent = secrets_in(settings.upstreams.values(), environment)
    return secrets_of(environment, *(environment.get(name) for name in named if name), *lent)


def _ways(settings: Settings, places: Places) -> Ways:
    """By what people answer: in this machine's own console those who sit at it, in the gateway's everybody else."""
    gateway = settings.gateway if "console" in settings.channels else None
    team = None if gateway is None else gateway.console_url
    return Ways(channels=settings.channels, console=partial(console_address, places.state), team=team)


def _ground(
    store: Store, settings: Settings, environment: Mapping[str, str], places: Places, redaction: Redaction, clock: Callable[[], float]
) -> Ground:
    """What notices of prompts are made from."""
    return Ground(
        store=store,
        environment=environment,
        redacted=partial(redaction.text, longest=LONGEST_STRING),
        within=limits_of(settings),
        console=_ways(settings, places).address,
        clock=clock,
    )


def _told(rules: FileRules, redaction: Redaction) -> Told:
    """What the audit holds of arguments, as the settings say at each call, whose decision has just looked at them."""
    return lambda arguments: redaction(arguments) if rules.recent.settings.audit.arguments == "redacted" else ""


async def _begin(parts: Running, group: TaskGroup) -> None:
    """Start what runs beside the calls."""
    parts.desk.open(group)
    await parts.supervisor.open(group)
    parts.deployment.telemetry.open_prompts(lambda: len(parts.supervisor.prompting.open_ones))
    group.start_soon(Watch(parts.deployment, parts.supervisor).run)
    group.start_soon(parts.promised.watch)
    group.start_soon(EndedElsewhere(parts.deployment, parts.desk.book).run)
    group.start_soon(parts.looks.run)
    group.start_soon(parts.credentials.signs.run)
    group.start_soon(Sealer(parts.deployment.store, parts.deployment.steady).run)
    group.start_soon(_tidying, parts)
    if parts.deployment.enclosing is not None:
        group.start_soon(_prepare, parts.deployment.enclosing)


async def _tidying(parts: Running) -> None:
    """At once, and then every day: a gateway runs for months."""
    while True:
        parts.supervisor.aside(parts.tidy)
        await anyio.sleep(DAY)


async def _prepare(enclosing: Enclosing) -> None:
    """Try the sandbox, once the client has had time to connect. A line that comes sooner tries it itself."""
    await anyio.sleep(SETTLED)
    await to_thread.run_sync(enclosing.prepare, abandon_on_cancel=True)


@asynccontextmanager
async def _living(parts: Running) -> AsyncGenerator[Running]:
    """What runs beside the calls, from its begin until what acts is stored."""
    async with _lent(parts.deployment), anyio.create_task_group() as group:
        await _begin(parts, group)
        group.start_soon(parts.deployment.herald.run)
        try:
            yield parts
        finally:
            parts.supervisor.stop()
            await parts.supervisor.laid_down()
            with anyio.CancelScope(shield=True):
                await parts.deployment.herald.last_words()
            group.cancel_scope.cancel()


def _reception(deployment: Deployment, books: Rulebooks) -> Reception:
    """Who comes through the gateway's door, and where to."""
    usual = (deployment.workspaces[0], books.own.edition.settings.agent)
    return Reception(
        store=deployment.store,
        rulebook=books,
        gateway=lambda: books.own.edition.settings.gateway,
        usual=usual,
        workspaces=books.names,
    )


def _panel(deployment: Deployment, desk: Desk, books: Rulebooks, home: str) -> Panel:
    """How prompts are shown inside clients."""
    return Panels(front=desk, store=deployment.store, home=home, revision=lambda: books.revision, clock=deployment.clock)


def _wired(
    deployment: Deployment,
    settings: Settings,
    places: Places,
    timing: Timing,
    executor: Callable[[Advance], Executor],
    books: Rulebooks,
    credentials: Credentials,
) -> Running:
    """The parts, each lent the others. Nothing is started."""
    workspace, supervisor = deployment.workspaces[0], Supervisor(deployment, executor)
    tools = every_tool(deployment, supervisor, workspace)
    desk = Desk(deployment, supervisor, supervisor.equip(tools), Toolbox(deployment, tools))
    promised, showing, sight = PromiseDesk(deployment, supervisor, desk.book), Showing(ways=deployment.ways), StoreSight(deployment)
    caller_of = Callers(Caller(principal=LOCAL, workspace=workspace, agent=settings.agent), known_only=settings.gateway is not None)
    tasks = Tasks(desk, promised, caller_of=caller_of, timing=timing, clock=deployment.clock, showing=showing)
    looks = Looks(desk, sight, caller_of=caller_of, timing=timing, showing=showing, sources=[TaskSource(tasks, sight)])
    server = build_server(
        desk,
        looks=looks,
        caller_of=caller_of,
        keys=[request_state_key(places.state)],
        version=importlib.metadata.version("remit"),
        tasks=tasks,
        timing=timing,
        panel=_panel(deployment, desk, books, str(places.home)) if "app" in deployment.ways.channels else None,
        showing=showing,
        noted=noting(deployment.telemetry),
    )
    return Running(
        settings=settings,
        books=books,
        deployment=deployment,
        supervisor=supervisor,
        desk=desk,
        promised=promised,
        looks=looks,
        server=server,
        reception=_reception(deployment, books),
        credentials=credentials,
    )


def harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """What of it a tool's processes get."""
    return {name: environment[name] for name in HARMLESS if name in environment}


def rules_at(workspace: Path, places: Places, flags: Flags) -> Rulebooks:
    """What a server there is started with. `workspace`: as `check_workspace` gave it.

    Raises:
        ConfigError: Settings or definitions are at fault.
    """
    books = rulebooks_at(workspace, places, flags)
    refuse_unfit_root(books.own.edition)
    return books


def refuse_unfit_root(edition: Edition) -> Edition:
    """The edition, where a client's own calls run as an agent that exists and may stand at the root.

    Raises:
        ConfigError: It is not one.
    """
    name = edition.settings.agent
    agent = edition.agents.get(name)
    if agent is not None and not agent.hidden and agent.mode != "subagent":
        return edition
    fit = ", ".join(one.name for one in edition.agents.values() if not one.hidden and one.mode != "subagent")
    problem = f"no agent is called `{name}`" if agent is None else f"the agent `{name}` is not one that a client may call as"
    raise ConfigError(
        (Fault(file=edition.settings.origins.get("agent", "agent"), line=None, problem=problem, remedy=f"name one of {fit}"),)
    )


def timing_of(settings: Settings) -> Timing:
    """The protocol's bounds, from the settings' own."""
    return Timing(patience=settings.limits.task_wait, prompt_life=settings.limits.prompt_deadline)


def backend_of(settings: Settings, workspace: Path, environment: Mapping[str, str]) -> Backends:
    """Scripted models and providers, as the settings name them."""
    providers = {
        name: ProviderConfig(
            name=name,
            base_url=provider.base_url,
            api_key_env=provider.api_key_env,
            api_key_file=Path(provider.api_key_file).expanduser() if provider.api_key_file else None,
        )
        for name, provider in settings.providers.items()
    }
    return Backends(
        scripted=ScriptedBackend(base=workspace),
        provider=ProviderBackend(providers=providers, environment=environment),
        client=ClientModel(enabled=lambda: settings.sampling),
    )
