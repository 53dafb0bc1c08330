"""Whether anybody listens, by OpenTelemetry's own variables. Reads them and loads nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Exporter = Literal["otlp", "console", "none"]
Signal = Literal["TRACES", "METRICS"]

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
HTTP = "http/protobuf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Where each kind goes."""

    traces: Exporter
    metrics: Exporter
    faults: tuple[str, ...] = ()
    """What of the variables was not followed, for the log."""

    @property
    def on(self) -> bool:
        """Somebody listens to either."""
        return (self.traces, self.metrics) != ("none", "none")


def read_switch(environment: Mapping[str, str]) -> Switch:
    """What the variables say. An empty one counts as not set."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Switch(traces="none", metrics="none")
    faults: list[str] = []
    traces, metrics = _exporter(environment, "TRACES", faults), _exporter(environment, "METRICS", faults)
    return Switch(traces=traces, metrics=metrics, faults=tuple(faults))


def _exporter(environment: Mapping[str, str], signal: Signal, faults: list[str]) -> Exporter:
    """An exporter that is named, or `otlp` where there is an address to send to."""
    name = f"OTEL_{signal}_EXPORTER"
    address = environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or environment.get(ENDPOINT)
    said = environment.get(name, "").strip().lower() or ("otlp" if address else "none")
    if said in ("none", "console"):
        return "none" if said == "none" else "console"
    if said != "otlp":
        faults.append(f"{name}={said[:40]} is not known here: use otlp, console or none")
        return "none"
    protocol = environment.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL") or HTTP
    if protocol.strip().lower() != HTTP:
        faults.append(f"{signal.lower()} are not sent: of the protocols {HTTP} is spoken alone, and {protocol[:40]} is set")
        return "none"
    return "otlp"
