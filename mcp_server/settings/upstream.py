"""Other MCP servers that Remit lends the tools of: the setting `mcpServers`, in the shape in which clients configure them.

Values of `env` and `headers` may name what they hold: `${NAME}` of Remit's own environment, `${file:PATH}` for a file's content. What they
come to is `protocol/upstream`'s; here nothing is looked up.
"""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from mcp_server.settings.blocks import Block, key
from mcp_server.settings.loopback import is_guarded, is_loopback

SERVER = re.compile(r"[A-Za-z0-9](?:_?[A-Za-z0-9-]){0,19}")
"""The name stands before the `__` of each of its tools, so it holds none and does not end in `_`."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_RESERVED = frozenset({"host", "content-length", "content-type", "accept", "transfer-encoding", "connection"})
"""Headers that the protocol or HTTP itself sets."""

STDIO_KEYS = ("args", "env", "cwd", "sandbox")
HTTP_KEYS = ("headers", "oauth", "exchange")


def _server_name(text: str) -> str:
    if not SERVER.fullmatch(text) or len(text) > 20:
        raise ValueError("is not a server's name; use letters, digits, - and single _, at most 20, a letter or digit first and last")
    return text


def _variable(text: str) -> str:
    if not VARIABLE.fullmatch(text):
        raise ValueError("is not the name of an environment variable; use letters, digits and _")
    return text


def _header(text: str) -> str:
    if not _HEADER.fullmatch(text):
        raise ValueError("is not the name of a header; write it as HTTP has it: Authorization")
    if text.lower() in _RESERVED or text.lower().startswith("mcp-"):
        raise ValueError("is a header that the protocol sets by itself; remove it")
    return text


def _text(text: str) -> str:
    if "\0" in text or "\n" in text or "\r" in text:
        raise ValueError("holds a line break or a NUL; write it on one line")
    return text


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        fit = bool(parts.hostname) and parts.scheme in {"http", "https"} and (parts.port is None or parts.port > 0)
    except ValueError:
        fit, parts = False, urlsplit("")
    if not fit or re.search(r"[\x00-\x20\x7f\\]", text):
        raise ValueError("is not an http or https address; write it whole: https://mcp.example.org/mcp")
    if parts.username or parts.password or parts.fragment:
        raise ValueError("holds a user, a password or a fragment; remove it: credentials come by `headers`")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError("is not https; what goes there would be readable on the way: use https, or an address on this machine itself")
    return text


def _issuer(text: str) -> str:
    if not is_guarded(text) or urlsplit(text).query or urlsplit(text).fragment:
        raise ValueError("is not an https address (http on this machine itself); write it as the issuer calls itself")
    return text


ServerName = Annotated[str, AfterValidator(_server_name)]
Plain = Annotated[str, AfterValidator(_text)]
Duration = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]


class UpstreamSandbox(Block):
    """What a server of its own process may do, where it is held at all."""

    write: list[Plain] = key(
        [], "Folders that it may write, beside a temporary one; `${workspaceFolder}` is the workspace.", example=["${workspaceFolder}"]
    )
    read: list[Plain] = key(
        [],
        "Folders that it may read, beside the workspace and where a system keeps programs; its own lies in one of them.",
        example=["~/.local/share/mise"],
    )
    network: bool = key(False, "Whether it reaches the network.", example=True)


class UpstreamOauth(Block):
    """A server that people sign in to themselves, by OAuth."""

    client_id: Plain | None = key(
        None,
        "Who Remit is to the server's issuer: a client that was registered there, or the https address of its metadata. Absent: it "
        "registers itself.",
        example="remit-gateway",
    )
    client_secret_file: Plain | None = key(
        None, "The file that holds the client's secret, where it has one. Needs `issuer`.", example="/etc/remit/notes-secret"
    )
    issuer: Annotated[str, AfterValidator(_issuer)] | None = key(
        None,
        "The only issuer that is gone to; it may be on a private network. Absent: the one that the server names, if it is public.",
        example="https://login.example.org",
    )
    scope: Plain | None = key(None, "What is asked for, where the server does not say it.", example="notes:read")

    @model_validator(mode="after")
    def _whole(self) -> "UpstreamOauth":
        if self.client_secret_file is not None and (self.client_id is None or self.issuer is None):
            raise ValueError("has a client's secret, which could go to whichever issuer the server names; say `client_id` and `issuer` too")
        return self


class UpstreamExchange(Block):
    """A server for which a gateway's issuer gives tokens in exchange for those that callers come with (RFC 8693)."""

    token_endpoint: Annotated[str, AfterValidator(_issuer)] = key(
        ..., "The issuer's token endpoint.", example="https://login.example.org/token"
    )
    client_id: Plain = key(..., "Who Remit is to the issuer.", example="remit-gateway")
    client_secret_file: Plain = key(..., "The file that holds its secret.", example="/etc/remit/exchange-secret")
    audience: Plain | None = key(
        None, "Whom the issuer knows the server as. Absent: it is asked for the server's address.", example="notes"
    )
    scope: Plain | None = key(None, "What is asked for.", example="notes:read")


class Upstream(Block):
    """One MCP server: a program that speaks over its standard input and output, or an address."""

    type: Literal["stdio", "http", "streamable-http"] | None = key(
        None, "How it is reached; absent: `stdio` where there is a `command`, `http` where there is a `url`.", example="http"
    )
    command: Plain | None = key(None, "The program to start.", example="npx")
    args: list[Plain] = key(
        [], "Its arguments; `${workspaceFolder}` is the workspace.", example=["-y", "@modelcontextprotocol/server-memory"]
    )
    env: dict[Annotated[str, AfterValidator(_variable)], Plain] = key(
        {},
        "What its environment holds beside a few harmless variables: text, `${NAME}` for a variable of Remit's own environment, "
        "`${file:PATH}` for what a file holds that nobody else may read.",
        example={"GITHUB_TOKEN": "${file:~/.secrets/github}"},
    )
    cwd: Plain | None = key(
        None,
        "The folder it starts in; absent: one of Remit's own, or the workspace where `sandbox` holds it.",
        example="~/work",
    )
    url: Annotated[str, AfterValidator(_url)] | None = key(
        None, "Its address: https, or http on this machine itself.", example="https://mcp.example.org/mcp"
    )
    headers: dict[Annotated[str, AfterValidator(_header)], Plain] = key(
        {}, "Headers of each request; values as in `env`.", example={"Authorization": "Bearer ${DOCS_TOKEN}"}
    )
    oauth: UpstreamOauth | None = key(
        None,
        "Everybody signs in to it themselves: with `remit upstreams SERVER --sign-in`, or in a gateway's console. Without that "
        "nobody's call is sent.",
        example={},
    )
    exchange: UpstreamExchange | None = key(
        None,
        "Callers of a gateway are known to it by a token that the gateway's issuer exchanges theirs for. Without one no call is sent.",
        example={
            "token_endpoint": "https://login.example.org/token",
            "client_id": "remit-gateway",
            "client_secret_file": "/etc/remit/exchange-secret",
        },
    )
    shareable: bool = key(
        False,
        "One for everybody, instead of one for each root session and its subagents. Only where it keeps nothing of whoever calls.",
        example=True,
    )
    idle_seconds: Duration = key(600.0, "Seconds without a call after which it is ended; the next call starts it again.", example=60)
    lifetime_seconds: Duration = key(
        12 * 3600.0, "Seconds after which it is ended and started anew, once no call is under way.", example=3600
    )
    handshake_seconds: Annotated[float, Field(gt=0, le=120)] = key(
        20.0, "Seconds in which it must have started, shaken hands and listed its tools.", example=60
    )
    call_seconds: Annotated[float, Field(gt=0, le=24 * 3600)] = key(
        300.0, "Seconds that one call may take, waiting for a person left out.", example=60
    )
    sandbox: UpstreamSandbox | None = key(
        None,
        "Hold its processes: they read the system and the workspace, write and reach what is named here, and nothing else. Absent: it runs "
        "as any program of yours. Where no sandbox can be had it is not started.",
        example={"write": ["${workspaceFolder}"], "network": True},
    )
    disabled: bool = key(False, "Leave it out.", example=True)

    @model_validator(mode="after")
    def _one_kind(self) -> "Upstream":
        http = self.type in ("http", "streamable-http") or (self.type is None and self.url is not None)
        if self.command is not None and self.url is not None:
            raise ValueError("names a program and an address; write `command` or `url`, not both")
        if http and self.url is None:
            raise ValueError("names no address; add `url`")
        if not http and not self.command:
            raise ValueError("names neither a program nor an address; add `command`, or `url`")
        strange = [name for name in (STDIO_KEYS if http else HTTP_KEYS) if name in self.model_fields_set]
        if strange:
            raise ValueError(f"says `{strange[0]}`, which a server {'at an address' if http else 'of a program'} has not; remove it")
        self._one_way_to_be_known()
        return self

    def _one_way_to_be_known(self) -> None:
        own = [name for name in ("oauth", "exchange") if getattr(self, name) is not None]
        if len(own) > 1:
            raise ValueError("says `oauth` and `exchange`; keep the one by which people are known there")
        if own and self.shareable:
            raise ValueError(f"is `shareable`, though `{own[0]}` makes each caller known to it; remove one of them")
        if own and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError(f"has a header `Authorization`, which is what `{own[0]}` fills; remove one of them")

    @property
    def http(self) -> bool:
        """It is reached at an address."""
        return self.url is not None
