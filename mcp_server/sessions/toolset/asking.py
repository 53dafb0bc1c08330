"""`question`: a model asks the person something. The answer is words for the model and never a permission."""

from mcp_server.policy.values import PlainValue, Request
from mcp_server.records import Question, QuestionOption, QuestionSubject
from mcp_server.sessions.work import Asks, SessionContext
from mcp_server.tools.base import ToolSpec
from mcp_server.tools.question import QUESTION_SPEC, QuestionArgument, QuestionArguments


class AskQuestion:
    """The tool."""

    @property
    def spec(self) -> ToolSpec:
        return QUESTION_SPEC

    def requests(self, arguments: QuestionArguments, context: SessionContext) -> tuple[Request, ...]:
        """One, of the permission `question`."""
        return (Request(permission="question", values=(PlainValue(text="*"),)),)

    async def run(self, arguments: QuestionArguments, context: SessionContext) -> Asks:
        """Put it before the person."""
        return Asks(subject=QuestionSubject(questions=tuple(_question(asked) for asked in arguments.questions)))


def _question(asked: QuestionArgument) -> Question:
    options = tuple(QuestionOption(label=option.label, description=option.description) for option in asked.options)
    return Question(question=asked.question, header=asked.header, options=options, multiple=asked.multiple)
