"""The setting `gateway`: one address for many people, and how each of them is known. The operator's alone."""

import ipaddress
import os
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from mcp_server.errors import Fault
from mcp_server.settings.addresses import Address, reached
from mcp_server.settings.blocks import Block, key
from mcp_server.settings.operation import Metrics
from mcp_server.settings.origins import fault_at
from mcp_server.settings.teams import DEFAULT_WORKSPACE, Grant, Person, RoleHolders, Team, TeamName, Who, WorkspaceName, whos
from mcp_server.settings.workspace import inside_another
from mcp_server.settings.written import ToolName

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""How an issuer may sign. Each has a public half: with a shared secret, whoever can check a token could make one."""

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
USUAL: tuple[Algorithm, ...] = ("RS256", "PS256", "ES256", "ES384", "EdDSA")

EXAMPLE = "https://remit.example.org/mcp"

PATH = "/mcp"
"""What the address of every gateway ends in."""

CONSOLE = "/console"
"""What stands in its place in the console's address."""

_SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]{1,128}")
"""RFC 6749, 3.3: it stands in quotes in a header."""

_NAME = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")


def _canonical(text: str) -> str:
    parts = reached(text)
    usual = {"https": ":443", "http": ":80"}[parts.scheme]
    if not parts.path.endswith(PATH) or parts.netloc != parts.netloc.lower().removesuffix(usual) or not text.startswith(parts.scheme):
        raise ValueError(
            f"is not in its one form; end it in {PATH}, in small letters up to the path and without the usual port: "
            "https://remit.example.org/mcp"
        )
    return text


def _scope(text: str) -> str:
    if not _SCOPE.fullmatch(text):
        raise ValueError('is not a scope; use printable ASCII without space, " and \\, at most 128')
    return text


def _host(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("is not what a Host header holds; write a name in small letters, with :port unless it is the usual one")
    return text


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or text != f"{parts.scheme}://{parts.netloc}".lower():
        raise ValueError("is not an origin; write it without a path: https://tools.example.org")
    return text


def _folder(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("is not a folder from the root on; write it whole: /srv/shop")
    return text


def _network(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError("is not an address or a network; write 10.0.0.7 or 10.0.0.0/24") from error
    return text


Scope = Annotated[str, AfterValidator(_scope)]


class Introspection(Block):
    """Where an issuer tells what an opaque token stands for (RFC 7662)."""

    url: Address = key(..., "The issuer's introspection endpoint.", example="https://login.example.org/introspect")
    client_id: Annotated[str, Field(min_length=1)] = key(..., "Who asks there.", example="remit")
    client_secret_file: Annotated[str, Field(min_length=1)] = key(
        ..., "A file that holds the secret of who asks, and nothing else.", example="/etc/remit/introspection-secret"
    )


class Issuer(Block):
    """One authorization server whose tokens count."""

    issuer: Address = key(..., "Its identifier, to the letter: what its tokens say in `iss`.", example="https://login.example.org")
    audience: Annotated[str, Field(min_length=1)] | None = key(
        None, "What `aud` must hold; absent: `url`.", example="https://remit.example.org/mcp"
    )
    algorithms: Annotated[list[Algorithm], Field(min_length=1)] = key(
        list(USUAL), "How its tokens may be signed. A token has no say in it.", example=["RS256"]
    )
    jwks_url: Address | None = key(
        None, "Where its keys are; absent: found by its metadata (RFC 8414, OpenID Connect).", example="https://login.example.org/keys"
    )
    subject_claim: Annotated[str, Field(min_length=1)] = key("sub", "The claim that names the person.", example="sub")
    client_claim: Annotated[str, Field(min_length=1)] | None = key(
        None, "The claim that names the client; absent: `client_id`, else `azp`.", example="cid"
    )
    max_lifetime: Annotated[float, Field(gt=0, le=366 * 24 * 3600)] = key(
        86400.0, "Seconds from a token's issue to its end, at most; a longer one is refused.", example=3600
    )
    introspection: Introspection | None = key(
        None,
        "Where opaque tokens are asked about; absent: they are refused. One issuer at most has one: a token of another would be "
        "shown to it.",
        example={"url": "https://login.example.org/introspect", "client_id": "remit", "client_secret_file": "/etc/remit/secret"},
    )


class Scopes(Block):
    """What a token must have been given."""

    required: list[Scope] = key([], "For every request.", example=["remit"])
    tools: dict[ToolName, list[Scope]] = key({}, "For `tools/call` of single tools, beside the others.", example={"bash": ["remit:shell"]})


class Tls(Block):
    """The certificate that the gateway itself shows."""

    certificate: Annotated[str, Field(min_length=1)] = key(
        ..., "A PEM file: the chain, its own certificate first.", example="/etc/remit/tls.pem"
    )
    private_key: Annotated[str, Field(min_length=1)] = key(..., "A PEM file.", example="/etc/remit/tls.key")


class TeamConsole(Block):
    """The console at the gateway: how people sign in to it. With an API key they can in any case."""

    client_id: Annotated[str, Field(min_length=1, max_length=512)] | None = key(
        None, "What the issuer calls the console; absent: people come in with API keys alone.", example="remit-console"
    )
    client_secret_file: Annotated[str, Field(min_length=1)] | None = key(
        None, "A file that holds its secret, and nothing else; absent: a public client.", example="/etc/remit/console-secret"
    )
    issuer: Address | None = key(None, "Which of `issuers` people sign in at; absent: the only one.", example="https://login.example.org")
    scopes: list[Scope] = key(["openid"], "What is asked for; `openid` always is.", example=["openid", "profile", "groups"])

    @model_validator(mode="after")
    def _whose(self) -> "TeamConsole":
        said = self.model_fields_set & {"client_secret_file", "issuer", "scopes"}
        if self.client_id is None and said:
            raise ValueError("says how people sign in at an issuer, but not as what; add `client_id`")
        return self


class HttpLimits(Block):
    """What a request may be. Bytes, seconds and counts."""

    body_bytes: Annotated[int, Field(ge=1024, le=256 * 1024 * 1024)] = key(4 * 1024 * 1024, "Largest body of a request.", example=1048576)
    header_bytes: Annotated[int, Field(ge=4096, le=1024 * 1024)] = key(32 * 1024, "All headers of a request together.", example=16384)
    token_bytes: Annotated[int, Field(ge=256, le=64 * 1024)] = key(8 * 1024, "Longest token.", example=4096)
    request_seconds: Annotated[float, Field(gt=0, le=600)] = key(
        30.0, "How long a client may take to send a request, headers and body each.", example=10
    )
    connections: Annotated[int, Field(ge=1, le=100_000)] = key(
        2000, "Requests and idle connections at once; more are answered 503.", example=500
    )
    sessions: Annotated[int, Field(ge=1, le=100_000)] = key(
        10_000, "Sessions of clients up to 2025-11-25 at once; of one person a tenth of them, or 20.", example=1000
    )
    drain_seconds: Annotated[float, Field(ge=0, le=600)] = key(
        10.0, "How long calls that are under way may go on once the server is asked to end.", example=30
    )


class Gateway(Block):
    """Many people at one address, each known by a token."""

    url: Annotated[str, AfterValidator(_canonical)] | None = key(
        None, "The address that clients are given, which is also what tokens must be meant for.", example="https://remit.example.org/mcp"
    )
    issuers: list[Issuer] = key([], "Whose tokens count; none: API keys alone.", example=[{"issuer": "https://login.example.org"}])
    scopes: Scopes = key(Scopes(), "What a token must have been given.", example={"required": ["remit"]})
    hosts: list[Annotated[str, AfterValidator(_host)]] | None = key(
        None, "What a request's Host header may be; absent: the host of `url`.", example=["remit.example.org"]
    )
    origins: list[Annotated[str, AfterValidator(_origin)]] | None = key(
        None, "Which web pages may call; absent: those of `url`'s own host.", example=["https://tools.example.org"]
    )
    tls: Tls | None = key(
        None, "The gateway's own certificate.", example={"certificate": "/etc/remit/tls.pem", "private_key": "/etc/remit/tls.key"}
    )
    console: TeamConsole | None = key(
        None, "The console, beside `url`: /console in the place of /mcp. Absent: there is none.", example={"client_id": "remit-console"}
    )
    trusted_proxies: list[Annotated[str, AfterValidator(_network)]] = key(
        [], "Proxies in front that end TLS and say where a request comes from. No other address is served then.", example=["10.0.0.7"]
    )
    limits: HttpLimits = key(HttpLimits(), "What a request may be.", example={"body_bytes": 1048576})
    access_log: bool = key(True, "A line in the log for each request: who, what, how it was answered.", example=False)
    metrics: Metrics | None = key(
        None,
        "Numbers for Prometheus, and what readiness hangs on, at an address of their own; absent: neither. Needs the extra `metrics`.",
        example={"listen": "127.0.0.1:9464"},
    )
    roles: RoleHolders = key(
        RoleHolders(), "Who holds which role, whatever team something belongs to.", example={"auditor": [{"claims": {"groups": "audit"}}]}
    )
    everyone: Grant = key(
        Grant(), "What each caller may use; their rules are the managed settings' own `permission`.", example={"max_mode": "acceptEdits"}
    )
    teams: dict[TeamName, Team] = key(
        {},
        "Callers with something in common, what they may use and their rules. Where somebody is in several, the rules follow each other as "
        "written here, and what one team gives, the others do not take.",
        example={"payments": {"who": [{"claims": {"groups": "payments"}}], "agents": ["explore"]}},
    )
    people: dict[TeamName, Person] = key(
        {},
        "Single callers, after their teams. The name is for texts.",
        example={"alice": {"who": [{"subject": "alice"}], "tools": ["read"]}},
    )
    workspaces: dict[WorkspaceName, Annotated[str, AfterValidator(_folder)]] = key(
        {}, "Further workspaces, each served at `url`/NAME/AGENT. The folder must be there.", example={"shop": "/srv/shop"}
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> "Gateway":
        if not self.model_fields_set:
            raise ValueError("says nothing; add `url`, and `issuers` unless API keys are enough")
        names = [one.issuer for one in self.issuers]
        if len(set(names)) < len(names):
            raise ValueError("names an issuer twice; write each once")
        if sum(one.introspection is not None for one in self.issuers) > 1:
            raise ValueError("has two issuers with `introspection`; leave it to one: an opaque token would be shown to both")
        return self

    @property
    def console_issuer(self) -> Issuer | None:
        """Where people sign in to the console; None: with API keys alone."""
        if self.console is None or self.console.client_id is None:
            return None
        named = self.console.issuer
        return next((one for one in self.issuers if named is None or one.issuer == named), None)

    @property
    def console_url(self) -> str | None:
        """Where the console is, without a slash at the end; None: nowhere."""
        return None if self.console is None or self.url is None else f"{self.url.removesuffix(PATH)}{CONSOLE}"

    @property
    def selectors(self) -> tuple[Who, ...]:
        """Everybody of whom these settings say something."""
        return tuple(who for _, whos in self.said_of for who in whos)

    @property
    def said_of(self) -> tuple[tuple[str, tuple[Who, ...]], ...]:
        """Who is named at which key."""
        teams = ((f"gateway.teams.{name}", (*whos(team), *whos(team.roles))) for name, team in self.teams.items())
        people = ((f"gateway.people.{name}", whos(person)) for name, person in self.people.items())
        return (("gateway.roles", whos(self.roles)), *teams, *people)

    @property
    def grants(self) -> tuple[tuple[str, Grant], ...]:
        """What is given at which key."""
        teams = ((f"gateway.teams.{name}", team) for name, team in self.teams.items())
        people = ((f"gateway.people.{name}", person) for name, person in self.people.items())
        return (("gateway.everyone", self.everyone), *teams, *people)

    def names_of(self, workspace: str) -> frozenset[str]:
        """What addresses call a workspace, as folders lead now. `workspace`: absolute and resolved."""
        names = frozenset(name for name, folder in self.workspaces.items() if os.path.realpath(folder) == workspace)
        return names or frozenset({DEFAULT_WORKSPACE})


def gateway_faults(gateway: Gateway | None, origins: Mapping[str, str]) -> tuple[Fault, ...]:
    """What no single file shows: what all of them together leave out."""
    if gateway is None:
        return ()
    said = (*_without_issuer(gateway), *_without_workspace(gateway), *_nested(gateway), *_nowhere_to_sign_in(gateway))
    faults = [fault_at(origins, *one) for one in said]
    if gateway.url is None:
        faults.append(fault_at(origins, "gateway", "`gateway` names no `url`", f"add the address that clients are given: `url: {EXAMPLE}`"))
    return tuple(faults)


def _without_issuer(gateway: Gateway) -> Iterator[tuple[str, str, str]]:
    """Who is known by nobody in particular: each issuer could then make somebody of its own of them."""
    names = [one.issuer for one in gateway.issuers]
    for place, named in gateway.said_of:
        for who in named:
            if who.key is None and who.issuer is None and len(names) != 1:
                yield place, f"`{place}` does not say by which issuer somebody is known", "add `issuer: …` beside the subject or the claims"
            if who.issuer is not None and who.issuer not in names:
                yield (
                    place,
                    f"`{place}` knows somebody by {who.issuer}, which is none of `gateway.issuers`",
                    "add it there, or write another",
                )


def _without_workspace(gateway: Gateway) -> Iterator[tuple[str, str, str]]:
    for place, grant in gateway.grants:
        for name in grant.workspaces or ():
            if name not in gateway.workspaces and name != DEFAULT_WORKSPACE:
                served = ", ".join((DEFAULT_WORKSPACE, *gateway.workspaces))
                yield place, f"`{place}` names the workspace `{name}`, which is not served", f"write one of {served}, or add it"


def _nested(gateway: Gateway) -> Iterator[tuple[str, str, str]]:
    """As they are written; where links lead is looked at when the folders are."""
    for name, outer in inside_another(gateway.workspaces):
        yield nested(name, outer)


def nested(name: str, outer: str) -> tuple[str, str, str]:
    """Of a workspace inside another, the place, what is wrong and what to do."""
    written = outer if name == DEFAULT_WORKSPACE else name
    problem = f"the workspace `{name}` lies in the workspace `{outer}`: whoever is let into that one works in both"
    return f"gateway.workspaces.{written}", problem, "serve one of them alone, or move it out"


def _nowhere_to_sign_in(gateway: Gateway) -> Iterator[tuple[str, str, str]]:
    """A console whose people are sent to nobody, or to nobody in particular."""
    console, names = gateway.console, [one.issuer for one in gateway.issuers]
    if console is None or console.client_id is None:
        return
    place = "gateway.console"
    if console.issuer is not None and console.issuer not in names:
        yield place, f"`{place}.issuer` is {console.issuer}, which is none of `gateway.issuers`", "add it there, or write another"
    elif console.issuer is None and len(names) != 1:
        yield place, f"`{place}` does not say at which issuer people sign in", "add `issuer: …`, one of `gateway.issuers`"
