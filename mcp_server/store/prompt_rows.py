"""The table `prompts`. A prompt leaves the state `open` once. Each function runs inside the caller's transaction."""

import sqlite3
from dataclasses import replace

from mcp_server.policy.values import CallId
from mcp_server.records import Answer, Prompt, PromptState
from mcp_server.store.codec import PROMPT
from mcp_server.store.rows import every, first

_SELECT = "SELECT id, record, root_id FROM prompts"

_COLUMNS = {"digest": "json_extract(record, '$.digest')"}
"""What has no column of its own. Asked within one session, whose prompts are few."""


def _record(row: sqlite3.Row) -> Prompt:
    return replace(PROMPT.load(row[1], row[0]), root_id=row[2])


def add(connection: sqlite3.Connection, prompt: Prompt) -> None:
    """A new one."""
    connection.execute(
        "INSERT INTO prompts (id, principal, root_id, session_id, state, created_at, record) "
        "VALUES (:id, :principal, :root, :session, :state, :created, :record)",
        {
            "id": prompt.id,
            "principal": prompt.principal,
            "root": prompt.root_id,
            "session": prompt.session_id,
            "state": prompt.state,
            "created": prompt.created_at,
            "record": PROMPT.dump(prompt),
        },
    )


def get(connection: sqlite3.Connection, prompt_id: str, principal: str) -> Prompt | None:
    """That principal's prompt."""
    row = first(connection, f"{_SELECT} WHERE id = :id AND principal = :principal", {"id": prompt_id, "principal": principal})
    return None if row is None else _record(row)


def those(
    connection: sqlite3.Connection,
    *,
    principal: str | None,
    root_id: str | None,
    session_id: str | None,
    digest: str | None,
    state: PromptState | None,
) -> tuple[Prompt, ...]:
    """Oldest first."""
    given = {"principal": principal, "root_id": root_id, "session_id": session_id, "state": state, "digest": digest}
    conditions = " AND ".join(["1", *(f"{_COLUMNS.get(name, name)} = :{name}" for name, value in given.items() if value is not None)])
    return tuple(_record(row) for row in every(connection, f"{_SELECT} WHERE {conditions} ORDER BY created_at, rowid", given))


def join(connection: sqlite3.Connection, prompt_id: str, call_id: str) -> bool:
    """One more call waits for it."""
    prompt = _open(connection, prompt_id)
    if prompt is None:
        return False
    if call_id not in prompt.calls:
        _write(connection, replace(prompt, calls=(*prompt.calls, CallId(call_id))))
    return True


def mark_shown(connection: sqlite3.Connection, prompt_id: str, at: float, deadline: float) -> Prompt | None:
    """The first showing counts."""
    prompt = _open(connection, prompt_id)
    if prompt is None or prompt.shown_at is not None:
        return prompt
    shown = replace(prompt, shown_at=at, deadline=deadline)
    _write(connection, shown)
    return shown


def close(connection: sqlite3.Connection, prompt_id: str, state: PromptState, answer: Answer | None, reason: str) -> bool:
    """False: it was not open."""
    prompt = _open(connection, prompt_id)
    if prompt is None:
        return False
    _write(connection, replace(prompt, state=state, answer=answer, reason=reason))
    return True


def forget_words(connection: sqlite3.Connection, prompt_id: str) -> None:
    """Of its answer."""
    row = first(connection, f"{_SELECT} WHERE id = :id", {"id": prompt_id})
    prompt = None if row is None else _record(row)
    if prompt is not None and prompt.answer is not None and prompt.answer.words:
        _write(connection, replace(prompt, answer=replace(prompt.answer, words="")))


def _open(connection: sqlite3.Connection, prompt_id: str) -> Prompt | None:
    row = first(connection, f"{_SELECT} WHERE id = :id AND state = :state", {"id": prompt_id, "state": PromptState.OPEN})
    return None if row is None else _record(row)


def _write(connection: sqlite3.Connection, prompt: Prompt) -> None:
    connection.execute(
        "UPDATE prompts SET state = :state, record = :record WHERE id = :id",
        {"id": prompt.id, "state": prompt.state, "record": PROMPT.dump(prompt)},
    )
