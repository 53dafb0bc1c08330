"""One story, told in every cell: the audit table is the same to the letter."""

from pathlib import Path

from mcp_server.records import AuditEvent
from tests.behaviour.stories import bounded, calls, errand, refused_in, says, team_world, write
from tests.behaviour.world import connect
from tests.protocol.connect import Cell, Person, decides, each_cell

Row = tuple[str, str, str, str, str, tuple[str, ...], str, str]

WRITER = "build › lead › writer"
LEAD = "build › lead"

GOLDEN: list[Row] = [
    ("session", "build", "", "", "", (), "", "opened"),
    ("decision", "build", "read", "allow", "mode", (), "", ""),
    ("outcome", "build", "read", "", "", (), "", "done"),
    ("decision", "build", "task", "allow", "mode", (), "", ""),
    ("run", LEAD, "", "", "", (), "", "started"),
    ("decision", LEAD, "task", "allow", "allow", ("agent lead: task * allow",), "", ""),
    ("run", WRITER, "", "", "", (), "", "started"),
    ("decision", WRITER, "read", "allow", "mode", (), "", ""),
    ("outcome", WRITER, "read", "", "", (), "", "done"),
    ("decision", WRITER, "write", "ask", "mode", (), "", ""),
    ("prompt", WRITER, "write", "", "", (), "", "opened"),
    ("prompt", WRITER, "write", "", "", (), "local", "answered: allow_session"),
    ("ruling", WRITER, "", "allow", "", ("session: edit a.txt allow",), "local", "given"),
    ("decision", WRITER, "write", "allow", "ruling", (), "local", ""),
    ("outcome", WRITER, "write", "", "", (), "", "done"),
    ("decision", WRITER, "write", "allow", "ruling", (), "local", ""),
    ("outcome", WRITER, "write", "", "", (), "", "done"),
    ("decision", WRITER, "write", "ask", "mode", (), "", ""),
    ("prompt", WRITER, "write", "", "", (), "", "opened"),
    ("prompt", WRITER, "write", "", "", (), "local", "answered: deny"),
    ("outcome", WRITER, "write", "", "", (), "", "denied by the person"),
    ("decision", WRITER, "write", "deny", "deny", ("user settings: edit secret/* deny",), "", ""),
    ("run", WRITER, "", "", "", (), "", "completed, 2 calls refused"),
    ("outcome", LEAD, "task", "", "", (), "", "done"),
    ("run", LEAD, "", "", "", (), "", "completed, 2 calls refused"),
    ("outcome", "build", "task", "", "", (), "", "done"),
]


def row(event: AuditEvent) -> Row:
    action = "" if event.action is None else event.action.name.lower()
    step = "" if event.step is None else event.step.value
    return (event.kind, " › ".join(event.session_path), event.tool, action, step, event.rules, event.ruled_by, event.outcome)


@each_cell
async def test_the_audit_of_one_story_is_the_same_in_every_cell(cell: Cell, tmp_path: Path) -> None:
    world = team_world(
        tmp_path,
        calls(("read", {"filePath": "README.md"})),
        calls(write("a.txt", "one")),
        calls(write("a.txt", "two")),
        calls(write("b.txt")),
        calls(write("secret/key")),
        says("all is well"),
        settings={"permission": {"edit": {"secret/*": "deny"}}},
    )
    person = Person(decides("allow_session"), decides("deny", "no"))
    async with connect(world, cell, person=person) as connected:
        await bounded(connected.call("read", filePath="src/a.py"))
        result = await bounded(connected.call("task", **errand("lead")))
        told = [row(event) for event in await connected.audit()]
    assert refused_in(result) == [(WRITER, "write", "denied by the person"), (WRITER, "write", "denied by rule")]
    assert sorted(path.name for path in world.workspace.iterdir()) == ["README.md", "a.txt", "src"]
    assert told == GOLDEN
