"""Whether the person's and the operator's settings let prompts be answered by a channel."""

import os

from mcp_server.errors import RemitError
from mcp_server.settings.load import load_settings
from mcp_server.settings.places import Places, find_places
from mcp_server.settings.schema import POINTERS, ChannelName


class NoChannel(RemitError):
    """Settings leave this channel out."""


def require_channel(channel: ChannelName, places: Places | None = None) -> None:
    """Go on only where the channel is among `channels`. No workspace has a say in it.

    Raises:
        NoChannel: It is not.
        ConfigError: The person's or the operator's settings cannot be read: then nobody knows.
    """
    found = places or find_places(os.environ)
    # The state folder holds no settings, so that what is read is the person's and the operator's alone.
    settings = load_settings(workspace=found.state, places=found)
    if channel not in settings.channels:
        where = settings.origins.get("channels", "settings")
        answering = ", ".join(name for name in settings.channels if name not in POINTERS)
        raise NoChannel(f"`channels` ({where}) leaves `{channel}` out; prompts are answered by: {answering}")
