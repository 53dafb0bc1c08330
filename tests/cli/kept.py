"""A person's store with things in it, as a server would have left them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import anyio

from mcp_server.policy.values import Action, AskRef, CallId, Mode, Rule, ToolCall
from mcp_server.policy.verdicts import SessionId, Step
from mcp_server.principal import LOCAL
from mcp_server.records import (
    ApprovalSubject,
    AuditEvent,
    CallEnded,
    Choice,
    Completed,
    Ending,
    ModelTurn,
    Offer,
    Prompt,
    PromptId,
    Question,
    QuestionOption,
    QuestionSubject,
    RefusedCall,
    RunId,
    RunRecord,
    RunState,
    SessionRecord,
    Subject,
    TaskGiven,
    TextPart,
    Usage,
)
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Store
from mcp_server.store.sqlite import open_store

Result = TypeVar("Result")

ROOT = SessionId("ses_" + "a" * 32)
CHILD = SessionId("ses_" + "b" * 32)
WRITER = SessionId("ses_" + "c" * 32)
BELOW = SessionId("ses_" + "d" * 32)
CALL = CallId("call_2")
AT = 1_790_000_000.0
RULE = Rule(permission="edit", pattern="src/*", action=Action.ALLOW)
NEVER = Rule(permission="edit", pattern="src/a.py", action=Action.DENY)

APPROVAL = ApprovalSubject(
    tool="edit",
    arguments={"filePath": "src/a.py", "oldString": "one\x1b[2J", "newString": "two"},
    wants=("edit src/a.py",),
    because=("agent build: edit * ask",),
    asks=(AskRef(owner="agent build", rule="edit * ask"),),
    offers=(
        Offer(choice=Choice.ALLOW_ONCE),
        Offer(choice=Choice.ALLOW_SESSION, rules=(str(RULE),), grants=(RULE,)),
        Offer(choice=Choice.DENY),
        Offer(choice=Choice.DENY_SESSION, rules=(str(NEVER),), grants=(NEVER,)),
    ),
)

QUESTION = QuestionSubject(
    questions=(
        Question(question="Which colour?", options=(QuestionOption(label="red"), QuestionOption(label="green", description="like grass"))),
        Question(question="Why?"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The store in a state folder; each use opens it anew, as another process would."""

    folder: Path

    def use(self, work: Callable[[Store], Awaitable[Result]]) -> Result:
        """Open, work, close."""

        async def opened() -> Result:
            store = open_store(self.folder / "remit.db")
            try:
                return await work(store)
            finally:
                await store.close()

        return anyio.run(opened)

    def tree(self) -> None:
        """`build`, and below it `explore` with a finished run that was refused one call."""

        async def add(store: Store) -> None:
            await store.add_session(_session(ROOT, "build", None))
            call = ToolCall(id=CallId("call_1"), tool="read", arguments={"filePath": ".env"})
            refused = RefusedCall(
                session_path=("build", "explore"), tool="read", summary=".env", ending=Ending.DENIED_BY_PERSON, reason="the person said no"
            )
            run = RunRecord(
                id=RunId("run_1"),
                session_id=CHILD,
                root_id=ROOT,
                principal=LOCAL.key,
                workspace="/project",
                state=RunState.COMPLETED,
                usage=Usage(turns=2, tool_calls=1),
                created_at=AT,
                updated_at=AT,
                outcome=Completed(result="nothing found", refused=(refused,)),
            )
            said = ModelTurn(text="I look", calls=(call,), model="scripted", usage=Usage(turns=1))
            ended = CallEnded(
                call_id=call.id,
                tool="read",
                ending=Ending.DENIED_BY_PERSON,
                parts=(TextPart(text="no\x1b]0;title\x07"),),
                refused=(refused,),
            )
            child = _session(CHILD, "explore", ROOT)
            await store.add_child(child, run, (TaskGiven(text="look around"), said, ended), (DECISION,))

        self.use(add)

    def working(self) -> None:
        """Below `build` a second child, `writer`, whose run waits with a call that `edit * ask` stopped, and below it a queued one."""

        async def add(store: Store) -> None:
            call = ToolCall(id=CALL, tool="edit", arguments={"filePath": "src/a.py\x1b[2J"})
            turn = ModelTurn(text="", calls=(call,), model="scripted", usage=Usage(turns=1))
            await store.add_child(
                _session(WRITER, "writer", ROOT), _run(WRITER, RunState.WAITING), (TaskGiven(text="write"), turn), (ASKED,)
            )
            await store.add_child(_session(BELOW, "explore", WRITER), _run(BELOW, RunState.QUEUED), (TaskGiven(text="look"),), ())

        self.use(add)

    def end_root(self) -> None:
        """The client of `build` has gone."""
        self.use(lambda store: store.update_session(replace(_session(ROOT, "build", None), ended_at=AT)))

    def prompt(self, subject: Subject = APPROVAL, *, session: SessionId | None = None) -> Prompt:
        """An open prompt of `build › explore`, or of another session."""
        prompt = self.prompt_of(subject, session=session)
        self.use(lambda store: store.add_prompt(prompt))
        return prompt

    def prompt_of(self, subject: Subject, *, session: SessionId | None = None) -> Prompt:
        """The same, not yet in the store."""
        return Prompt(
            id=PromptId(mint("prm")),
            principal=LOCAL.key,
            root_id=ROOT,
            session_id=session or CHILD,
            session_path=("build", "explore"),
            calls=(CALL,),
            digest="d1",
            subject=subject,
            created_at=AT,
        )

    def prompt_now(self, prompt: Prompt) -> Prompt:
        """The prompt as it is kept now."""
        found = self.use(lambda store: store.prompt(prompt.id, LOCAL.key))
        assert found is not None
        return found


def _session(identity: SessionId, agent: str, parent: SessionId | None) -> SessionRecord:
    return SessionRecord(
        id=identity,
        principal=LOCAL.key,
        workspace="/project",
        agent=agent,
        root_id=ROOT,
        parent_id=parent,
        depth=0 if parent is None else 1,
        root_agent="build",
        mode=Mode.DEFAULT,
        title="" if parent is None else "look around (@explore subagent)",
        created_at=AT,
    )


def _run(session: SessionId, state: RunState) -> RunRecord:
    return RunRecord(
        id=RunId(f"run_{session[4:]}"),
        session_id=session,
        root_id=ROOT,
        principal=LOCAL.key,
        workspace="/project",
        state=state,
        usage=Usage(turns=1, input_tokens=700, output_tokens=50),
        created_at=AT,
        updated_at=AT,
    )


ASKED = AuditEvent(
    at=AT,
    kind="decision",
    principal=LOCAL.key,
    session_id=WRITER,
    session_path=("build", "writer"),
    tool="edit",
    digest="d1",
    action=Action.ASK,
    step=Step.ASK,
    rules=("agent build: edit * ask",),
    ref=CALL,
)

DECISION = AuditEvent(
    at=AT,
    kind="decision",
    principal=LOCAL.key,
    session_id=CHILD,
    session_path=("build", "explore"),
    tool="read",
    digest="d0",
    action=Action.DENY,
    step=Step.DENY,
    rules=("built-in guard: read .env* ask",),
)
