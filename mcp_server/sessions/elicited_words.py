"""What another server asks, in words that every channel shares. Its own words stand behind a mark on each line, so that none of them can
pass for one of Remit's, or for an approval.
"""

from mcp_server.elicited import (
    AnyField,
    BooleanField,
    ChoiceField,
    ChoicesField,
    ElicitationSubject,
    FormAsked,
    LinkAsked,
    NumberField,
    TextField,
)
from mcp_server.records import Prompt
from mcp_server.sessions.fitting import FORMATS, bounds
from mcp_server.sessions.offered import shown

MARK = "  │ "
"""Before each line of a server's own words."""

MOST_LINES = 40
"""Lines of a message: about what a form shows without scrolling out of sight."""


def head(prompt: Prompt, subject: ElicitationSubject) -> str:
    """Who asks, and for whom: the first line everywhere."""
    wants = "wants you to open a link" if isinstance(subject.asked, LinkAsked) else "asks you"
    path = " › ".join(shown(agent, 80) for agent in prompt.session_path)
    return f"The MCP server `{shown(subject.server, 80)}` {wants}, while {path} uses {shown(subject.tool, 80)}:"


def own_words(subject: ElicitationSubject) -> list[str]:
    """What the server says, line by line, each with nothing in it that hides."""
    lines = subject.asked.message.splitlines()
    left = len(lines) - MOST_LINES
    return [*(shown(line) for line in lines[:MOST_LINES]), *([f"[… {left} lines not shown …]"] if left > 0 else [])]


def caution(subject: ElicitationSubject) -> str:
    """What an answer does and does not do."""
    server = shown(subject.server, 80)
    if isinstance(subject.asked, LinkAsked):
        return f"These are the words of `{server}`, and its link, which only you open. Opening it permits nothing in Remit."
    return f"These are the words of `{server}`. What you enter goes to it alone, and permits nothing in Remit."


def message_lines(prompt: Prompt, subject: ElicitationSubject) -> list[str]:
    """The whole, as a text."""
    lines = [head(prompt, subject), *(f"{MARK}{line}" for line in own_words(subject))]
    if isinstance(subject.asked, LinkAsked):
        lines += [f"It leads to {subject.asked.host}:", f"{MARK}{shown(subject.asked.url)}"]
    return [*lines, caution(subject)]


def about(field: AnyField) -> str:
    """What a field takes, in a few words; empty: any text."""
    match field:
        case TextField():
            form = FORMATS[field.format] if field.format is not None else ""
            most = "" if field.most is None else f"at most {field.most} characters"
            least = f"at least {field.least} characters" if field.least else ""
            return ", ".join(part for part in (form, least, most) if part)
        case NumberField():
            return f"a {'whole ' if field.whole else ''}number{bounds(field)}"
        case BooleanField():
            return "yes or no"
        case ChoiceField():
            return "one of these"
        case ChoicesField():
            most = len(field.options) if field.most is None else min(field.most, len(field.options))
            return f"{field.least} to {most} of these"


def fields_of(subject: ElicitationSubject) -> tuple[AnyField, ...]:
    """Of a form; a link has none."""
    return subject.asked.fields if isinstance(subject.asked, FormAsked) else ()


ACTIONS = {"accept": "send it", "decline": "refuse to answer", "cancel": "close it without an answer"}
"""What each answer to a form does, as a deed."""

LINK_ACTIONS = {"accept": "say that you opened it", "decline": "refuse to open it", "cancel": "close it without an answer"}
"""Likewise, to a link."""


def deeds(subject: ElicitationSubject) -> dict[str, str]:
    """Each answer as a deed."""
    return dict(LINK_ACTIONS if isinstance(subject.asked, LinkAsked) else ACTIONS)
