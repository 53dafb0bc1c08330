"""Logging: one JSON object a line on stderr. Standard output belongs to the protocol, and to what a command tells.

Libraries that log through the standard library come out the same way. Secrets of the environment, and what looks like one, are taken
out of every text.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from mcp_server.redaction import Redaction, secrets_of

LEVELS = ("debug", "info", "warning", "error")

NOISY = ("mcp", "uvicorn", "httpx2", "asyncio")
"""Libraries whose chatter below `warning` tells an operator nothing about Remit."""

QUIET = "mcp.client.streamable_http"
"""Writes what servers send into its lines. What goes wrong with one of them Remit tells itself, without that."""

LONGEST = 20_000
"""Characters of one text in a line: the longest trace of a fault fits."""


def log_to(stream: TextIO, level: str, environment: Mapping[str, str]) -> None:
    """Send every log line of this process to `stream`, from `level` on."""
    shared: list[Processor] = [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _Line(secrets_of(environment))],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.getLogger(QUIET).setLevel(logging.CRITICAL)


class _Line:
    """Renders one event as JSON without secrets."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._redaction = Redaction(secrets=secrets)

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> str:
        return json.dumps(self._clean(event), ensure_ascii=False)

    def _clean(self, value: object) -> object:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {str(name): self._clean(item) for name, item in cast("Mapping[object, object]", value).items()}
        if isinstance(value, list | tuple):
            return [self._clean(item) for item in cast("Sequence[object]", value)]
        return self._redaction.text(value if isinstance(value, str) else repr(value), LONGEST)
