"""Where a gateway is looked after from: an address for whoever watches it. Part of the setting `gateway`."""

import re
from typing import Annotated

from pydantic import AfterValidator

from mcp_server.settings.blocks import Block, key
from mcp_server.settings.loopback import numbers_of

_PLACE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[0-9.]+|localhost):(?P<port>[0-9]{1,5})")


def _place(text: str) -> str:
    found = _PLACE.fullmatch(text)
    if found is None or numbers_of(found["host"]) is None or int(found["port"]) > 65535:
        raise ValueError("is not an address to listen on; write 127.0.0.1:9464")
    return text


class Metrics(Block):
    """Where the gateway tells how it does. Not at its own address: that one is for callers."""

    listen: Annotated[str, AfterValidator(_place)] = key(
        "127.0.0.1:9464", "Where `/metrics` and the details of `/readyz` are served, to whoever reaches it.", example="127.0.0.1:9464"
    )

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.listen.rpartition(":")
        return host, int(port)
