"""What a settings file may hold, as pydantic models: the check of a file and the source of its reference page.

Rules stay as they were written here (`Written`); `rules` reads them. Every key names the sources that may set it.
"""

import re
from typing import Annotated, Literal, cast, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from mcp_server.policy.values import Mode
from mcp_server.settings.blocks import EVERYWHERE, PERSONAL, SOURCES, Block, Source, key
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.loopback import is_loopback
from mcp_server.settings.upstream import ServerName, Upstream
from mcp_server.settings.written import AgentName, ModeWord, ToolName, Written

MODEL = re.compile(r"[A-Za-z0-9_.-]+[:/].+|client")
"""`client` alone is the model of whichever client has called."""


def _model(text: str) -> str:
    if not MODEL.fullmatch(text):
        raise ValueError("is not of the form provider:model; write it so, e.g. anthropic:claude-sonnet-5")
    return text.strip()


def _address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is not an http or https address; write it whole, e.g. https://models.example.org/v1")
    if parts.username or parts.password or parts.query:
        raise ValueError("holds a user, a password or a query; remove it: keys come by `api_key_env` or `api_key_file`")
    return text.rstrip("/")


def _hook(text: str) -> str:
    try:
        parts = urlsplit(text)
        fit = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError("is not an address; write it whole, e.g. https://hooks.example.org/remit") from None
    if (
        not fit
        or parts.scheme not in {"http", "https"}
        or not parts.hostname
        or not text.isascii()
        or re.search(r"[\x00-\x20\x7f\\]", text)
    ):
        raise ValueError("is not an https address; write it whole, e.g. https://hooks.example.org/remit")
    if parts.username or parts.password or parts.fragment:
        raise ValueError("holds a user, a password or a fragment; remove it: the signature tells who sends")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("is not https; what is told would be readable on the way: use https, or an address on this machine itself")
    return text


def _variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError("is not the name of an environment variable; put the key into one, and write its name here")
    return text


def _host(text: str) -> str:
    if not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s/:@*?\[\]]+)(:[0-9]{1,5})?", text):
        raise ValueError("is not a host; write its name or number, with :port for that port alone: wiki.example.org, 10.0.0.5:8080, [::1]")
    return text


ModelName = Annotated[str, AfterValidator(_model)]
Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]
SandboxWish = Literal["auto", "bubblewrap", "landlock", "none"]
"""Which back end of the sandbox. `auto` never means `none`."""

AnsweringName = Literal["elicitation", "url", "app", "console", "terminal"]
"""A way by which a prompt reaches a person, and the answer comes back. In the order that is used where nothing is said."""

PointerName = Literal["desktop", "webhook"]
"""A way by which a person is told that a prompt waits, and where. Nothing is answered there."""

ChannelName = Literal[AnsweringName, PointerName]

CHANNELS: tuple[ChannelName, ...] = get_args(AnsweringName)
POINTERS: tuple[ChannelName, ...] = get_args(PointerName)
"""Used by those alone who name them."""


def _channels(names: list[ChannelName]) -> list[ChannelName]:
    if len(set(names)) < len(names):
        raise ValueError("names a channel twice; write each once")
    if names and set(names) <= set(POINTERS):
        raise ValueError(f"names no channel by which a prompt is answered; add one of {', '.join(CHANNELS)}")
    if "url" in names and "console" not in names:
        raise ValueError("names `url`, which leads to the console, without `console`; write both, or neither")
    return names


class Limits(Block):
    """How far a tree of runs may go. Seconds, counts and characters."""

    depth: Annotated[int, Field(ge=0, le=8)] = key(2, "How deep a tree of sessions may get; 0: no children.", example=2)
    children: Annotated[int, Field(ge=1, le=64)] = key(8, "Children of one session at work at once.", example=4)
    steps: Annotated[int, Field(ge=1, le=1000)] = key(50, "Model turns of one run, where the agent sets none.", example=30)
    timeout: Seconds = key(3600.0, "Seconds of one run, where the agent sets none. Waiting for a person does not count.", example=900)
    tokens: Annotated[int, Field(ge=1)] = key(2_000_000, "Tokens of one run, in and out.", example=200000)
    context_tokens: Annotated[int, Field(ge=1000)] | None = key(
        None, "Tokens that a model is given at most, before its transcript is shortened; absent: what is known of the model.", example=32000
    )
    model_calls: Annotated[int, Field(ge=1, le=1000)] = key(16, "Model turns that are asked for at once; trees take turns.", example=4)
    tool_calls: Annotated[int, Field(ge=1, le=1000)] = key(32, "Tools that run at once; trees take turns.", example=8)
    prompt_deadline: Seconds = key(600.0, "Seconds that a person has to answer, from when the prompt is shown.", example=300)
    task_wait: Annotated[float, Field(ge=0, le=240)] = key(
        45.0, "Seconds after which `task` answers that the child is still running. Clients often stop waiting after 60.", example=45
    )
    inline_result: Annotated[int, Field(ge=500, le=1_000_000)] = key(
        50_000, "Longest result of a child, in characters, that is given whole; a longer one is summarised.", example=8000
    )
    root_silence: Seconds = key(43200.0, "Seconds of silence after which a shared root session ends.", example=3600)


class Budget(Block):
    """What may be used up before the person is asked to extend it; absent: any amount. Where nobody can be asked, the run ends there."""

    tokens: Annotated[int, Field(ge=1)] | None = key(None, "Tokens, in and out.", example=500000)
    cost: Annotated[float, Field(gt=0)] | None = key(None, "US dollars, as far as prices are known.", example=2.5)
    steps: Annotated[int, Field(ge=1)] | None = key(None, "Model turns.", example=100)
    seconds: Seconds | None = key(None, "Seconds of work; waiting does not count.", example=1800)
    prompts: Annotated[int, Field(ge=1)] | None = key(None, "Questions put before the person.", example=20)


class Retention(Block):
    """How long what has ended is kept, and for how long the audit."""

    days: Annotated[int, Field(ge=0, le=3650)] = key(
        90, "Trees of which nothing was heard for so long are removed when a server starts and every day; 0: never.", example=30
    )
    megabytes: Annotated[int, Field(ge=0)] = key(
        0, "Where the store is larger, trees silent longest go first, but none of the last day; 0: any size.", example=2000
    )
    audit_days: Annotated[int, Field(ge=0, le=36500)] = key(
        0,
        "Events of the audit that are older are removed when a server starts and every day, in whole signed segments; 0: none ever.",
        example=365,
    )


class AuditWish(Block):
    """What the audit holds beside what it always does."""

    arguments: Literal["digest", "redacted"] = key(
        "digest",
        "Of a call's arguments: their digest alone, or beside it the text without what looks like a secret, cut to 300 characters each.",
        example="redacted",
    )


class RulingLimits(Block):
    """How long a person's rulings stand. Seconds."""

    session_expiry: Seconds = key(3600.0, "Silence of its session after which a `session` ruling lapses.", example=600)
    allow_expiry: Seconds = key(
        43200.0,
        "How long an allow for a session, or for it and its subagents, stands at most. Nobody can lengthen what managed settings say.",
        example=3600,
    )
    once_expiry: Seconds = key(600.0, "How long an `allow once` waits to be used.", example=120)


class Roles(Block):
    """Which hidden agents do the server's own small jobs."""

    summary: AgentName = key("summary", "Sums up a child's result that is too long.", example="summary")
    title: AgentName = key("title", "Names root sessions.", example="title")
    compaction: AgentName = key("compaction", "Shortens a long transcript.", example="compaction")


class Provider(Block):
    """Where a provider of models is reached. Keys are named, never written."""

    base_url: Annotated[str, AfterValidator(_address)] | None = key(
        None, "An OpenAI-compatible address; absent: the provider's own.", example="http://127.0.0.1:11434/v1"
    )
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = key(
        None, "The environment variable that holds the key.", example="WORK_API_KEY"
    )
    api_key_file: str | None = key(None, "A file that holds the key and nothing else.", example="~/.secrets/work-key")


class WebFetch(Block):
    """What `webfetch` may reach beside public servers."""

    private_hosts: list[Annotated[str, AfterValidator(_host)]] = key(
        [],
        "Hosts that may be fetched from although their address is private: a name or number, with `:port` for that port alone. "
        "Whether one is fetched from still goes by the rules. The nearest source's list is the one that counts.",
        example=["wiki.example.org", "127.0.0.1:8080"],
    )


class WebSearch(Block):
    """The search engine behind `websearch`."""

    provider: Literal["brave", "searxng"] = key("brave", "Which engine.", example="searxng")
    base_url: Annotated[str, AfterValidator(_address)] | None = key(
        None, "Where it is; absent: Brave's own address. SearXNG has none of its own.", example="https://search.example.org"
    )
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = key(
        None, "The environment variable that holds the key. Brave needs one.", example="BRAVE_API_KEY"
    )

    @model_validator(mode="after")
    def _whole(self) -> "WebSearch":
        if self.provider == "searxng" and self.base_url is None:
            raise ValueError("names no address; add `base_url`: searxng has none of its own")
        if self.provider == "brave" and self.api_key_env is None:
            raise ValueError("names no key; add `api_key_env`: brave answers to none without")
        return self


class Webhook(Block):
    """Who is told of prompts, and with which secret that is signed. The secret is named, never written."""

    url: Annotated[str, AfterValidator(_hook)] | None = key(
        None, "Where to post: https, or http on this machine itself.", example="https://hooks.example.org/remit"
    )
    secret_file: str | None = key(
        None,
        "A file, yours alone to read, that holds the secret (`whsec_…`) and nothing else; of several on lines of their own each signs.",
        example="~/.secrets/remit-webhook",
    )
    secret_env: Annotated[str, AfterValidator(_variable)] | None = key(
        None, "The environment variable that holds the secret, instead.", example="REMIT_WEBHOOK_SECRET"
    )

    @model_validator(mode="after")
    def _whole(self) -> "Webhook":
        if self.url is None:
            raise ValueError("names no address; add `url`")
        if (self.secret_file is None) is (self.secret_env is None):
            raise ValueError("must name its secret once; write either `secret_file` or `secret_env`")
        return self


class AgentSettings(Block):
    """What settings say of one agent, on top of its definition."""

    permission: Written = key(None, "Rules that end its agent layer, and the layer of who writes them.", example={"bash": "ask"})
    model: ModelName | None = key(None, "The model it uses.", example="anthropic:claude-sonnet-5")
    fallback: ModelName | None = key(None, "The model that answers where that one fails for good.", example="openai:gpt-5-mini")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = key(None, "Sampling temperature.", example=0.2)
    top_p: Annotated[float, Field(gt=0, le=1)] | None = key(None, "Nucleus sampling.", example=0.9)
    steps: Annotated[int, Field(ge=1, le=1000)] | None = key(None, "Model turns of one run.", example=20)
    timeout: Seconds | None = key(None, "Seconds of one run.", example=600)
    on_parent_end: Literal["cancel", "keep"] | None = key(
        None, "What becomes of it when its caller's run has ended and its own has not.", example="keep"
    )
    disable: bool | None = key(None, "Leave the agent out.", example=True)


class SettingsFile(Block):
    """A settings file as it is written."""

    permission: Written = key(
        None, "Rules of this source's layer.", example={"bash": {"*": "ask", "git status *": "allow"}}, sources=EVERYWHERE
    )
    agents: dict[AgentName, AgentSettings] = key(
        {}, "Settings of single agents, by name.", example={"build": {"steps": 80}}, sources=PERSONAL
    )
    agent: AgentName = key("build", "The agent that a client's own calls run as.", example="plan", sources=("managed", "user", "cli"))
    mode: ModeWord = key(Mode.DEFAULT, "What answers where no rule speaks.", example="acceptEdits", sources=("managed", "user", "cli"))
    max_mode: ModeWord | None = key(None, "The least strict mode that anybody may choose.", example="acceptEdits", sources=("managed",))
    model: ModelName | None = key(
        None, "The model of agents that name none.", example="anthropic:claude-sonnet-5", sources=(*EVERYWHERE, "cli")
    )
    small_model: ModelName | None = key(
        None, "The model of the hidden agents that name none; absent: `model`.", example="openai:gpt-5-mini", sources=EVERYWHERE
    )
    model_fallback: ModelName | None = key(
        None,
        "The model that answers where an agent's own fails for good; a refusal is no failure. The transcript names who answered.",
        example="openai:gpt-5-mini",
        sources=EVERYWHERE,
    )
    sampling: bool = key(
        False,
        "Whether agents whose model is `client` may use the client's own model, through MCP's sampling. What they read and do then "
        "goes to that client.",
        example=True,
        sources=("managed", "user"),
    )
    roles: Roles = key(Roles(), "The agents for the server's own small jobs.", example={"title": "title"}, sources=("managed", "user"))
    providers: dict[str, Provider] = key(
        {},
        "Where providers are reached, by the name before the `:` of a model.",
        example={"work": {"base_url": "https://models.example.org/v1", "api_key_env": "WORK_API_KEY"}},
        sources=("managed", "user"),
    )
    mcpServers: dict[ServerName, Upstream] = key(
        {},
        "Other MCP servers whose tools are offered as `<server>__<tool>`, by the server's name. One source's words on a server count as a "
        "whole.",
        example={"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}},
        sources=("managed", "user"),
    )
    credential_key_file: Annotated[str, Field(min_length=1)] | None = key(
        None,
        "The file with the key under which people's sign-ins to other servers are kept, as 64 hexadecimal digits; further lines are older "
        "keys, which only open. Absent: `credentials.key` in the state folder, made when it is needed.",
        example="/etc/remit/credentials.key",
        sources=("managed", "user"),
    )
    webfetch: WebFetch = key(
        WebFetch(),
        "Which servers `webfetch` may reach beside public ones.",
        example={"private_hosts": ["wiki.example.org"]},
        sources=("managed", "user", "cli"),
    )
    websearch: WebSearch | None = key(
        None,
        "The search engine; absent: `websearch` is not offered. One source's words count as a whole.",
        example={"provider": "searxng", "base_url": "https://search.example.org"},
        sources=("managed", "user"),
    )
    sandbox: SandboxWish = key(
        "auto",
        "What holds the lines of `bash`: the best there is, one by name, or `none`. Where what is wished for cannot be had, lines whose "
        "effects cannot be read beforehand are refused; `none` lets them run and asks where the rules do.",
        example="bubblewrap",
        sources=("managed", "user"),
    )
    channels: Annotated[list[ChannelName], Field(min_length=1), AfterValidator(_channels)] = key(
        list(CHANNELS),
        "By what a prompt may be answered, the preferred first: `elicitation` (the client's form), `url` (a link to the console, shown by "
        "the client), `app` (the panel inside the client), `console` (`remit console`), `terminal` (`remit approvals`). Where they are "
        "named as well, `desktop` (a notice on the desktop) and `webhook` tell that a prompt waits and where; nothing is answered by these "
        "two. "
        "One source's list counts as a whole; managed settings may lock it.",
        example=["console", "terminal"],
        sources=("managed", "user"),
    )
    webhook: Webhook | None = key(
        None,
        "Where the channel `webhook` posts that a prompt waits, and that it is over. One source's words count as a whole.",
        example={"url": "https://hooks.example.org/remit", "secret_file": "~/.secrets/remit-webhook"},
        sources=("managed", "user"),
    )
    primary_tools: list[ToolName] = key(
        [], "Tools that no child may use. Lists of all sources add up.", example=["webfetch"], sources=EVERYWHERE
    )
    tools: list[ToolName] | None = key(
        None, "The tools that are offered; absent: all, empty: none.", example=["read", "grep", "task"], sources=(*EVERYWHERE, "cli")
    )
    limits: Limits = key(Limits(), "How far runs may go.", example={"depth": 1}, sources=PERSONAL)
    session_budget: Budget = key(
        Budget(), "What one session may use up, over all its runs, before the person is asked.", example={"cost": 0.5}, sources=PERSONAL
    )
    tree_budget: Budget = key(
        Budget(), "Likewise everything below one connection, or one caller.", example={"cost": 5.0, "prompts": 50}, sources=PERSONAL
    )
    retention: Retention = key(Retention(), "How long what has ended is kept.", example={"days": 30}, sources=("managed", "user"))
    rulings: RulingLimits = key(RulingLimits(), "How long rulings stand.", example={"session_expiry": 600}, sources=("managed", "user"))
    audit: AuditWish = key(AuditWish(), "What the audit holds.", example={"arguments": "redacted"}, sources=("managed", "user"))
    guard: Written = key(
        None,
        "Rules added to the built-in guard. An allow there only takes the guard's own word back.",
        example={"read": {"*/fixtures/.env": "allow"}},
        sources=PERSONAL,
    )
    gateway: Gateway | None = key(
        None,
        "Who may call over HTTP, and how they show who they are; absent: this machine's own programs alone, without a word.",
        example={"url": "https://remit.example.org/mcp", "issuers": [{"issuer": "https://login.example.org"}]},
        sources=("managed",),
    )
    lock: list[str] = key(
        [],
        "Keys, with dots, whose managed value nobody may change; `guard` or `guard.<permission>` locks the guard.",
        example=["mode", "limits.depth", "guard.read"],
        sources=("managed",),
    )


def allowed_sources(name: str) -> tuple[Source, ...]:
    """Who may set a key of `SettingsFile`."""
    extra = cast("dict[str, list[str]]", SettingsFile.model_fields[name].json_schema_extra)
    return tuple(source for source in SOURCES if source in extra["sources"])
