"""What another server asks of a person while a call of it is under way, through Remit, in every pairing of eras."""

import json
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import pytest
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitCompleteNotification,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    ListRootsRequest,
)

from mcp_server.elicited import DONE_WITH, Asked, ElicitationSubject, FormAsked, LinkAsked, NumberField, Replied
from mcp_server.principal import LOCAL
from mcp_server.protocol.elicited_forms import schema_of
from mcp_server.protocol.timing import Timing
from mcp_server.protocol.upstream.attending import HOUR, MOST_A_CALL, MOST_AN_HOUR, MOST_OPEN, Attending
from mcp_server.protocol.upstream.elicitations import asked_in
from mcp_server.protocol.upstream.rounds import MOST_ROUNDS
from mcp_server.protocol.upstream.underway import Underway
from mcp_server.records import PromptId, PromptState
from mcp_server.sessions.answers import close_with
from mcp_server.sessions.fitting import MOST_TYPED, kept
from mcp_server.store.console_address import console_open
from mcp_server.store.ids import mint
from mcp_server.tools.whose import Whose
from tests.behaviour.stories import (
    NEAR,
    PATH,
    agent,
    at_rest,
    bounded,
    calls,
    closed_prompt,
    each_era,
    errand,
    leaving_soon,
    says,
    team_world,
    typed,
    until,
    until_cancelled,
    until_ended,
    until_told,
)
from tests.behaviour.world import connect, make_world, text_of
from tests.bounds import LONG
from tests.protocol.connect import ERAS, Cell, Era, Person, accepts, closes, declines
from tests.upstream.scripted import NAME, Context, Scripted, asks, elicited, opener, told

SETTINGS: dict[str, Any] = {"mcpServers": {"play": {"command": "unused"}}, "permission": {"play__*": "allow"}}

SLOWLY = Timing(reflex=0.0)
"""A person who acts at once is taken for one."""

each_upstream = pytest.mark.parametrize("theirs", ERAS)


@each_era
@each_upstream
@pytest.mark.parametrize(
    ("act", "said"),
    [
        (accepts(decision="Ada"), "accept {'decision': 'Ada'}"),
        (declines, "decline None"),
        (closes, "cancel None"),
    ],
    ids=["accept", "decline", "cancel"],
)
async def test_a_servers_form_is_shown_as_the_servers_and_the_answer_goes_to_it(
    cell: Cell, theirs: Era, act: Any, said: str, tmp_path: Path
) -> None:
    world, play, person = make_world(tmp_path, settings=SETTINGS), Scripted(), Person(act)
    play.does["ask"] = asks(NAME)
    async with connect(world, cell, person=person, timing=SLOWLY, opener=opener({"play": play}, theirs)) as connected:
        result = await bounded(connected.call("play__ask"))
    assert text_of(result) == said
    (form,) = person.forms
    assert form.message.splitlines() == [
        "The MCP server `play` asks you, while build uses play__ask:",
        "  │ Your name?",
        "  │ Allow once: send it",
        "These are the words of `play`. What you enter goes to it alone, and permits nothing in Remit.",
    ]
    assert form.requested_schema == NAME.requested_schema


@each_era
@pytest.mark.parametrize(("second", "said"), [("Ada", "accept {'decision': 'Ada'}"), ("B", "cancel None")])
async def test_what_does_not_fit_a_servers_form_is_asked_once_more_with_what_was_wrong(
    cell: Cell, second: str, said: str, tmp_path: Path
) -> None:
    world, play, person = make_world(tmp_path, settings=SETTINGS), Scripted(), Person(accepts(decision="A"), accepts(decision=second))
    play.does["ask"] = asks(NAME)
    async with connect(world, cell, person=person, timing=SLOWLY, opener=opener({"play": play})) as connected:
        result = text_of(await bounded(connected.call("play__ask")))
    assert result.splitlines()[-1] == said
    first, again = (form.message for form in person.forms)
    assert again == f"{first}\nWhat you entered does not fit, and was not sent:\n  │ decision: 2 to {MOST_TYPED} characters"


@each_upstream
async def test_what_a_server_asks_on_a_subagents_call_reaches_the_same_person_with_the_path_and_leaves_nothing_behind(
    theirs: Era, tmp_path: Path
) -> None:
    world = team_world(tmp_path, calls(("play__ask", {})), says("{{results[0].text}}"), settings=SETTINGS)
    play, person = Scripted(), Person(accepts(decision="hunter2-secret"))
    play.does["ask"] = asks(NAME)
    async with connect(world, NEAR, person=person, opener=opener({"play": play}, theirs)) as connected:
        result = await bounded(connected.call("task", **errand("lead")))
        (prompt,) = await connected.store.prompts(state=PromptState.ANSWERED)
        audit = await connected.audit()
        rulings = await connected.store.rulings(principal=LOCAL.key)
    assert "accept {'decision': 'hunter2-secret'}" in text_of(result)
    assert person.forms[0].message.startswith(f"The MCP server `play` asks you, while {PATH} uses play__ask:")
    assert prompt.answer is not None
    assert (prompt.answer.choice, prompt.answer.words) == (None, "")
    assert rulings == ()
    assert "hunter2" not in repr(audit)
    assert [event.outcome for event in audit if event.kind == "prompt"] == ["opened", "answered: accept"]


@each_era
@each_upstream
async def test_where_no_form_can_be_shown_the_call_waits_and_goes_on_when_it_is_answered_elsewhere(
    cell: Cell, theirs: Era, tmp_path: Path
) -> None:
    world, play = make_world(tmp_path, settings=SETTINGS), Scripted()
    play.does["ask"] = asks(NAME)
    timing = Timing(patience=2 * LONG)
    async with connect(world, cell, timing=timing, opener=opener({"play": play}, theirs)) as connected:
        with leaving_soon(timing):
            waits = text_of(await until_told(connected, "play__ask"))
        (prompt,) = await connected.open_prompts()
        refused = await close_with(connected.store, prompt, typed(None, words=kept(Replied(action="accept", content={"decision": "A"}))))
        taken = await close_with(connected.store, prompt, typed(None, words=kept(Replied(action="accept", content={"decision": "Ada"}))))
        said = text_of(await bounded(connected.call("play__ask")))
    assert "`play__ask` is under way, and waits for what its server asks a person" in waits
    assert "the MCP server `play` asks: Your name?" in waits
    assert (refused, taken) == (False, True)
    assert said == "accept {'decision': 'Ada'}"
    assert len(play.calls) == (1 if theirs == "2025-11-25" else 2)


@each_era
@each_upstream
@pytest.mark.parametrize("channels", [["elicitation"], ["url", "elicitation", "console"]], ids=["forms", "links to the console"])
async def test_a_link_goes_as_a_link_to_a_client_that_opens_them(channels: list[str], cell: Cell, theirs: Era, tmp_path: Path) -> None:
    seen: list[ElicitRequestURLParams] = []

    async def opens(_: object, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        seen.append(params)
        return ElicitResult(action="accept")

    world, play = make_world(tmp_path, settings={**SETTINGS, "channels": channels}), Scripted()
    play.does["ask"] = asks(ElicitRequestURLParams(message="Sign in", url="https://exämple.org/go", elicitation_id="one"))
    served = connect(world, cell, person=cast(Person, opens), opener=opener({"play": play}, theirs))
    async with served as connected:
        with console_open(world.places.state, "http://127.0.0.1:40213"):
            result = await bounded(connected.call("play__ask"))
    assert text_of(result) == "accept None"
    (link,) = seen
    assert link.url == "https://xn--exmple-cua.org/go"
    assert "wants you to open a link" in link.message
    assert "It leads to xn--exmple-cua.org:" in link.message


class Opens(Person):
    """Agrees to open every link, or does what it is told to, and hears which are done with."""

    def __init__(self, action: Literal["accept", "decline"] = "accept") -> None:
        super().__init__()
        self.action: Literal["accept", "decline"] = action
        self.links: list[ElicitRequestURLParams] = []
        self.done: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        self.links.append(params)
        return ElicitResult(action=self.action)

    async def heard(self, message: object) -> None:
        if isinstance(message, ElicitCompleteNotification):
            self.done.append(message.params.elicitation_id)

    async def until_done(self, *ids: str | None) -> None:
        async def told_of() -> bool:
            return self.done == list(ids)

        await until(told_of)


SIGN_IN = ElicitRequestURLParams(message="Sign in", url="https://example.org/go", elicitation_id="one")


async def finishes(ctx: Context, arguments: Any) -> CallToolResult:
    """A tool: says that a link is done with."""
    await ctx.session.send_elicit_complete(arguments["text"])
    return told("finished")


async def test_a_client_is_told_when_the_link_that_it_was_given_is_done_with_and_of_no_other(tmp_path: Path) -> None:
    world, play, person = make_world(tmp_path, settings=SETTINGS), Scripted(), Opens()
    play.does = {"ask": asks(SIGN_IN), "finish": finishes}
    servers = opener({"play": play}, "2025-11-25")
    async with connect(world, NEAR, person=person, heard=person.heard, opener=servers) as connected:
        for _ in range(2):
            assert text_of(await bounded(connected.call("play__ask"))) == "accept None"
            for own in ("another", "one", "one"):
                await bounded(connected.call("play__finish", text=own))
        await person.until_done(*[link.elicitation_id for link in person.links])
        prompts = {prompt.id for prompt in await connected.store.prompts()}
    assert set(person.done) == prompts


@each_era
async def test_a_link_that_is_done_with_is_asked_about_no_more_wherever_it_is_shown(cell: Cell, tmp_path: Path) -> None:
    world, play, asked_for = make_world(tmp_path, settings=SETTINGS), Scripted(), anyio.Event()

    async def does(ctx: Context, _: object) -> CallToolResult:
        async def finish() -> None:
            await asked_for.wait()
            await ctx.session.send_elicit_complete("one")

        replies = list[ElicitResult]()
        async with anyio.create_task_group() as group:
            group.start_soon(finish)
            replies.append(await elicited(ctx, SIGN_IN))
        return told(replies[0].action)

    async def sees() -> None:
        (prompt,) = await connected.open_prompts()
        assert "example.org" in repr(prompt.subject)
        asked_for.set()

    play.does["ask"] = does
    timing = Timing(patience=2 * LONG)
    async with connect(world, cell, timing=timing, opener=opener({"play": play}, "2025-11-25")) as connected:
        async with anyio.create_task_group() as group:
            group.start_soon(sees)
            assert text_of(await bounded(connected.call("play__ask"))) == "accept"
        closed = await connected.store.prompts()
    assert [(prompt.state, prompt.reason) for prompt in closed] == [(PromptState.WITHDRAWN, DONE_WITH)]


@each_era
@each_upstream
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_call_that_first_wants_links_opened_is_not_made_again_by_itself_and_the_person_is_given_them(
    cell: Cell, theirs: Era, action: Literal["accept", "decline"], tmp_path: Path
) -> None:
    world, play, person, signed = make_world(tmp_path, settings=SETTINGS), Scripted(), Opens(action), list[str]()

    async def wants(ctx: Context, arguments: Any) -> CallToolResult:
        if not signed:
            raise UrlElicitationRequiredError([SIGN_IN, SIGN_IN.model_copy(update={"elicitation_id": "two"})])
        return told("signed in")

    play.does = {"ask": wants, "finish": finishes}
    hears = person.heard if cell.era == "2025-11-25" else None
    async with connect(world, cell, person=person, heard=hears, opener=opener({"play": play}, theirs)) as connected:
        first = await bounded(connected.call("play__ask"))
        assert (first.is_error, len(play.calls)) == (True, 1)
        assert "`play` first wants the person to open a link. " in text_of(first)
        assert ("make the same call again" in text_of(first)) == (action == "accept")
        assert [link.url for link in person.links] == [SIGN_IN.url, SIGN_IN.url]
        signed.append("yes")
        if (cell.era, theirs) == ("2025-11-25", "2025-11-25"):
            await bounded(connected.call("play__finish", text="two"))
            await person.until_done(person.links[1].elicitation_id)
        assert text_of(await bounded(connected.call("play__ask"))) == "signed in"


HOSTILE: dict[str, dict[str, Any]] = {
    "nested": {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
    "huge": {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 70_000}}},
    "many": {"type": "object", "properties": {f"f{place}": {"type": "string"} for place in range(31)}},
    "hiding": {"type": "object", "properties": {"a\u202e": {"type": "string"}}},
}


@each_upstream
@pytest.mark.parametrize("kind", [*HOSTILE, "javascript:alert(1)", "data:text/html,x", "https://you@example.org/", "http://[::1"])
async def test_what_no_person_should_be_shown_is_cancelled_and_the_reader_is_told(theirs: Era, kind: str, tmp_path: Path) -> None:
    world, play, person = make_world(tmp_path, settings=SETTINGS), Scripted(), Person(accepts(a="x"))
    form = ElicitRequestFormParams(message="m", requested_schema=HOSTILE[kind]) if kind in HOSTILE else None
    play.does["ask"] = asks(form or ElicitRequestURLParams(message="m", url=kind, elicitation_id="one"))
    async with connect(world, NEAR, person=person, opener=opener({"play": play}, theirs)) as connected:
        result = text_of(await bounded(connected.call("play__ask")))
    assert "Note by Remit: the MCP server `play` asked the person something, which came to nothing: " in result
    assert result.endswith("cancel None")
    assert person.forms == []


@each_upstream
async def test_a_server_that_asks_again_and_again_is_stopped(theirs: Era, tmp_path: Path) -> None:
    world, play, person = make_world(tmp_path, settings=SETTINGS), Scripted(), Person(accepts(decision="Ada"))

    async def asks_on(ctx: Context, _: object) -> CallToolResult | InputRequiredResult:
        if ctx.protocol_version != "2025-11-25":
            return InputRequiredResult(input_requests={"0": ElicitRequest(params=NAME)}, request_state="more")
        return told("|".join([(await elicited(ctx, NAME)).action for _ in range(MOST_A_CALL + 1)]))

    play.does["ask"] = asks_on
    async with connect(world, NEAR, person=person, opener=opener({"play": play}, theirs)) as connected:
        result = text_of(await bounded(connected.call("play__ask")))
    if theirs == "2025-11-25":
        assert result.endswith("|".join(["accept"] * MOST_A_CALL + ["cancel"]))
        assert f"it asked more than {MOST_A_CALL} times in one call" in result
    else:
        assert f"`play` asked for input {MOST_ROUNDS} times and wanted more; it was not called again" in result
        assert len(play.calls) == MOST_ROUNDS + 1


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (CreateMessageRequest(params=CreateMessageRequestParams(messages=[], max_tokens=1)), "(sampling); Remit lends no server any"),
        (ListRootsRequest(), "(roots); Remit tells no server"),
    ],
    ids=["sampling", "roots"],
)
async def test_what_a_server_wants_of_its_client_beside_questions_is_refused_in_words(wanted: Any, said: str, tmp_path: Path) -> None:
    world, play, person = make_world(tmp_path, settings=SETTINGS), Scripted(), Person(accepts(decision="Ada"))

    async def wants(*_: object) -> InputRequiredResult:
        return InputRequiredResult(input_requests={"0": wanted, "1": ElicitRequest(params=NAME)}, request_state="more")

    play.does["ask"] = wants
    async with connect(world, NEAR, person=person, opener=opener({"play": play})) as connected:
        result = await bounded(connected.call("play__ask"))
    assert (result.is_error, person.forms, len(play.calls)) == (True, [], 1)
    assert said in text_of(result)


@each_upstream
async def test_in_a_session_that_asks_nobody_the_server_is_told_so_at_once(theirs: Era, tmp_path: Path) -> None:
    script = {"quiet": [calls(("play__ask", {})), says("{{results[0].text}}")]}
    settings = {**SETTINGS, "mcpServers": {"play": {"command": "unused"}}}
    world = make_world(tmp_path, script=script, settings=settings, agents={"quiet": agent("prompts: deny")})
    play, person = Scripted(), Person(accepts(decision="Ada"))
    play.does["ask"] = asks(NAME)
    async with connect(world, NEAR, person=person, opener=opener({"play": play}, theirs)) as connected:
        result = text_of(await bounded(connected.call("task", **errand("quiet"))))
    assert "nobody may be asked in this session" in result
    assert "cancel None" in result
    assert person.forms == []


@each_upstream
async def test_a_question_ends_with_its_run(theirs: Era, tmp_path: Path) -> None:
    world = make_world(tmp_path, script={"general": [calls(("play__ask", {})), says("never")]}, settings=SETTINGS)
    play = Scripted()
    play.does["ask"] = asks(NAME)
    async with connect(world, NEAR, opener=opener({"play": play}, theirs)) as connected:
        started = await bounded(connected.call("task", **errand("general"), background=True))
        (prompt,) = await connected.open_prompts()
        await at_rest(connected, prompt.session_id)
        waiting = await connected.store.latest_run(prompt.session_id)
        await bounded(until_cancelled(connected, prompt.session_id))
        await bounded(closed_prompt(connected.store, PromptState.WITHDRAWN))
    assert not started.is_error
    assert waiting is not None
    assert waiting.reason == "waits for what another MCP server asks a person"


@each_upstream
async def test_after_a_restart_a_question_is_over_and_its_call_is_interrupted_and_not_made_again(theirs: Era, tmp_path: Path) -> None:
    script = {"general": [calls(("play__ask", {})), says("{{results[0].text}}")]}
    world, play = make_world(tmp_path, script=script, settings=SETTINGS), Scripted()
    play.does["ask"] = asks(NAME)
    async with connect(world, NEAR, opener=opener({"play": play}, theirs)) as connected:
        await bounded(connected.call("task", **errand("general"), background=True))
        (prompt,) = await connected.open_prompts()
        await at_rest(connected, prompt.session_id)
    store = world.store()
    left = replace(prompt, id=PromptId(mint("prm")))
    await store.add_prompt(left)  # as a server leaves it that is killed
    await store.close()
    async with connect(world, NEAR, opener=opener({"play": play}, theirs)) as connected:
        ended = text_of(await bounded(until_ended(connected, prompt.session_id)))
        closed = [await connected.store.prompt(one, LOCAL.key) for one in (prompt.id, left.id)]
    assert "interrupted, outcome unknown" in ended
    assert [one and one.state for one in closed] == [PromptState.WITHDRAWN] * 2
    assert closed[1] is not None
    assert closed[1].reason == "the server stopped while the call ran for which it was asked"
    assert len(play.calls) == 1


@each_upstream
async def test_a_question_that_nobody_is_shown_lapses_and_its_server_is_told_that_it_was_cancelled(theirs: Era, tmp_path: Path) -> None:
    ahead = [0.0]
    world = make_world(tmp_path, script={"general": [calls(("play__ask", {})), says("{{results[0].text}}")]}, settings=SETTINGS)
    play = Scripted()
    play.does["ask"] = asks(NAME)
    clock, way = (lambda: time.time() + ahead[0]), opener({"play": play}, theirs)
    async with connect(world, NEAR, opener=way, clock=clock, limits=lambda limits: replace(limits, foreign_seconds=60.0)) as connected:
        await bounded(connected.call("task", **errand("general"), background=True))
        (prompt,) = await connected.open_prompts()
        await at_rest(connected, prompt.session_id)
        ahead[0] = 61.0
        await bounded(closed_prompt(connected.store, PromptState.EXPIRED))
        ended = text_of(await bounded(until_ended(connected, prompt.session_id)))
    assert "cancel None" in ended
    assert "came to nothing: nobody answered in time (no client ever showed the question to a person" in ended


async def test_at_a_shared_server_a_question_of_nobody_knows_whom_is_put_before_nobody() -> None:
    """Up to 2025-11-25, where it comes as a request of the connection."""
    attending, put, refused = Attending("play"), list[str](), list[str]()

    class Somebody:
        def __init__(self, name: str) -> None:
            self.name = name

        async def __call__(self, asked: Asked) -> Replied:
            put.append(self.name)
            return Replied(action="decline")

        def refuse(self, why: str) -> None:
            refused.append(self.name)

    def whose(name: str) -> Whose:
        return Whose(principal=name, workspace="/w", root=f"ses_{name}")

    context = cast(ClientRequestContext, None)
    assert isinstance(await attending.heard(context, NAME), ErrorData)
    with attending.calls.begun(whose("ann"), Somebody("ann"), 60.0), attending.calls.begun(whose("ann"), Somebody("later"), 60.0):
        assert await attending.heard(context, NAME) == ElicitResult(action="decline")
        with attending.calls.begun(whose("bob"), Somebody("bob"), 60.0):
            assert await attending.heard(context, NAME) == ElicitResult(action="cancel")
    assert put == ["ann"]
    assert refused == ["ann", "later", "bob"]


async def test_a_server_has_eight_questions_open_at_once_and_asks_a_hundred_times_an_hour() -> None:
    now, attending, refused, go = 0.0, Attending("play", steady=lambda: now), list[str](), anyio.Event()
    question, shown, all_shown = ElicitRequest(params=NAME), list[Asked](), anyio.Event()

    class Somebody:
        async def __call__(self, asked: Asked) -> Replied:
            shown.append(asked)
            if len(shown) == MOST_OPEN:
                all_shown.set()
            await go.wait()
            return Replied(action="decline")

        def refuse(self, why: str) -> None:
            refused.append(why)

    def call() -> AbstractContextManager[Underway]:
        return attending.calls.begun(Whose(principal="ann", workspace="/w"), Somebody(), 60.0)

    with call() as one, call() as other:
        async with anyio.create_task_group() as group:
            for place in range(MOST_OPEN):
                group.start_soon(attending.answer, (one, other)[place % 2], question)
            await bounded(all_shown.wait())
            assert (await bounded(attending.answer(other, question))).action == "cancel"
            go.set()
    while len(shown) < MOST_AN_HOUR:
        with call() as each:
            assert (await attending.answer(each, question)).action == "decline"
    with call() as last:
        assert (await attending.answer(last, question)).action == "cancel"
        now = HOUR
        assert (await attending.answer(last, question)).action == "decline"
    assert refused == ["8 questions of this server wait for an answer already", "it asked 100 times within an hour"]


async def test_the_time_of_a_call_stands_still_while_a_person_is_asked() -> None:
    attending, deadlines = Attending("play"), list[float]()

    class Somebody:
        async def __call__(self, asked: Asked) -> Replied:
            deadlines.append(call.scope.deadline)
            return Replied(action="decline")

        def refuse(self, why: str) -> None:
            raise AssertionError(why)

    with attending.calls.begun(Whose(principal="ann", workspace="/w"), Somebody(), 60.0) as call:
        await attending.answer(call, ElicitRequest(params=NAME))
        assert deadlines == [inf]
        assert call.scope.deadline < inf


async def test_a_link_is_known_by_another_name_each_time_it_is_asked_about_and_is_done_with_once() -> None:
    done, refs = list[str](), list[str]()
    attending = Attending("play", finish=done.append)

    class Somebody:
        async def __call__(self, asked: Asked) -> Replied:
            assert isinstance(asked, LinkAsked)
            refs.append(asked.ref)
            return Replied(action="accept")

        def refuse(self, why: str) -> None:
            raise AssertionError(why)

    with attending.calls.begun(Whose(principal="ann", workspace="/w"), Somebody(), 60.0) as call:
        for _ in range(2):
            await attending.answer(call, ElicitRequest(params=SIGN_IN))
            attending.completed("another")
            assert done == refs[:-1]
            attending.completed("one")
            attending.completed("one")
            assert done == refs
    assert len(set(refs)) == 2


@pytest.mark.parametrize("said", ["1e400", "NaN", f"1{'0' * 400}", "0.5"])
def test_a_default_that_is_no_number_of_its_field_is_left_out_and_the_form_can_be_shown(said: str) -> None:
    """As a server writes it. Python reads all of them."""
    schema = {"type": "object", "properties": {"age": {"type": "integer", "default": json.loads(said)}}}
    asked = asked_in(ElicitRequestFormParams(message="Your age?", requested_schema=schema))
    subject = ElicitationSubject(server="play", tool="play__ask", asked=asked)
    assert schema_of(subject, titled=True)["properties"] == {"age": {"type": "integer"}}
    assert isinstance(asked, FormAsked)
    assert asked.fields == (NumberField(name="age", whole=True),)
