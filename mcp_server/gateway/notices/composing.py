"""The notifiers that settings ask for, put together."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcp_server.gateway.notices.announcing import Announcer
from mcp_server.gateway.notices.desktop import Desktop
from mcp_server.gateway.notices.hooking import webhook_of
from mcp_server.gateway.notices.notice import Notices, Notifier
from mcp_server.gateway.notices.on_bus import OnBus
from mcp_server.gateway.notices.popups import ByProgram, Popups, program_here
from mcp_server.sessions.deployment import Limits
from mcp_server.settings.values import Settings
from mcp_server.store.protocol import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the notifiers stand on."""

    store: Store
    environment: Mapping[str, str]
    redacted: Callable[[str], str]
    within: Limits
    console: Callable[[str], str | None]
    """Of a principal: where their prompts are shown now."""
    clock: Callable[[], float] = time.time


def announcer_of(settings: Settings, ground: Ground) -> Announcer:
    """It tells nobody where settings name nobody."""
    notifiers: list[Notifier] = []
    if "desktop" in settings.channels:
        notifiers.append(Desktop(popups_here(ground.environment)))
    if "webhook" in settings.channels and settings.webhook is not None:
        notifiers += webhook_of(settings.webhook, ground.environment, ground.clock)
    notices = Notices(redacted=ground.redacted, unshown_seconds=ground.within.unshown_seconds, console=ground.console)
    return Announcer(ground.store, notifiers, notices)


def popups_here(environment: Mapping[str, str]) -> Popups:
    """What shows notices on this machine's desktop, if anything does."""
    program = program_here()
    return OnBus(environment) if program is None else ByProgram(program=program, environment=environment)
