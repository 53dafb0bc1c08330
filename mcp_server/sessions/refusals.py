"""The words in which a call that did not happen is told to the model. Four ends, never confused."""

import json

from mcp_server.policy.explain import sentence
from mcp_server.policy.values import Mode, ToolCall
from mcp_server.policy.verdicts import Step, Verdict
from mcp_server.records import CallEnded, Ending, Prompt, PromptState, RefusedCall, TextPart

SUMMARY = 200
"""Characters of a call's summary: enough to know it again, short enough for a list."""


TELLING = ("command", "filePath", "pattern", "path", "url", "query", "description")
"""Arguments by which a person knows a call again, the most telling first. A call with none of them is shown whole."""


def summary_of(call: ToolCall) -> str:
    """What the call asks for, in one line."""
    told = next((call.arguments[name] for name in TELLING if isinstance(call.arguments.get(name), str)), None)
    text = str(told) if told is not None else json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    return shortened(text)


def one_line(text: str) -> str:
    """What a model chose, where a list names it: it can begin no line of its own, nor steer what shows the list."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def shortened(text: str) -> str:
    """In one line, and no longer than a list's entry may be."""
    line = one_line(text)
    return line if len(line) <= SUMMARY else f"{line[: SUMMARY - 1]}…"


def refused(call: ToolCall, path: tuple[str, ...], ending: Ending, reason: str, advice: str = "") -> CallEnded:
    """A refusal as a result: the model reads it, and the run lists it."""
    text = f"{ending.value}: {reason}" if reason else ending.value
    listed = RefusedCall(session_path=path, tool=call.tool, summary=summary_of(call), ending=ending, reason=reason)
    told = f"{text}\n{advice}" if advice else text
    return CallEnded(call_id=call.id, tool=call.tool, ending=ending, parts=(TextPart(text=told),), refused=(listed,))


def by_rule(call: ToolCall, path: tuple[str, ...], verdict: Verdict, mode: Mode) -> CallEnded:
    """The rules denied it, or it needed a person in a session that asks nobody."""
    unaskable = verdict.step in (Step.CHANNEL, Step.DONT_ASK)
    ending = Ending.NOBODY_COULD_BE_ASKED if unaskable else Ending.DENIED_BY_RULE
    reason = sentence(verdict, mode).removeprefix("denied: ")
    return refused(call, path, ending, reason, "Nothing was done. The same call will be refused again.")


def by_prompt(call: ToolCall, path: tuple[str, ...], prompt: Prompt) -> CallEnded:
    """What became of the prompt that the call waited for, where that is not an allow."""
    match prompt.state:
        case PromptState.ANSWERED:
            words = prompt.answer.words if prompt.answer else ""
            reason = f"the person says: {words}" if words else "the person said no"
            return refused(call, path, Ending.DENIED_BY_PERSON, reason, "Nothing was done. Do not look for a way round it.")
        case PromptState.EXPIRED:
            return refused(call, path, Ending.NOBODY_ANSWERED, prompt.reason, "Nothing was done. Nobody said no: you may ask again later.")
        case PromptState.UNASKABLE:
            return refused(call, path, Ending.NOBODY_COULD_BE_ASKED, prompt.reason, "Nothing was done. Nobody said no.")
        case PromptState.WITHDRAWN | PromptState.OPEN:
            return refused(call, path, Ending.CANCELLED, prompt.reason, "Nothing was done.")


def failed(call: ToolCall, text: str) -> CallEnded:
    """The call was let through, or never came to a decision, and did not succeed."""
    return CallEnded(call_id=call.id, tool=call.tool, ending=Ending.FAILED, parts=(TextPart(text=text),))


STOPPED = (
    "interrupted, outcome unknown: the server stopped while this call ran. It may have happened, in part or whole. "
    "Look before you do it again."
)


def interrupted(call: ToolCall, text: str = STOPPED) -> CallEnded:
    """Whoever ran it is gone: this process's forerunner, or another server."""
    return CallEnded(call_id=call.id, tool=call.tool, ending=Ending.INTERRUPTED, parts=(TextPart(text=text),))


def cancelled(call: ToolCall, by: str) -> CallEnded:
    """Its client wants it no more."""
    return CallEnded(call_id=call.id, tool=call.tool, ending=Ending.CANCELLED, parts=(TextPart(text=f"cancelled by {by}"),))
