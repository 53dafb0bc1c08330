"""Telemetry for `remit serve`: switched on by OpenTelemetry's own variables and by `gateway.metrics`, and loaded only then."""

from collections.abc import Mapping
from importlib.metadata import version

import structlog

from mcp_server.cli.lazy import loaded
from mcp_server.errors import ConfigError
from mcp_server.settings.origins import fault_at
from mcp_server.settings.values import Settings
from mcp_server.telemetry.ending import NOBODY, Listeners
from mcp_server.telemetry.switch import read_switch

log = structlog.get_logger(__name__)

EXTRA = "the variables of OpenTelemetry are set, and nothing is sent: install Remit with the extra `otel`"
PARTS = ("opentelemetry", "google", "requests", "prometheus_client")
"""What the extras bring."""


def telling(environment: Mapping[str, str], settings: Settings | None = None) -> Listeners:
    """Who is told. What the variables ask for and cannot be had is logged, and the server goes on without. `settings`: a gateway's.

    Raises:
        ConfigError: `gateway.metrics` is set, and what it needs is not installed.
    """
    switch = read_switch(environment)
    for fault in switch.faults:
        log.warning("telemetry", problem=fault)
    scraped = settings is not None and settings.gateway is not None and settings.gateway.metrics is not None
    if not switch.on and not scraped:
        return NOBODY
    try:
        reader, scrape = loaded("mcp_server.telemetry.scraping").scraped() if scraped else (None, None)
        readers = () if reader is None else (reader,)
        exporting = loaded("mcp_server.telemetry.exporting").exporting(switch, version("remit"), readers)
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith(PARTS):
            raise
        if settings is not None and scraped:
            raise _not_installed(settings, missing.name or "") from missing
        log.warning(EXTRA, missing=missing.name)
        return NOBODY
    except Exception as error:  # a variable that the SDK cannot read must not keep the server from starting
        log.warning("telemetry could not be started, and nothing is sent", error=type(error).__name__, problem=str(error))
        return NOBODY
    return Listeners(telemetry=exporting.recorder, flush=exporting.flush, scrape=scrape)


def lacking() -> str | None:
    """What `gateway.metrics` needs and is not installed. None: nothing."""
    try:
        for part in ("scraping", "exporting"):
            loaded(f"mcp_server.telemetry.{part}")
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith(PARTS):
            raise
        return missing.name or ""
    return None


def _not_installed(settings: Settings, missing: str) -> ConfigError:
    remedy = "install Remit with the extra `metrics`, or remove the key"
    problem = f"`gateway.metrics` needs {missing}, which is not installed"
    return ConfigError((fault_at(settings.origins, "gateway.metrics", problem, remedy),))
