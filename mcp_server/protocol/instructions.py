"""What the server tells a connecting model about itself. Claude Code cuts at 2 KB."""

from collections.abc import Sequence

from mcp_server.settings.schema import ChannelName

_INSTRUCTIONS = """\
Remit lends you governed subagents, and tools that pass one gate.

Delegate with `task` when work is self-contained: a search through many files, a change in a known place, a review. Give the \
subagent everything it needs in `prompt`; it does not see this conversation. `subagent_type` names an agent; a refused name \
lists the known ones. Independent tasks may be sent in parallel, or with `background: true`.

`task` answers with an id and a state. `running` or `waiting` is not a failure: call `task_status` with that id (and \
`wait_seconds`) until the state is `completed`, `error` or `cancelled`. `task_cancel` ends it with all its subagents. To go on \
with a finished subagent, call `task` again with its `task_id`.

Some calls need a person's approval. The person {asked}; you cannot answer. A call that says it is still waiting goes \
on by itself: the same call again continues it and does not start it twice.

Four endings are different. *Denied by rule* and *denied by the person* mean no: do not look for another way to the same end; \
say what was denied and why, or do without. *Nobody could be asked* and *nobody answered in time* mean that no one has decided: \
tell the person what you need and how to allow it.

A subagent's result lists every call that was denied or not answered. Read that list before you report success.

`session_info` says who you are here, what asks, what is denied and why, and which rulings stand.
"""


def instructions(channels: Sequence[ChannelName]) -> str:
    """The text. `channels`: by which prompts may be answered, in order."""
    within = ["is asked by your host"] if {"elicitation", "url", "app"} & set(channels) else []
    walked = " or ".join(_WALKED[name] for name in channels if name in _WALKED)
    return _INSTRUCTIONS.replace("{asked}", ", or ".join([*within, *([f"answers with {walked}"] if walked else [])]))


_WALKED: dict[ChannelName, str] = {"console": "`remit console` in a browser", "terminal": "`remit approvals` in a terminal"}
