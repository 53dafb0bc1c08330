"""OpenTelemetry's SDK, set up from its own variables. Loaded only where they are set: it needs the extra `otel`, and a quarter of a second.

The provider of spans is made the process's own, because the MCP SDK's spans go there, and nothing else is made global. Where somebody
has set one already (`opentelemetry-instrument`), that is used. Nothing is written to standard output, which belongs to the protocol.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, MetricExporter, MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

from mcp_server.telemetry.names import SCOPE
from mcp_server.telemetry.recorder import Recorder
from mcp_server.telemetry.switch import Exporter, Switch

UNNAMED = "unknown_service"
"""How the SDK calls a service that nobody named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporting:
    """Somebody listens."""

    recorder: Recorder
    spans: TracerProvider | None
    """None: they are somebody else's to send."""
    numbers: MeterProvider

    def flush(self) -> None:
        """Send what there is. Blocks."""
        if self.spans is not None:
            self.spans.force_flush()
        self.numbers.force_flush()


def exporting(switch: Switch, version: str, readers: Sequence[MetricReader] = ()) -> Exporting:
    """Start sending. Threads of the SDK do it; none of them keeps the process alive. `readers`: others of the numbers."""
    resource = _resource(version)
    numbers = MeterProvider(metric_readers=[*_readers(switch.metrics), *readers], resource=resource, shutdown_on_exit=False)
    spans = _spans(switch.traces, resource)
    tracer = trace.get_tracer(SCOPE, version)
    return Exporting(recorder=Recorder(tracer, numbers.get_meter(SCOPE, version)), spans=spans, numbers=numbers)


def _resource(version: str) -> Resource:
    said = Resource.create({SERVICE_VERSION: version})
    named = str(said.attributes.get(SERVICE_NAME, UNNAMED))
    return said.merge(Resource({SERVICE_NAME: SCOPE})) if named.startswith(UNNAMED) else said


def _spans(exporter: Exporter, resource: Resource) -> TracerProvider | None:
    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return None
    sender = _span_exporter(exporter)
    if sender is None:
        return None
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(sender))
    trace.set_tracer_provider(provider)
    return provider


def _span_exporter(exporter: Exporter) -> SpanExporter | None:
    match exporter:
        case "otlp":
            return OTLPSpanExporter()
        case "console":
            return ConsoleSpanExporter(out=sys.stderr)
        case "none":
            return None


def _readers(exporter: Exporter) -> list[PeriodicExportingMetricReader]:
    sender = _metric_exporter(exporter)
    return [] if sender is None else [PeriodicExportingMetricReader(sender)]


def _metric_exporter(exporter: Exporter) -> MetricExporter | None:
    match exporter:
        case "otlp":
            return OTLPMetricExporter()
        case "console":
            return ConsoleMetricExporter(out=sys.stderr)
        case "none":
            return None
