from dataclasses import replace

import anyio
import pytest

from mcp_server.errors import StoreError
from mcp_server.policy.values import CallId, Reach
from mcp_server.policy.verdicts import RulingId
from mcp_server.records import Prompt, PromptId, PromptState, Question, QuestionOption, QuestionSubject
from tests.bounds import LONG
from tests.store.conformance import Handles
from tests.store.samples import NASTY, PRINCIPAL, STRANGER, a_prompt, a_ruling, a_session, an_answer, an_event

ROOT = a_session()
CLOSED = [state for state in PromptState if state is not PromptState.OPEN]


async def _an_open_prompt(handles: Handles) -> Prompt:
    await handles.one.add_session(ROOT)
    prompt = a_prompt(ROOT)
    await handles.one.add_prompt(prompt, (an_event(ROOT, "opened"),))
    return prompt


async def test_a_prompt_reads_back_as_it_was_written(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    question = QuestionSubject(questions=(Question(question=NASTY, options=(QuestionOption(label="a"),), multiple=True),))
    asked = a_prompt(ROOT, "asked", subject=question, background=True, calls=(CallId("a"), CallId("b")), created_at=2.0)
    await handles.one.add_prompt(asked)
    assert await handles.two.prompt(prompt.id, PRINCIPAL) == prompt
    assert await handles.two.prompt(asked.id, PRINCIPAL) == asked
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["opened"]


async def test_a_foreign_prompt_is_as_good_as_none(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    assert await handles.two.prompt(prompt.id, STRANGER) is None
    assert await handles.two.prompts(principal=STRANGER) == ()


async def test_a_prompt_of_another_principal_than_its_session_is_refused(handles: Handles) -> None:
    await handles.one.add_session(ROOT)
    with pytest.raises(StoreError):
        await handles.one.add_prompt(a_prompt(ROOT, principal=STRANGER), (an_event(ROOT),))
    assert (await handles.two.prompts(), await handles.two.audit_log()) == ((), ())


async def test_prompts_are_found_by_any_of_their_marks_oldest_first(handles: Handles) -> None:
    child = a_session("child", parent=ROOT)
    theirs = a_session("theirs", principal=STRANGER)
    for session in (ROOT, child, theirs):
        await handles.one.add_session(session)
    for prompt in (
        a_prompt(child, "late", created_at=9.0),
        a_prompt(ROOT, "early", created_at=1.0),
        a_prompt(theirs, "foreign", created_at=2.0),
    ):
        await handles.one.add_prompt(prompt)
    await handles.one.close_prompt(PromptId("late"), PromptState.EXPIRED)

    async def ids(**wanted: object) -> list[str]:
        found = await handles.two.prompts(**wanted)  # pyright: ignore[reportArgumentType] - any subset of the keywords
        return [prompt.id for prompt in found]

    assert await ids() == ["early", "foreign", "late"]
    assert await ids(principal=PRINCIPAL) == ["early", "late"]
    assert await ids(root_id=ROOT.id) == ["early", "late"]
    assert await ids(session_id=child.id) == ["late"]
    assert await ids(state=PromptState.OPEN) == ["early", "foreign"]
    assert await ids(root_id=ROOT.id, state=PromptState.EXPIRED) == ["late"]


async def test_only_the_first_showing_sets_the_deadline(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    shown = replace(prompt, shown_at=3.0, deadline=603.0)
    assert await handles.one.mark_shown(prompt.id, at=3.0, deadline=603.0) == shown
    assert await handles.two.mark_shown(prompt.id, at=50.0, deadline=650.0) == shown
    assert await handles.two.prompt(prompt.id, PRINCIPAL) == shown


async def test_another_call_joins_an_open_prompt_once(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    joined = [await handle.join_prompt(prompt.id, "second") for handle in (handles.one, handles.two)]
    assert joined == [True, True]
    assert await handles.two.prompt(prompt.id, PRINCIPAL) == replace(prompt, calls=(CallId("call"), CallId("second")))


@pytest.mark.parametrize("state", CLOSED)
async def test_a_closed_prompt_is_not_shown_joined_or_closed_again(handles: Handles, state: PromptState) -> None:
    prompt = await _an_open_prompt(handles)
    assert await handles.one.close_prompt(prompt.id, state, reason=NASTY)
    for other in CLOSED:
        assert not await handles.two.close_prompt(
            prompt.id, other, answer=an_answer(), rulings=(a_ruling(ROOT),), events=(an_event(ROOT, "late"),)
        )
    assert not await handles.two.join_prompt(prompt.id, "second")
    assert await handles.two.mark_shown(prompt.id, at=1.0, deadline=2.0) is None
    assert await handles.one.prompt(prompt.id, PRINCIPAL) == replace(prompt, state=state, reason=NASTY)
    assert await handles.one.rulings(principal=PRINCIPAL) == ()
    assert [stored.event.outcome for stored in await handles.one.audit_log()] == ["opened"]


async def test_an_unknown_prompt_is_not_shown_joined_or_closed(handles: Handles) -> None:
    unknown = PromptId("\ud800")
    assert not await handles.one.close_prompt(unknown, PromptState.EXPIRED, events=(an_event(),))
    assert not await handles.one.join_prompt(unknown, "call")
    assert await handles.one.mark_shown(unknown, at=1.0, deadline=2.0) is None
    assert await handles.two.audit_log() == ()


async def test_an_answer_is_written_with_its_rulings_and_audit(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    answer = an_answer(words=NASTY)
    ruling = a_ruling(ROOT, reach=Reach.ONCE, prompt_id=prompt.id)
    assert await handles.one.close_prompt(
        prompt.id, PromptState.ANSWERED, answer=answer, rulings=(ruling,), events=(an_event(ROOT, "answered"),)
    )
    assert await handles.two.prompt(prompt.id, PRINCIPAL) == replace(prompt, state=PromptState.ANSWERED, answer=answer)
    assert await handles.two.rulings(principal=PRINCIPAL) == (ruling,)
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["opened", "answered"]


async def test_an_answer_whose_ruling_cannot_be_written_leaves_the_prompt_open(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    await handles.one.add_rulings((a_ruling(ROOT, "taken"),), ())
    with pytest.raises(StoreError):
        await handles.one.close_prompt(
            prompt.id,
            PromptState.ANSWERED,
            answer=an_answer(),
            rulings=(a_ruling(ROOT, "new"), a_ruling(ROOT, "taken")),
            events=(an_event(ROOT, "answered"),),
        )
    assert await handles.two.prompt(prompt.id, PRINCIPAL) == prompt
    assert [ruling.id for ruling in await handles.two.rulings(principal=PRINCIPAL)] == [RulingId("taken")]
    assert len(await handles.two.audit_log()) == 1


async def test_a_prompt_cannot_be_closed_as_open(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    with pytest.raises(ValueError, match="another state"):
        await handles.one.close_prompt(prompt.id, PromptState.OPEN)


async def test_of_many_tasks_that_close_one_prompt_exactly_one_wins(handles: Handles) -> None:
    prompt = await _an_open_prompt(handles)
    won: list[str] = []

    async def close(name: str) -> None:
        store = handles.one if int(name) % 2 else handles.two
        if await store.close_prompt(prompt.id, PromptState.ANSWERED, answer=an_answer(words=name), events=(an_event(ROOT, name),)):
            won.append(name)

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            for place in range(20):
                tasks.start_soon(close, str(place))
    closed = await handles.one.prompt(prompt.id, PRINCIPAL)
    assert closed is not None
    assert closed.answer is not None
    assert [closed.answer.words] == won
    assert [stored.event.outcome for stored in await handles.two.audit_log()] == ["opened", *won]
