"""The person's own store, opened for one command. Not the server's: both may have it open at once."""

import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from mcp_server.principal import LOCAL
from mcp_server.redaction import secrets_of
from mcp_server.settings.places import find_places
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store

Result = TypeVar("Result")

FILE = "remit.db"
"""The store's file in the state folder."""

MYSELF = LOCAL
ME = MYSELF.key
"""Whose records these commands show and answer: those of the user of this machine."""


def with_store(work: Callable[[Store], Awaitable[Result]]) -> Result:
    """Open the store of this user's state folder, do the work, close it.

    Raises:
        StoreError: It cannot be opened, or what was to be written is not.
        ConfigError: The state folder is named wrongly.
    """

    async def opened() -> Result:
        store = open_store(find_places(os.environ).state / FILE, secrets=secrets_of(os.environ))
        try:
            return await work(store)
        finally:
            await store.close()

    return anyio.run(opened)
