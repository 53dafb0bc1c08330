import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio

from tests.app.panel_user import PanelUser, RendersApps
from tests.behaviour.stories import NEAR
from tests.behaviour.world import World, connect
from tests.bounds import LONG
from tests.protocol.connect import Cell


@asynccontextmanager
async def using(world: World, cell: Cell = NEAR, *, clock: Callable[[], float] = time.time) -> AsyncGenerator[PanelUser]:
    """A client that renders apps and shows no forms."""
    with anyio.fail_after(3 * LONG):
        async with connect(world, cell, extensions=[RendersApps()], clock=clock) as connected:
            yield PanelUser(connected=connected)
