"""`session_info`: who am I, what asks and what is denied and why, which rulings stand, who can be asked."""

from collections.abc import Awaitable, Callable, Sequence

from pydantic import BaseModel, ConfigDict

from mcp_server.policy.chain import Authority
from mcp_server.policy.values import Action, LayerKind, Request
from mcp_server.records import RulingRecord, TextPart
from mcp_server.sandbox.enclosing import Enclosing
from mcp_server.sessions.allowance import LimitUse
from mcp_server.sessions.ways import Ways
from mcp_server.sessions.work import SessionContext
from mcp_server.tools.base import Hints, ToolResult, ToolSpec

SILENCE = {
    "dontAsk": "nobody is asked: what no rule allows is denied",
    "default": "reading inside the workspace is allowed, everything else that no rule speaks of asks",
    "acceptEdits": "reading and editing inside the workspace is allowed, everything else that no rule speaks of asks",
    "bypassPermissions": "what no rule speaks of is allowed",
}


class InfoArguments(BaseModel):
    """`session_info` takes nothing."""

    model_config = ConfigDict(extra="forbid")


class RuleReport(BaseModel):
    """One rule that asks or denies."""

    rule: str
    owner: str
    reason: str | None
    origin: str


class RulingReport(BaseModel):
    """One ruling that stands."""

    id: str
    reach: str
    rule: str
    session: str
    used: int


class LimitReport(BaseModel):
    """One limit of the gateway that binds the caller."""

    limit: str
    shared_by: str
    """`each person`, or the team that may use so much together."""
    most: float
    used: float | None
    """None: it is not known here."""


class InfoReport(BaseModel):
    """The session that called."""

    session_id: str
    agent: str
    agent_path: list[str]
    workspace: str
    mode: str
    silence: str
    asks: list[RuleReport]
    denies: list[RuleReport]
    rulings: list[RulingReport]
    channels: list[str]
    limits: list[LimitReport]
    sandbox: list[str]
    """What lines of `bash` run in, and which promises hold on this machine."""
    servers: list[str]
    """What is wrong with other MCP servers now, and with what they offer."""


class SessionInfo:
    """The tool."""

    def __init__(
        self,
        enclosing: Enclosing | None,
        ways: Ways,
        uses: Callable[[str], Awaitable[Sequence[LimitUse]]],
        servers: Callable[[str], Sequence[str]],
    ) -> None:
        """`uses`: the limits that bind a principal, and how far each is used; `servers`: what is wrong with other servers for them."""
        self._enclosing = enclosing
        self._ways = ways
        self._uses = uses
        self._servers = servers

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="session_info",
            title="Who am I, and what may I do",
            description=(
                "Your own session: its agent and path, its mode, the rules that ask and that deny and why, the rulings that stand "
                "(their ids are what `task` takes as `inherit`), the channels through which a person can be asked, "
                "what a gateway lets you use and how much of it is used, and what holds `bash`."
            ),
            arguments=InfoArguments,
            hints=Hints(read_only=True, destructive=False, idempotent=True),
            output=InfoReport,
            by_ownership=True,
        )

    def requests(self, arguments: InfoArguments, context: SessionContext) -> tuple[Request, ...]:
        """None: it is about its caller alone."""
        return ()

    async def run(self, arguments: InfoArguments, context: SessionContext) -> ToolResult:
        """Tell."""
        whose = context.standing.session.principal
        uses, servers = await self._uses(whose), self._servers(whose)
        report = info_of(context, self._ways, () if self._enclosing is None else self._enclosing.words, uses, servers)
        return ToolResult(parts=(TextPart(text=info_text(report)),), structured=report.model_dump(mode="json"))


def info_of(
    context: SessionContext, ways: Ways, sandbox: Sequence[str] = (), uses: Sequence[LimitUse] = (), servers: Sequence[str] = ()
) -> InfoReport:
    """The report on the calling session."""
    standing, current = context.standing, context.authority
    return InfoReport(
        session_id=standing.session.id,
        agent=standing.session.agent,
        agent_path=list(standing.path),
        workspace=standing.session.workspace,
        mode=current.mode.value,
        silence=SILENCE[current.mode.value],
        asks=_rules(current, Action.ASK),
        denies=_rules(current, Action.DENY),
        rulings=[_ruling(record) for record in standing.rulings],
        channels=list(ways.named(standing.session.principal)) if current.may_ask else [],
        limits=[LimitReport(limit=use.limit, shared_by=use.account.whose, most=use.most, used=use.used) for use in uses],
        sandbox=list(sandbox),
        servers=list(servers),
    )


def _rules(current: Authority, action: Action) -> list[RuleReport]:
    return [
        RuleReport(rule=str(rule), owner=layer.owner, reason=rule.reason, origin=rule.origin)
        for layer in current.layers
        for rule in layer.rules
        if rule.action is action and not (layer.kind is LayerKind.CEILING and rule.scope == "self")
    ]


def _ruling(record: RulingRecord) -> RulingReport:
    return RulingReport(
        id=record.id, reach=record.reach.value, rule=str(record.ruling.rule), session=record.ruling.session_id, used=record.used
    )


def info_text(report: InfoReport) -> str:
    """The same for a reader."""
    lines = [
        f"{' › '.join(report.agent_path)} in {report.workspace}",
        f"mode {report.mode}: {report.silence}",
        *_listed("denied", report.denies),
        *_listed("asks", report.asks),
        *(f"ruling {ruling.id}: {ruling.rule} ({ruling.reach}, used {ruling.used} times)" for ruling in report.rulings),
        "asked through: " + ("; ".join(report.channels) or "nobody: what would ask is denied"),
        *(_limited(limit) for limit in report.limits),
        *(f"sandbox: {line}" for line in report.sandbox),
        *(f"MCP server {line}" for line in report.servers),
    ]
    return "\n".join(lines)


def _limited(limit: LimitReport) -> str:
    used = "" if limit.used is None else f", {limit.used:,.10g} used"
    return f"limit {limit.limit}: {limit.most:,.10g} for {limit.shared_by}{used}"


def _listed(word: str, rules: list[RuleReport]) -> list[str]:
    return [f"{word}: {rule.rule} ({rule.owner}{f', {rule.reason}' if rule.reason else ''})" for rule in rules]
