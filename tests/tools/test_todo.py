import pytest
from pydantic import ValidationError

from mcp_server.policy.values import PlainValue, Request
from mcp_server.tools.todo import TodoReadTool, TodoWriteTool
from tests.tools.lending import Lent

TODOS = [
    {"content": "find it", "status": "completed", "priority": "high"},
    {"id": "2", "content": "mend it", "status": "in_progress", "priority": "high"},
    {"content": "tell them", "status": "pending"},
]
SHOWN = "2 left of 3\n[x] find it (high)\n[>] mend it (high)\n[ ] tell them (medium)"


async def test_a_list_is_read_back_as_it_was_written(lent: Lent) -> None:
    assert await lent.text(TodoWriteTool(), todos=TODOS) == SHOWN
    assert await lent.text(TodoReadTool()) == SHOWN
    assert (await lent.call(TodoReadTool())).structured == (await lent.call(TodoWriteTool(), todos=TODOS)).structured


async def test_writing_replaces_the_list_before(lent: Lent) -> None:
    await lent.call(TodoWriteTool(), todos=TODOS)
    await lent.call(TodoWriteTool(), todos=[])
    assert await lent.text(TodoReadTool()) == "the list is empty"


async def test_each_session_has_a_list_of_its_own(lent: Lent, sibling: Lent) -> None:
    await lent.call(TodoWriteTool(), todos=TODOS)
    assert await sibling.text(TodoReadTool()) == "the list is empty"


async def test_writing_asks_and_reading_needs_ownership_only(lent: Lent) -> None:
    _, context = lent.judged(TodoWriteTool(), todos=[])
    assert context.judged == (Request(permission="todowrite", values=(PlainValue(text="*"),)),)
    _, context = lent.judged(TodoReadTool())
    assert context.judged == ()


@pytest.mark.parametrize(
    "todo", [{"content": "", "status": "pending"}, {"content": "x", "status": "done"}, {"content": "x", "status": "pending", "extra": 1}]
)
def test_an_entry_that_makes_no_sense_is_refused(todo: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TodoWriteTool.spec.arguments.model_validate({"todos": [todo]})
