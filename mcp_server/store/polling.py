"""Looking into the store again and again for what other processes did."""

from collections.abc import Awaitable, Callable
from typing import NoReturn

import anyio
import structlog

from mcp_server.errors import StoreError

log = structlog.get_logger(__name__)


async def poll(look: Callable[[], Awaitable[None]], *, every: float) -> NoReturn:
    """Until cancelled. A store that cannot be read is logged and looked at again. `every`: seconds before each look."""
    while True:
        await anyio.sleep(every)
        try:
            await look()
        except StoreError as error:
            log.error("the store cannot be read", error=str(error))
