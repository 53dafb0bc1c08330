"""The names of everything that is told. `gen_ai.*` and `error.type` are OpenTelemetry's conventions, `remit.*` are Remit's own.

`docs/telemetry.md` lists them; a test holds that page to what is emitted.
"""

SCOPE = "remit"
"""The instrumentation's name."""

# spans: each name is followed by a tool, an agent or a model
ADVANCE = "invoke_agent"
TURN = "chat"
EXECUTION = "execute_tool"
DECISION = "decide"
PROMPT = "prompt"

# attributes of OpenTelemetry's conventions
OPERATION = "gen_ai.operation.name"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
PROVIDER = "gen_ai.provider.name"
MODEL_ASKED = "gen_ai.request.model"
MODEL_ANSWERED = "gen_ai.response.model"
TOKENS_IN = "gen_ai.usage.input_tokens"
TOKENS_OUT = "gen_ai.usage.output_tokens"
TOKENS_CACHED = "gen_ai.usage.cache_read.input_tokens"
COUNTED = "gen_ai.token.type"
TOOL = "gen_ai.tool.name"
CALL = "gen_ai.tool.call.id"
ERROR = "error.type"

HTTP_METHOD = "http.request.method"
HTTP_ROUTE = "http.route"
HTTP_STATUS = "http.response.status_code"
MCP_METHOD = "mcp.method.name"

# attributes of ours
TEAM = "remit.team"
VERDICT = "remit.verdict"
LIMIT = "remit.limit"
LIMITED = "remit.limit.shared_by"
SESSION_PATH = "remit.session.path"
PARENT = "remit.session.parent"
ROOT = "remit.session.root"
RUN = "remit.run.id"
RUN_STATE = "remit.run.state"
BACKGROUND = "remit.run.background"
RUN_OUTCOME = "remit.run.outcome"
ACTION = "remit.decision.action"
STEP = "remit.decision.step"
SOURCES = "remit.decision.sources"
ENDING = "remit.call.ending"
PROMPT_ID = "remit.prompt.id"
PROMPT_KIND = "remit.prompt.kind"
PROMPT_STATE = "remit.prompt.state"
PROMPT_CHOICE = "remit.prompt.choice"
PROMPT_CHANNEL = "remit.prompt.channel"

# metrics
DECISIONS = "remit.decisions"
PROMPTS_OPEN = "remit.prompts.open"
PROMPT_SECONDS = "remit.prompt.duration"
RUN_SECONDS = "remit.run.duration"
COST = "remit.model.cost"
USED = "gen_ai.client.token.usage"
TURN_SECONDS = "gen_ai.client.operation.duration"
TOOL_SECONDS = "gen_ai.execute_tool.duration"
REQUEST_SECONDS = "http.server.request.duration"
REQUESTS = "remit.requests"
LIMITS = "remit.limits.reached"

WAITS = "waits"
"""`ENDING` of a call that waits for a person or a child: no failure, and not the end."""

NOT_WRITTEN = "not_written"
"""`ERROR` of a decision that did not take effect: it was not written down, because what it rested on was gone, and is taken again."""

TOKEN_BOUNDS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""The convention's buckets."""
TURN_BOUNDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Likewise, in seconds; for tools too."""
REQUEST_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Seconds. The convention's, and two more: a call may be waited for."""
OTHER = "_OTHER"
"""The convention's word for what is none of a closed list: what a client may write is no label."""
HTTP_METHODS = frozenset({"GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH"})
LONG_BOUNDS = (0.1, 0.5, 1, 5, 15, 60, 300, 600, 1800, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
"""Seconds, for what waits for people: from an answer at once to a prompt that nobody saw for a week."""
