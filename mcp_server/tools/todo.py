"""`todowrite` and `todoread`: the session's own list of things to do."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mcp_server.policy.values import PlainValue, Request
from mcp_server.records import TextPart
from mcp_server.tools.base import Hints, ToolContext, ToolResult, ToolSpec

KEY = "todos"
"""Where the list is kept in the session's state."""

MAX_TODOS = 200
"""Entries of one list; it goes back to the model whole each time."""


class Todo(BaseModel):
    """One thing to do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str | None = Field(default=None, max_length=100, description="Your own name for the entry, if you want one")
    content: str = Field(min_length=1, max_length=2000, description="What is to be done, in a few words")
    status: Literal["pending", "in_progress", "completed", "cancelled"] = Field(description="How far it is")
    priority: Literal["high", "medium", "low"] = Field(default="medium", description="How much it matters")


class TodoWriteArguments(BaseModel):
    """The whole list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    todos: tuple[Todo, ...] = Field(max_length=MAX_TODOS, description="The whole list; it replaces the one before")


class TodoReadArguments(BaseModel):
    """Nothing is needed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TodoList(BaseModel):
    """The list as it is now."""

    todos: tuple[Todo, ...]


class TodoWriteTool:
    """Replaces the session's list."""

    spec = ToolSpec(
        name="todowrite",
        title="Write the to-do list",
        description=(
            "Replaces this session's to-do list. Use it for work of three steps or more: write the steps down, keep exactly one "
            "in_progress, mark each completed as soon as it is done, cancelled when it is no longer needed. Always give the whole "
            "list. Leave it out for a single simple step."
        ),
        arguments=TodoWriteArguments,
        hints=Hints(destructive=False, idempotent=True),
        output=TodoList,
    )

    def requests(self, arguments: TodoWriteArguments, context: ToolContext) -> tuple[Request, ...]:
        """`todowrite`."""
        return (Request(permission="todowrite", values=(PlainValue(text="*"),)),)

    async def run(self, arguments: TodoWriteArguments, context: ToolContext) -> ToolResult:
        """Keep it."""
        todos = [todo.model_dump(mode="json") for todo in arguments.todos]
        await context.store.set_state(context.session_id, KEY, json.dumps(todos))
        return _shown(arguments.todos)


class TodoReadTool:
    """Shows the session's list."""

    spec = ToolSpec(
        name="todoread",
        title="Read the to-do list",
        description="Shows this session's to-do list as todowrite left it.",
        arguments=TodoReadArguments,
        hints=Hints(read_only=True, destructive=False, idempotent=True),
        output=TodoList,
    )

    def requests(self, arguments: TodoReadArguments, context: ToolContext) -> tuple[Request, ...]:
        """None: the list is the session's own."""
        return ()

    async def run(self, arguments: TodoReadArguments, context: ToolContext) -> ToolResult:
        """Show it."""
        kept = await context.store.state(context.session_id, KEY)
        return _shown(tuple(Todo(**todo) for todo in json.loads(kept)) if kept else ())


def _shown(todos: tuple[Todo, ...]) -> ToolResult:
    marks = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}
    left = sum(todo.status in ("pending", "in_progress") for todo in todos)
    lines = [f"{marks[todo.status]} {todo.content} ({todo.priority})" for todo in todos]
    text = "\n".join([f"{left} left of {len(todos)}", *lines]) if todos else "the list is empty"
    return ToolResult(parts=(TextPart(text=text),), structured=TodoList(todos=todos).model_dump(mode="json"))
