"""What a model is told when a person has answered its question."""

import json

from mcp_server.policy.values import ToolCall
from mcp_server.records import CallEnded, Ending, Prompt, QuestionSubject, TextPart
from mcp_server.sessions.refusals import refused


def question_result(call: ToolCall, prompt: Prompt) -> CallEnded:
    """The answers, question by question. A person who dismissed the question has said no to answering, not to anything else."""
    if prompt.answer is None or not isinstance(prompt.subject, QuestionSubject):
        return refused(call, prompt.session_path, Ending.NOBODY_ANSWERED, "the question was closed without an answer")
    answers = read_answers(prompt.answer.words)
    lines = [
        f"{question.question} → {', '.join(answer) or 'no answer'}"
        for question, answer in zip(prompt.subject.questions, answers, strict=False)
    ]
    return CallEnded(
        call_id=call.id,
        tool=call.tool,
        ending=Ending.DONE,
        parts=(TextPart(text="The person answered:\n" + "\n".join(lines)),),
        structured={"answers": answers},
    )


def read_answers(words: str) -> list[list[str]]:
    """The answers as they are kept: JSON, a list a question; anything else is one answer in the person's own words."""
    try:
        value = json.loads(words)
    except ValueError:
        return [[words]]
    if not isinstance(value, list):
        return [[words]]
    rows: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON: each entry is looked at below
    return [[str(item) for item in row] if isinstance(row, list) else [str(row)] for row in rows]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - likewise
