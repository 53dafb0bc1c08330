"""Who listens in a test: OpenTelemetry's SDK, with what was told kept in memory.

A process has one provider of spans, which the MCP SDK's own spans go to as well, so tests tell their spans by the trace.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mcp_server.telemetry.names import SCOPE
from mcp_server.telemetry.recorder import Recorder, place_of


class Kept(InMemorySpanExporter):
    """What was told while a test listened: the process goes on to other tests, and what they tell is nobody's."""

    listening = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return super().export(spans) if self.listening else SpanExportResult.SUCCESS


@cache
def kept() -> Kept:
    """This process's."""
    exporter, provider = Kept(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One span."""

    span: ReadableSpan

    @property
    def name(self) -> str:
        return self.span.name

    @property
    def place(self) -> str:
        """As it is stored: W3C `traceparent`."""
        context = self.span.get_span_context()
        assert context is not None
        return place_of(context)

    @property
    def id(self) -> str:
        return self.place.split("-")[2]

    @property
    def parent(self) -> str | None:
        return None if self.span.parent is None else f"{self.span.parent.span_id:016x}"

    @property
    def attributes(self) -> Mapping[str, Any]:
        return dict(self.span.attributes or {})

    def __getitem__(self, key: str) -> Any:
        return self.attributes[key]


class Listener:
    """One test's ear."""

    def __init__(self) -> None:
        kept().listening = True
        self.reader = InMemoryMetricReader()
        self.numbers = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)
        self.recorder = Recorder(trace.get_tracer(SCOPE), self.numbers.get_meter(SCOPE))
        self.trace_id = 0

    @contextmanager
    def traced(self) -> Generator[None]:
        """What a client calls inside belongs to one trace, which is the test's own."""
        with trace.get_tracer("test").start_as_current_span("the test") as span:
            self.trace_id = span.get_span_context().trace_id
            yield

    def spans(self) -> tuple[Told, ...]:
        """Those of the test's trace, in the order of their beginning."""
        found = [span for span in kept().get_finished_spans() if span.context is not None and span.context.trace_id == self.trace_id]
        return tuple(Told(span=span) for span in sorted(found, key=lambda span: span.start_time or 0))

    def ours(self) -> tuple[Told, ...]:
        """Those that Remit told."""
        return tuple(told for told in self.spans() if told.span.instrumentation_scope and told.span.instrumentation_scope.name == SCOPE)

    def named(self, name: str) -> tuple[Told, ...]:
        return tuple(told for told in self.spans() if told.name == name)

    def metrics(self) -> tuple[Metric, ...]:
        """Everything that was counted so far."""
        read = self.reader.get_metrics_data()
        resources = () if read is None else read.resource_metrics
        return tuple(metric for resource in resources for scope in resource.scope_metrics for metric in scope.metrics)

    def points(self) -> dict[str, list[tuple[Mapping[str, Any], Any]]]:
        """Each metric's points: attributes, and the sum or the value."""
        found: dict[str, list[tuple[Mapping[str, Any], Any]]] = {}
        for metric in self.metrics():
            points: Sequence[Any] = metric.data.data_points
            found[metric.name] = [(dict(point.attributes), point.sum if hasattr(point, "sum") else point.value) for point in points]
        return found
