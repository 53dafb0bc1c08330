"""Telling a client what whoever does the work of its call says meanwhile: log messages, in both eras."""

import anyio
import structlog
from mcp.server.session import ServerSession
from mcp_types import LoggingMessageNotification, LoggingMessageNotificationParams, RequestId

from mcp_server.protocol.asking import Visit
from mcp_server.tools.hearing import Logged

log = structlog.get_logger("protocol")


class LogTelling:
    """One request's."""

    def __init__(self, session: ServerSession, request_id: RequestId | None, visit: Visit) -> None:
        self._session = session
        self._request_id = request_id
        self._visit = visit
        self._one_at_a_time = anyio.Lock(fast_acquire=True)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._visit.front.hears(self._visit.call_id)
            await self.rest()

    async def rest(self) -> None:
        """What was said and not yet told, also what is just being told."""
        async with self._one_at_a_time:
            for one in self._visit.front.heard(self._visit.call_id):
                await tell_log(self._session, self._request_id, one)


async def tell_log(session: ServerSession, request_id: RequestId | None, logged: Logged) -> None:
    """One message, to the client of a request."""
    params = LoggingMessageNotificationParams(level=logged.level, logger=logged.logger, data=logged.said)
    try:
        await session.send_notification(LoggingMessageNotification(params=params), request_id)
    except Exception as error:  # a host that chokes on a message must not end the call
        log.info("a log message could not be told", exc_info=error)
