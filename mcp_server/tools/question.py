"""How `question` presents itself. What it does needs prompts, so that is the sessions room's."""

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.tools.base import Hints, ToolSpec

MAX_QUESTIONS = 4
"""Questions of one call; a form longer than that is not read."""

MAX_OPTIONS = 10
"""Answers offered to one question."""


class OptionArgument(BaseModel):
    """One answer to choose from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str = Field(min_length=1, max_length=100, description="The answer in one to five words; what you get back")
    description: str = Field(default="", max_length=500, description="What choosing it means")


class QuestionArgument(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1, max_length=2000, description="The whole question")
    header: str = Field(default="", max_length=60, description="A very short title")
    options: tuple[OptionArgument, ...] = Field(
        default=(), max_length=MAX_OPTIONS, description="The answers to choose from; the person may also answer in their own words"
    )
    multiple: bool = Field(default=False, description="May more than one be chosen?")


class QuestionArguments(BaseModel):
    """What to ask."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: tuple[QuestionArgument, ...] = Field(min_length=1, max_length=MAX_QUESTIONS, description="The questions, shown together")


QUESTION_SPEC = ToolSpec(
    waits=True,
    name="question",
    title="Ask the person",
    description=(
        "Asks the person who started this work one to four questions and waits for the answers. Use it when the work cannot go "
        "on well without a decision that only they can make: a choice between designs, a missing requirement, a preference. "
        "Offer short options where you can; put the one you would take first. Do not ask what you can find out yourself, and "
        "never ask here for permission to use a tool: that is asked for you when the rules want it, and an answer here does not"
        " grant it."
    ),
    arguments=QuestionArguments,
    hints=Hints(read_only=True, destructive=False),
)
