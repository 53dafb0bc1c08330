"""Tells through OpenTelemetry's API, whichever SDK stands behind it.

What a span hangs below is always given: a task that a request happened to start or wake is not a part of that request.
Only ids, names of tools, agents and models, and words of closed lists: no argument, no result, no text of a prompt or an error.
"""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from mcp_server.policy.values import ToolCall
from mcp_server.records import FINAL, AuditEvent, Ending, Prompt, RunRecord, RunState, SessionRecord
from mcp_server.telemetry import names
from mcp_server.telemetry.base import LimitTold, RequestTold, TurnTold

_W3C = TraceContextTextMapPropagator()
_BILLION = 1_000_000_000

Attributes = Mapping[str, AttributeValue]


def place_of(context: SpanContext) -> str:
    """As W3C `traceparent`; empty for none."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}" if context.is_valid else ""


def below(trace: str) -> Context:
    """The context of what hangs below that place. What is no place: of nothing, so that a new trace begins."""
    return _W3C.extract({"traceparent": trace}, context=Context())


class _Opened:
    """A span that is under way. Whatever was said of it is set when it ends."""

    error: str | None = None

    def __init__(self, span: Span) -> None:
        self.span = span
        self.trace = place_of(span.get_span_context())

    def failed(self, kind: str) -> None:
        self.error = kind
        self.span.set_attribute(names.ERROR, kind)
        self.span.set_status(StatusCode.ERROR)


class _Advance(_Opened):
    def rests(self, state: RunState) -> None:
        self.span.set_attribute(names.RUN_STATE, state.value)
        if state in (RunState.FAILED, RunState.EXPIRED):
            self.failed(state.value)


class _Decision(_Opened):
    event: AuditEvent | None = None

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        if not span.is_recording():
            self.trace = ""  # the audit names no span that nobody is sent

    def decided(self, event: AuditEvent) -> None:
        self.event = event


class _Execution(_Opened):
    ending = ""

    def came_to(self, ending: Ending | None) -> None:
        self.ending = names.WAITS if ending is None else ending.value
        if ending not in (None, Ending.DONE):
            self.failed(self.ending)


class Recorder:
    """See `Telemetry`."""

    on = True

    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer = tracer
        self._meter = meter
        self._decisions = meter.create_counter(names.DECISIONS, "{decision}", "What the gate decided.")
        self._cost = meter.create_counter(names.COST, "{USD}", "What model turns cost by list prices, as far as they are known.")
        self._prompts = self._seconds(names.PROMPT_SECONDS, "From asking until the prompt is open no more.", names.LONG_BOUNDS)
        self._runs = self._seconds(names.RUN_SECONDS, "From starting a run until its end, waiting included.", names.LONG_BOUNDS)
        self._turns = self._seconds(names.TURN_SECONDS, "GenAI operation duration.", names.TURN_BOUNDS)
        self._tools = self._seconds(names.TOOL_SECONDS, "Of one execution of a tool, waiting left out.", names.TURN_BOUNDS)
        self._requests = self._seconds(names.REQUEST_SECONDS, "Duration of HTTP server requests.", names.REQUEST_BOUNDS)
        self._calls = meter.create_counter(names.REQUESTS, "{request}", "Requests of MCP at a gateway.")
        self._limits = meter.create_counter(names.LIMITS, "{refusal}", "Refusals because a limit of a gateway was reached.")
        self._tokens = meter.create_histogram(
            names.USED,
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=names.TOKEN_BOUNDS,
        )

    def _seconds(self, name: str, says: str, bounds: Sequence[float]) -> Any:
        return self._meter.create_histogram(name, "s", says, explicit_bucket_boundaries_advisory=bounds)

    def here(self) -> str:
        return place_of(get_current_span().get_span_context())

    # ---- what takes its time --------------------------------------------------------------------

    @contextmanager
    def advance(self, session: SessionRecord, run: RunRecord, path: Sequence[str]) -> Generator[_Advance]:
        told: dict[str, AttributeValue] = {
            names.OPERATION: names.ADVANCE,
            names.AGENT: session.agent,
            names.CONVERSATION: session.id,
            names.SESSION_PATH: tuple(path),
            names.PARENT: session.parent_id or "",
            names.ROOT: session.root_id,
            names.RUN: run.id,
            names.BACKGROUND: run.background,
        }
        advance = _Advance(self._span(f"{names.ADVANCE} {session.agent}", run.trace, told))
        with _ending(advance):
            yield advance

    @contextmanager
    def decision(self, session: SessionRecord, call: ToolCall, trace: str) -> Generator[_Decision]:
        decision = _Decision(self._span(f"{names.DECISION} {call.tool}", trace, _of_call(session, call)))
        with _ending(decision):
            yield decision
            if decision.event is None:
                decision.failed(names.NOT_WRITTEN)
            else:
                self._decided(decision.span, decision.event)

    def _decided(self, span: Span, event: AuditEvent) -> None:
        words = {
            names.ACTION: event.action.word if event.action is not None else "",
            names.STEP: event.step.value if event.step is not None else "",
        }
        sources = tuple(dict.fromkeys(rule.split(": ", 1)[0] for rule in event.rules))
        span.set_attributes({**words, names.SOURCES: sources})
        self._decisions.add(1, {**words, names.TOOL: event.tool})

    @contextmanager
    def execution(self, session: SessionRecord, call: ToolCall, trace: str) -> Generator[_Execution]:
        began = time.perf_counter()
        told = {names.OPERATION: names.EXECUTION, **_of_call(session, call)}
        execution = _Execution(self._span(f"{names.EXECUTION} {call.tool}", trace, told))
        try:
            with _ending(execution):
                yield execution
                execution.span.set_attribute(names.ENDING, execution.ending)
        finally:
            ended = {} if execution.error is None else {names.ERROR: execution.error}
            self._tools.record(time.perf_counter() - began, {names.TOOL: call.tool, **ended})

    def _span(self, name: str, trace: str, told: Attributes) -> Span:
        return self._tracer.start_span(name, context=below(trace), attributes=told, record_exception=False)

    # ---- what is over ---------------------------------------------------------------------------

    def prompt(self, prompt: Prompt, tool: str, at: float) -> None:
        answer = prompt.answer
        words = {names.PROMPT_KIND: prompt.subject.kind, names.PROMPT_STATE: prompt.state.value}
        answered = {} if answer is None else {names.PROMPT_CHANNEL: answer.channel}
        told: dict[str, AttributeValue] = {
            **words,
            **answered,
            names.PROMPT_ID: prompt.id,
            names.CONVERSATION: prompt.session_id,
            names.AGENT: "".join(prompt.session_path[-1:]),
            names.TOOL: tool,
        }
        if prompt.calls:
            told[names.CALL] = prompt.calls[0]
        if answer is not None and answer.choice is not None:
            told[names.PROMPT_CHOICE] = answer.choice.value
        self._over(f"{names.PROMPT} {tool}", prompt.trace, told, prompt.created_at * _BILLION, at * _BILLION)
        self._prompts.record(max(0.0, at - prompt.created_at), {**words, **answered})

    def turn(self, told: TurnTold) -> None:
        until, usage = time.time_ns(), told.usage
        words: dict[str, AttributeValue] = {
            names.OPERATION: names.TURN,
            names.PROVIDER: (told.answered or told.asked).provider,
            names.MODEL_ASKED: told.asked.model,
            names.AGENT: told.agent,
        }
        if told.answered is not None:
            words[names.MODEL_ANSWERED] = told.answered.model
        failed = {names.ERROR: told.error} if told.error else {}
        self._turns.record(max(0, until - told.began) / _BILLION, {**words, **failed})
        spent = {names.TOKENS_IN: usage.input_tokens, names.TOKENS_OUT: usage.output_tokens, names.TOKENS_CACHED: usage.cached_tokens}
        if told.answered is not None:
            self._tokens.record(usage.input_tokens, {**words, names.COUNTED: "input"})
            self._tokens.record(usage.output_tokens, {**words, names.COUNTED: "output"})
            if usage.cost is not None:
                self._cost.add(usage.cost, words)
        said = {**words, **failed, **spent, names.CONVERSATION: told.session_id}
        name = f"{names.TURN} {told.asked.model}"
        self._over(name, told.trace, said, told.began, until, SpanKind.CLIENT)

    def _over(self, name: str, trace: str, told: Attributes, began: float, until: float, kind: SpanKind = SpanKind.INTERNAL) -> None:
        span = self._tracer.start_span(name, context=below(trace), kind=kind, attributes=told, start_time=int(began))
        if names.ERROR in told:
            span.set_status(StatusCode.ERROR)
        span.end(int(max(began, until)))

    # ---- numbers alone --------------------------------------------------------------------------

    def ended(self, session: SessionRecord, run: RunRecord) -> None:
        if run.state in FINAL:
            self._runs.record(max(0.0, run.updated_at - run.created_at), {names.AGENT: session.agent, names.RUN_OUTCOME: run.state.value})

    def request(self, told: RequestTold) -> None:
        method = told.http_method if told.http_method in names.HTTP_METHODS else names.OTHER
        words: dict[str, AttributeValue] = {names.HTTP_METHOD: method, names.HTTP_ROUTE: told.route}
        if told.status is not None:
            words[names.HTTP_STATUS] = told.status
        self._requests.record(told.seconds, words)
        if told.method:
            called = {names.TOOL: told.tool} if told.tool else {}
            said = {names.MCP_METHOD: told.method, names.TEAM: told.team, names.VERDICT: told.verdict}
            self._calls.add(1, {**said, **called})

    def limited(self, told: LimitTold) -> None:
        self._limits.add(1, {names.LIMIT: told.limit, names.LIMITED: told.shared_by, names.TEAM: told.team})

    def open_prompts(self, count: Callable[[], int]) -> None:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            return (Observation(count()),)

        self._meter.create_observable_gauge(names.PROMPTS_OPEN, [observe], "{prompt}", "Prompts that wait for an answer now.")


@contextmanager
def _ending(opened: _Opened) -> Generator[None]:
    """Ends the span, whatever happens. Of an error its class is told: its text may hold anything."""
    try:
        yield
    except Exception as error:
        opened.failed(type(error).__qualname__)
        raise
    finally:
        opened.span.end()


def _of_call(session: SessionRecord, call: ToolCall) -> dict[str, AttributeValue]:
    return {names.TOOL: call.tool, names.CALL: call.id, names.AGENT: session.agent, names.CONVERSATION: session.id}
