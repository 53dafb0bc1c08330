"""`remit doctor` on what tells of prompts: does the desktop show notices, can the webhook be signed for. Shows and sends nothing."""

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import anyio

from mcp_server.cli.finding import Finding
from mcp_server.errors import ConfigError
from mcp_server.gateway.notices.composing import popups_here
from mcp_server.gateway.notices.hooking import secrets_of_hook
from mcp_server.gateway.notices.popups import NoPopups
from mcp_server.settings.schema import Webhook
from mcp_server.settings.values import Settings


def notices(settings: Settings) -> Iterator[Finding]:
    """What is to be said of the channels `desktop` and `webhook`, where they are named."""
    if "desktop" in settings.channels:
        yield anyio.run(_desktop)
    if "webhook" in settings.channels and settings.webhook is not None:
        yield _webhook(settings.webhook)


async def _desktop() -> Finding:
    popups = popups_here(os.environ)
    async with popups.at_hand():
        try:
            return Finding(about="desktop", state="ok", says=f"notices are shown by {await popups.describe()}")
        except NoPopups as error:
            problem, _, remedy = str(error).rpartition("; ")
            return Finding(about="desktop", state="note", says=f"no notices: {problem}", remedy=remedy)


def _webhook(hook: Webhook) -> Finding:
    host = urlsplit(hook.url or "").netloc
    try:
        count = len(secrets_of_hook(hook, os.environ)())
    except ConfigError as error:
        (fault,) = error.faults
        return Finding(about="webhook", state="fault", says=f"{host}: {fault.file}: {fault.problem}", remedy=fault.remedy)
    return Finding(about="webhook", state="ok", says=f"{host}, signed with {count} {'secret' if count == 1 else 'secrets'}; not called now")
