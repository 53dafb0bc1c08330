"""What a prompt offers, in words that every channel shares: each answer as a deed, and a value as a person is shown it."""

from collections.abc import Mapping

from mcp_server.elicited import ElicitationSubject
from mcp_server.records import ApprovalSubject, BudgetSubject, Choice, Offer, Prompt, QuestionSubject
from mcp_server.sessions.visible import visible
from mcp_server.sessions.wants import amount
from mcp_server.sessions.wording import span_of

_ARGUMENT_CHARS = 2000
"""Of one argument: about what a form shows without scrolling out of sight. What is cut is counted."""


def shown(text: str, limit: int = _ARGUMENT_CHARS) -> str:
    """The text on one line, with nothing in it that hides; of a long one the start and the end."""
    cut = len(text) - limit
    if cut <= 0:
        return visible(text)
    return f"{visible(text[: limit * 2 // 3])} […{cut} characters not shown…] {visible(text[-(limit // 3) :])}"


def choices_of(prompt: Prompt) -> Mapping[Choice, str]:
    """What each offered answer does, as a deed: `allow it once`."""
    match prompt.subject:
        case BudgetSubject() as budget:
            extends, ends = budget_choices(budget).values()
            return {Choice.ALLOW_ONCE: lowered(extends), Choice.DENY: lowered(ends)}
        case QuestionSubject() | ElicitationSubject():
            return {}
        case ApprovalSubject():
            pass
    child = len(prompt.session_path) > 1
    return {offer.choice: _words(offer, "this subagent" if child else "this session") for offer in prompt.subject.offers}


def _words(offer: Offer, whose: str) -> str:
    rules = ", ".join(f"`{shown(rule)}`" for rule in offer.rules)
    ruled = f": {rules}" if rules else ""
    match offer.choice:
        case Choice.ALLOW_ONCE:
            return "allow it once"
        case Choice.ALLOW_SESSION:
            return f"allow it for {whose}{ruled}"
        case Choice.ALLOW_TREE:
            return f"allow it for {whose} and its subagents{ruled}"
        case Choice.DENY:
            return "deny it"
        case Choice.DENY_SESSION:
            return f"deny it for {whose}{ruled}"


def lasting(prompt: Prompt) -> str:
    """When an allow for longer than the one call ends; empty where none is offered."""
    longer = (Choice.ALLOW_SESSION, Choice.ALLOW_TREE)
    if not isinstance(prompt.subject, ApprovalSubject) or all(offer.choice not in longer for offer in prompt.subject.offers):
        return ""
    return f"An allow for longer than this call ends with the session, or {span_of(prompt.allow_seconds)} after it was given."


def lowered(title: str) -> str:
    """A title as a deed in mid-sentence."""
    return title[:1].lower() + title[1:]


def budget_choices(subject: BudgetSubject) -> dict[str, str]:
    """The two answers about a budget, and what each means."""
    return {
        Choice.ALLOW_ONCE.value: f"Extend it by {amount(subject.resource, subject.more)}",
        Choice.DENY.value: "End the run here, with what it has",
    }
