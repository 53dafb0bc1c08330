"""The person of one call, as another server may ask them things while it does what it was called for.

What they answer is the server's alone. What the model is told is that something was asked and came to nothing, never what was answered.
"""

from mcp_server.elicited import CANCELLED, DONE_WITH, Asked, ElicitationSubject, Replied
from mcp_server.records import Prompt, PromptState, TextPart
from mcp_server.sessions.fitting import Misfit, reply_in
from mcp_server.sessions.work import SessionContext

MOST_NOTES = 5
"""A server may ask in vain as often as it likes; whoever reads what came of it needs no more."""


class Person:
    """See `Asking`."""

    def __init__(self, context: SessionContext, server: str) -> None:
        self._context = context
        self._server = server
        self._notes: list[str] = []

    @property
    def notes(self) -> tuple[TextPart, ...]:
        """What the model is told of it."""
        return tuple(TextPart(text=note) for note in dict.fromkeys(self._notes))

    async def __call__(self, asked: Asked) -> Replied:
        subject = ElicitationSubject(server=self._server, tool=self._context.call.tool, asked=asked)
        prompt = await self._context.elicit(subject)
        if prompt is None:
            self._note("nobody may be asked in this session")
            return CANCELLED
        if prompt.state is PromptState.ANSWERED and prompt.answer is not None:
            return self._answered(asked, prompt.answer.words)
        if prompt.state is PromptState.WITHDRAWN and prompt.reason == DONE_WITH:
            return Replied(action="accept")
        self._note(_unanswered(prompt))
        return CANCELLED

    def refuse(self, why: str) -> None:
        self._note(why)

    def _answered(self, asked: Asked, words: str) -> Replied:
        try:
            reply = reply_in(asked, words)
        except Misfit:  # looked at when it was given; whoever wrote it since was no person
            self._note("what was answered does not fit what was asked")
            return CANCELLED
        if reply.action != "accept" and self._context.run is not None:
            self._note("the person would not answer" if reply.action == "decline" else "the person closed it without an answer")
        return reply

    def _note(self, why: str) -> None:
        if len(self._notes) < MOST_NOTES:
            self._notes.append(f"Note by Remit: the MCP server `{self._server}` asked the person something, which came to nothing: {why}.")


def _unanswered(prompt: Prompt) -> str:
    match prompt.state:
        case PromptState.EXPIRED:
            return f"nobody answered in time ({prompt.reason})"
        case PromptState.UNASKABLE:
            return f"nobody could be asked ({prompt.reason})"
        case PromptState.WITHDRAWN | PromptState.ANSWERED | PromptState.OPEN:
            return prompt.reason or "it was taken back"
