"""Which settings a server reads at its start alone: a change of them waits for the next one, and is told of by name."""

from mcp_server.settings.gateway import Gateway
from mcp_server.settings.values import Settings

AT_START = (
    "agent",
    "channels",
    "limits",
    "providers",
    "retention",
    "rulings",
    "sandbox",
    "session_budget",
    "tools",
    "tree_budget",
    "webhook",
)
"""Those that `app.running` makes its parts from."""

AT_ONCE = frozenset({"everyone", "people", "roles", "teams"})
"""Of `gateway`, what is asked anew at each decision. Everything else there is made at the start, also what is new: better told of once too
often than believed to hold.
"""


def waiting(started: Settings, now: Settings) -> tuple[str, ...]:
    """The keys, with dots, that say something else than at the start and hold from the next one on."""
    changed = [key for key in AT_START if getattr(started, key) != getattr(now, key)]
    return (*changed, *_of_gateway(started.gateway, now.gateway))


def _of_gateway(started: Gateway | None, now: Gateway | None) -> tuple[str, ...]:
    if started is None or now is None:
        return () if started is now else ("gateway",)
    names = sorted(set(Gateway.model_fields) - AT_ONCE)
    return tuple(f"gateway.{name}" for name in names if getattr(started, name) != getattr(now, name))
