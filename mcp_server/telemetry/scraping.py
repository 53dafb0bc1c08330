"""The numbers as Prometheus reads them. Needs the extra `metrics`, and is loaded for it alone."""

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from mcp_server.telemetry.base import Scrape


def scraped() -> tuple[PrometheusMetricReader, Scrape]:
    """A reader for a provider of numbers, and what reads it. In a registry of its own: nothing else's numbers come with it."""
    registry = CollectorRegistry()

    def scrape(accept: str) -> tuple[bytes, str]:
        encode, kind = choose_encoder(accept)
        return encode(registry), kind

    return PrometheusMetricReader(registry=registry), scrape
