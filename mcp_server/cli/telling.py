"""Telemetry for `remit serve`: switched on by OpenTelemetry's own variables, and loaded only then."""

from collections.abc import Mapping
from importlib.metadata import version

import structlog

from mcp_server.cli.lazy import loaded
from mcp_server.telemetry.base import SILENT, Telemetry
from mcp_server.telemetry.ending import Flush, told_nothing
from mcp_server.telemetry.switch import read_switch

log = structlog.get_logger(__name__)

EXTRA = "the variables of OpenTelemetry are set, and nothing is sent: install Remit with the extra `otel`"


def telling(environment: Mapping[str, str]) -> tuple[Telemetry, Flush]:
    """Who is told, and how it is sent when the server ends. What cannot be had is logged, and the server goes on without."""
    switch = read_switch(environment)
    for fault in switch.faults:
        log.warning("telemetry", problem=fault)
    if not switch.on:
        return SILENT, told_nothing
    try:
        exporting = loaded("mcp_server.telemetry.exporting").exporting(switch, version("remit"))
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith(("opentelemetry", "google", "requests")):
            raise
        log.warning(EXTRA, missing=missing.name)
        return SILENT, told_nothing
    except Exception as error:  # a variable that the SDK cannot read must not keep the server from starting
        log.warning("telemetry could not be started, and nothing is sent", error=type(error).__name__, problem=str(error))
        return SILENT, told_nothing
    return exporting.recorder, exporting.flush
