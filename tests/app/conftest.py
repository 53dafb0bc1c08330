from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from tests.app.panel_user import PanelUser, RendersApps
from tests.behaviour.stories import LONG, NEAR
from tests.behaviour.world import World, connect
from tests.protocol.connect import Cell


@asynccontextmanager
async def using(world: World, cell: Cell = NEAR) -> AsyncGenerator[PanelUser]:
    """A client that renders apps and shows no forms."""
    with anyio.fail_after(3 * LONG):
        async with connect(world, cell, extensions=[RendersApps()]) as connected:
            yield PanelUser(connected=connected)
