"""Principals x everything that has an id: to everybody but its owner an id is as good as one that never was, word for word, and whatever
is tried with it leaves the owner's things as they are. A new kind of id without a row here fails the last tests.
"""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult

from mcp_server.protocol.tasks_wire import IDENTIFIER as TASKS
from mcp_server.protocol.timing import Timing
from mcp_server.records import PromptState, RunState
from mcp_server.store.ids import mint
from mcp_server.tools.base import SEPARATOR
from tests.app.panel_user import MIME
from tests.behaviour.stories import TEAM, leaving_soon, team, until
from tests.behaviour.world import make_world, text_of
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing
from tests.gateway.inside import Inside, inside
from tests.gateway.speaking import Speaker
from tests.protocol.connect import ERAS, ROOT, Era
from tests.upstream.scripted import NAME, Scripted, asks, opener

UI = "io.modelcontextprotocol/ui"
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
KNOWS_TASKS: dict[str, Any] = {"extensions": {TASKS: {}}}
SHOWS_PANELS: dict[str, Any] = {"extensions": {UI: {"mimeTypes": [MIME]}}}

GOES_ON = (RunState.QUEUED, RunState.RUNNING, RunState.WAITING)
Tries = Callable[[Speaker, str], Awaitable[object]]

_IDS = re.compile(r"\b(ses|prm|call|bsh|rul|run)_[a-z2-7]{8,}|v1\.[A-Za-z0-9_=-]{20,}|(?<=secret\": \")[^\"]+|bash-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """One of each kind that has an id, of ADA with her editor."""

    session: str
    """A child that waits for her."""
    task: str
    line: str
    """A command in the background."""
    prompt: str
    question: str
    """Another server's, in a call of hers."""
    state: str
    """Sealed, of the call whose prompt it is."""
    ruling: str
    output: str
    """The path of output that was saved."""
    connection: str
    """Of 2025-11-25."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way to name something that is kept."""

    kind: Callable[[Things], str]
    made_up: Callable[[], str]
    tries: Tries
    eras: tuple[Era, ...] = ERAS


def tool(name: str, parameter: str, *, listed: bool = False, **arguments: Any) -> Tries:
    async def tries(speaker: Speaker, number: str) -> object:
        return await speaker.calls(name, **{**arguments, parameter: [number] if listed else number})

    return tries


def method(name: str, parameter: str, form: str = "{}", **params: Any) -> Tries:
    async def tries(speaker: Speaker, number: str) -> object:
        return await speaker.asked(name, {**params, parameter: form.format(number)})

    return tries


def declaring(capabilities: Mapping[str, Any], tries: Callable[[Speaker, str], Awaitable[object]]) -> Tries:
    async def declared(speaker: Speaker, number: str) -> object:
        return await tries(await replace(speaker, capabilities=capabilities).opened(), number)

    return declared


WRITE: dict[str, Any] = {"name": "write", "arguments": {"filePath": "kept.txt", "content": "hello"}}
AGREED = {"action": "accept", "content": {"decision": "allow_once"}}


async def with_anothers_state(speaker: Speaker, state: str) -> object:
    """The very same call, with the state that was sealed for somebody else, and an answer to each prompt in it."""
    return await speaker.asked("tools/call", {**WRITE, "requestState": state, "inputResponses": {}})


async def answers_anothers_prompt(speaker: Speaker, prompt: str) -> object:
    """A call of one's own, answered with the id of somebody else's prompt."""
    own = (await speaker.asked("tools/call", WRITE))["result"]
    return await speaker.asked("tools/call", {**WRITE, "requestState": own["requestState"], "inputResponses": {prompt: AGREED}})


FILLED = {"action": "accept", "content": {"decision": "Eve"}}


async def answers_anothers_question(speaker: Speaker, question: str) -> object:
    """Likewise, with a call of one's own of which its server asks too."""
    asks: dict[str, Any] = {"name": "play__ask", "arguments": {}}
    own = (await speaker.asked("tools/call", asks))["result"]
    return await speaker.asked("tools/call", {**asks, "requestState": own["requestState"], "inputResponses": {question: FILLED}})


async def updates_with_anothers_question(speaker: Speaker, question: str) -> object:
    """A task of one's own, told an answer to somebody else's question."""
    task = {"description": "a job", "prompt": "do it", "subagent_type": "lead"}
    own = (await speaker.calls("task", **task))["result"]["taskId"]
    told = await speaker.asked("tasks/update", {"taskId": own, "inputResponses": {question: FILLED}})
    await speaker.asked("tasks/cancel", {"taskId": own})
    return told


async def listens(speaker: Speaker, wanted: Mapping[str, Any]) -> object:
    """What a stream that names it begins with: what of it will be told."""
    message = speaker.message("subscriptions/listen", {"notifications": wanted})
    headers = speaker.headers("subscriptions/listen")
    with anyio.fail_after(LONG):
        async with speaker.wire.stream("POST", speaker.url, json=message, headers=headers, timeout=LONG) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    return json.loads(line.removeprefix("data:"))["params"]["notifications"]
    raise AssertionError


async def listens_to_a_session(speaker: Speaker, number: str) -> object:
    return await listens(speaker, {"resourceSubscriptions": [f"remit://sessions/{number}"]})


async def listens_to_a_task(speaker: Speaker, number: str) -> object:
    return await listens(speaker, {"taskIds": [number]})


async def in_anothers_session(speaker: Speaker, number: str) -> object:
    """Every verb, with somebody else's session of 2025-11-25; one of them takes up a stream where another left it."""
    foreign = replace(speaker, session=number)
    said: list[object] = []
    for verb, body, more in (
        ("POST", foreign.message("tools/list"), {}),
        ("GET", None, {}),
        ("GET", None, {"last-event-id": "1"}),
        ("DELETE", None, {}),
        ("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}, {}),
        ("POST", {"jsonrpc": "2.0", "id": 1, "result": AGREED}, {}),
    ):
        answer = await speaker.wire.request(verb, speaker.url, json=body, headers={**foreign.headers(), **more}, timeout=LONG)
        said.append((answer.status_code, answer.text))
    return said


PANEL = {"panel": "mine"}
TOOLS: dict[tuple[str, str], Row] = {
    ("task", "task_id"): Row(
        kind=lambda things: things.session,
        made_up=lambda: mint("ses"),
        tries=tool("task", "task_id", description="a job", prompt="go on", subagent_type="lead"),
    ),
    ("task", "inherit"): Row(
        kind=lambda things: things.ruling,
        made_up=lambda: mint("rul"),
        tries=tool("task", "inherit", listed=True, description="a job", prompt="go on", subagent_type="lead"),
    ),
    ("task_status", "task_id"): Row(kind=lambda things: things.session, made_up=lambda: mint("ses"), tries=tool("task_status", "task_id")),
    ("task_cancel", "task_id"): Row(kind=lambda things: things.session, made_up=lambda: mint("ses"), tries=tool("task_cancel", "task_id")),
    ("bash_output", "bash_id"): Row(kind=lambda things: things.line, made_up=lambda: mint("bsh"), tries=tool("bash_output", "bash_id")),
    ("bash_kill", "bash_id"): Row(kind=lambda things: things.line, made_up=lambda: mint("bsh"), tries=tool("bash_kill", "bash_id")),
    ("read", "filePath"): Row(
        kind=lambda things: things.output,
        made_up=lambda: "",
        tries=tool("read", "filePath"),
    ),
    ("approvals_open", "seen"): Row(
        kind=lambda things: things.prompt,
        made_up=lambda: mint("prm"),
        tries=declaring(SHOWS_PANELS, tool("approvals_open", "seen", listed=True, **PANEL)),
    ),
    ("approvals_open", "known"): Row(
        kind=lambda things: things.prompt,
        made_up=lambda: mint("prm"),
        tries=declaring(SHOWS_PANELS, tool("approvals_open", "known", listed=True, **PANEL)),
    ),
    ("approvals_open", "renew"): Row(
        kind=lambda things: things.prompt,
        made_up=lambda: mint("prm"),
        tries=declaring(SHOWS_PANELS, tool("approvals_open", "renew", listed=True, **PANEL)),
    ),
    ("approvals_answer", "prompt"): Row(
        kind=lambda things: things.prompt,
        made_up=lambda: mint("prm"),
        tries=declaring(SHOWS_PANELS, tool("approvals_answer", "prompt", secret="x" * 43, fields={"choice": ["allow_once"]})),
    ),
    ("approvals_answer", "prompt of a server's question"): Row(
        kind=lambda things: things.question,
        made_up=lambda: mint("prm"),
        tries=declaring(SHOWS_PANELS, tool("approvals_answer", "prompt", secret="x" * 43, fields={"action": ["accept"]})),
    ),
}
"""By tool and parameter. The secret of `approvals_answer` is bound to a prompt: tests/app tries those."""

METHODS: dict[tuple[str, str], Row] = {
    ("resources/read", "uri"): Row(
        kind=lambda things: things.session, made_up=lambda: mint("ses"), tries=method("resources/read", "uri", "remit://sessions/{}")
    ),
    ("resources/read", "uri of a transcript"): Row(
        kind=lambda things: things.session,
        made_up=lambda: mint("ses"),
        tries=method("resources/read", "uri", "remit://sessions/{}/transcript"),
    ),
    ("resources/subscribe", "uri"): Row(
        kind=lambda things: things.session,
        made_up=lambda: mint("ses"),
        tries=method("resources/subscribe", "uri", "remit://sessions/{}"),
        eras=("2025-11-25",),
    ),
    ("resources/unsubscribe", "uri"): Row(
        kind=lambda things: things.session,
        made_up=lambda: mint("ses"),
        tries=method("resources/unsubscribe", "uri", "remit://sessions/{}"),
        eras=("2025-11-25",),
    ),
    ("subscriptions/listen", "resourceSubscriptions"): Row(
        kind=lambda things: things.session, made_up=lambda: mint("ses"), tries=listens_to_a_session, eras=("2026-07-28",)
    ),
    ("subscriptions/listen", "taskIds"): Row(
        kind=lambda things: things.task, made_up=lambda: mint("call"), tries=declaring(KNOWS_TASKS, listens_to_a_task), eras=("2026-07-28",)
    ),
    **{
        (f"tasks/{verb}", "taskId"): Row(
            kind=lambda things: things.task,
            made_up=lambda: mint("call"),
            tries=declaring(KNOWS_TASKS, method(f"tasks/{verb}", "taskId", inputResponses={})),
            eras=("2026-07-28",),
        )
        for verb in ("get", "update", "cancel")
    },
    ("tools/call", "requestState"): Row(
        kind=lambda things: things.state,
        made_up=lambda: "v1." + "A" * 400,
        tries=declaring(FORMS, with_anothers_state),
        eras=("2026-07-28",),
    ),
    ("tools/call", "inputResponses"): Row(
        kind=lambda things: things.prompt,
        made_up=lambda: mint("prm"),
        tries=declaring(FORMS, answers_anothers_prompt),
        eras=("2026-07-28",),
    ),
    ("tools/call", "inputResponses to a server's question"): Row(
        kind=lambda things: things.question,
        made_up=lambda: mint("prm"),
        tries=declaring(FORMS, answers_anothers_question),
        eras=("2026-07-28",),
    ),
    ("tasks/update", "inputResponses to a server's question"): Row(
        kind=lambda things: things.question,
        made_up=lambda: mint("prm"),
        tries=declaring(KNOWS_TASKS, updates_with_anothers_question),
        eras=("2026-07-28",),
    ),
    ("http", "mcp-session-id"): Row(
        kind=lambda things: things.connection, made_up=lambda: "0" * 32, tries=in_anothers_session, eras=("2025-11-25",)
    ),
}

NO_IDS = {
    "ping",
    "tools/list",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
}
"""Methods that name nothing of anybody's: prompts are the deployment's agents, or another server's, asked on the caller's own behalf."""

NOBODYS = {
    "task": {"description", "prompt", "subagent_type", "background", "tools"},
    "task_status": {"wait_seconds"},
    "read": {"offset", "limit"},
    "list": {"path", "ignore"},
    "glob": {"pattern", "path"},
    "grep": {"pattern", "path", "include"},
    "edit": {"filePath", "oldString", "newString", "replaceAll"},
    "write": {"filePath", "content"},
    "apply_patch": {"patchText"},
    "bash": {"command", "description", "timeout", "background", "workdir", "may_write", "may_read", "may_fetch"},
    "bash_output": {"wait_seconds"},
    "webfetch": {"url", "format", "timeout"},
    "websearch": {"query", "max_results"},
    "todowrite": {"todos"},
    "question": {"questions"},
    "approvals_open": {"panel", "wait_seconds"},
    "approvals_answer": {"secret", "fields"},
}
"""Parameters that name nothing that is kept for one caller. Files are the workspace's, which is everybody's; saved output is the row
`read`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    """A gateway, two issuers, and what one caller has there."""

    gateway: Inside
    issuer: Issuer
    other: Issuer
    wire: httpx2.AsyncClient
    key: str
    things: Things

    async def speaker(self, name: str, era: Era) -> Speaker:
        url = self.gateway.url
        tokens = {
            "the owner": lambda: self.issuer.token(url),
            "another person": lambda: self.issuer.token(url, sub="eve"),
            "the same person in another client": lambda: self.issuer.token(url, client_id="terminal"),
            "a program that acts for itself and is called like her": lambda: self.issuer.token(url, client_id="ada"),
            "the same name at another issuer": lambda: self.other.token(url),
            "a key of her name": lambda: self.key,
        }
        return await Speaker(wire=self.wire, url=url, token=tokens[name](), era=era).opened()


SERVERS = {"play": {"command": "unused"}}
ALLOWED = {"permission": {"bash": "allow", "play__*": "allow"}}

TIMING = Timing(patience=2 * LONG)
"""Nobody leaves because the machine is busy. One test has those leave who wait for a person."""


STRANGERS = (
    "another person",
    "the same person in another client",
    "a program that acts for itself and is called like her",
    "the same name at another issuer",
    "a key of her name",
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Town]:
    script: dict[str, list[dict[str, Any]]] = {**team(), "title": [{"text": "a job", "calls": []}]}
    world = make_world(tmp_path_factory.mktemp("town") / "team", script=script, agents=TEAM, settings=ALLOWED)
    play = Scripted()
    play.does["ask"] = asks(NAME)
    async with issuing() as issuer, issuing() as other, httpx2.AsyncClient(timeout=LONG) as wire:
        trusted = {"issuers": [{"issuer": issuer.url}, {"issuer": other.url}]}
        async with inside(world, trusted, timing=TIMING, opener=opener({"play": play}), mcpServers=SERVERS) as gateway:
            things = await things_of(gateway, issuer, wire)
            yield Town(gateway=gateway, issuer=issuer, other=other, wire=wire, key=await gateway.key("ada"), things=things)


async def things_of(gateway: Inside, issuer: Issuer, wire: httpx2.AsyncClient) -> Things:
    def ada(era: Era, capabilities: Mapping[str, Any]) -> Speaker:
        return Speaker(wire=wire, url=gateway.url, token=issuer.token(gateway.url), era=era, capabilities=capabilities)

    store = gateway.store
    other: dict[str, Any] = {"name": "write", "arguments": {"filePath": "ruled.txt", "content": "hello"}}
    asked = (await ada("2026-07-28", FORMS).asked("tools/call", other))["result"]
    (first,) = asked["inputRequests"]
    agreed = {first: {"action": "accept", "content": {"decision": "allow_session"}}}
    again = {**other, "requestState": asked["requestState"]}
    done = await ada("2026-07-28", FORMS).asked("tools/call", {**again, "inputResponses": agreed})
    assert not done["result"].get("isError"), done
    (ruling,) = await store.rulings(principal=f'["{issuer.url}","ada","editor"]')

    plain = ada("2026-07-28", {})
    task = {"description": "a job", "prompt": "do it", "subagent_type": "lead"}
    child = (await plain.calls("task", **task, background=True))["result"]["structuredContent"]["task_id"]
    line = (await plain.calls("bash", command="sleep 600", description="x", background=True))["result"]["structuredContent"]["bash_id"]
    output = (await plain.calls("bash", command="seq 1 100000", description="x"))["result"]["structuredContent"]["output_file"]
    promised = (await ada("2026-07-28", KNOWS_TASKS).calls("task", **task))["result"]["taskId"]
    legacy = await ada("2025-11-25", {}).opened()
    assert legacy.session is not None
    waiting = (await ada("2026-07-28", FORMS).asked("tools/call", WRITE))["result"]
    (prompt,) = waiting["inputRequests"]
    (question,) = (await ada("2026-07-28", FORMS).asked("tools/call", {"name": "play__ask", "arguments": {}}))["result"]["inputRequests"]

    async def both_ask() -> bool:
        return len(await store.prompts(state=PromptState.OPEN)) == 4

    await until(both_ask)
    return Things(
        session=child,
        task=promised,
        line=line,
        prompt=prompt,
        question=question,
        state=waiting["requestState"],
        ruling=ruling.id,
        output=output,
        connection=legacy.session,
    )


async def state_of(town: Town) -> object:
    """How her things are. Seen by her alone, and not changed by looking."""
    store, things = town.gateway.store, town.things
    owner = f'["{town.issuer.url}","ada","editor"]'
    prompts = sorted((prompt.id, prompt.state) for prompt in await store.prompts() if prompt.principal == owner)
    run = await store.latest_run(next(one.id for one in await store.sessions(owner) if one.id == things.session))
    assert run is not None
    lines = await (await town.speaker("the owner", "2026-07-28")).calls("bash_output", bash_id=things.line)
    ruled = [one.id for one in await store.rulings(principal=owner)]
    files = sorted(one.name for one in town.gateway.world.workspace.iterdir())
    return prompts, run.state in GOES_ON, lines["result"]["structuredContent"]["exit_code"], ruled, files


def plain(said: object, *names: str) -> str:
    """An answer without what is different in each: ids and what is sealed."""
    text = json.dumps(said, default=str)
    for name in names:
        text = text.replace(name, "…")
    return _IDS.sub("…", text)


def unknown_to(row: Row, town: Town) -> str:
    """An id of that kind that never was."""
    if row is TOOLS["read", "filePath"]:
        folder, _, _ = town.things.output.rpartition("/outputs/")
        return f"{folder}/outputs/{mint('ses')}/bash-{'0' * 16}.txt"
    return row.made_up()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("stranger", STRANGERS)
async def test_an_id_of_somebody_elses_is_as_good_as_one_that_never_was(stranger: str, era: Era, town: Town) -> None:
    speaker = await town.speaker(stranger, era)
    before = await state_of(town)
    for name, row in (TOOLS | METHODS).items():
        if era not in row.eras:
            continue
        theirs, unknown = row.kind(town.things), unknown_to(row, town)
        said = [plain(await row.tries(speaker, one), one) for one in (theirs, unknown)]
        assert said[0] == said[1], (name, stranger)
    assert await state_of(town) == before


async def test_what_was_saved_for_somebody_else_is_read_by_nobody_whatever_they_allow_themselves(town: Town) -> None:
    speaker = await town.speaker("another person", "2026-07-28")
    speaker.capabilities = FORMS
    told = (await speaker.calls("read", filePath=town.things.output))["result"]
    assert "output saved for other sessions" in told["content"][0]["text"], "denied by a rule, not asked: she would answer herself"
    own = (await speaker.calls("bash", command="seq 1 100000", description="x"))["result"]["structuredContent"]["output_file"]
    assert "99\n" in (await speaker.calls("read", filePath=own, limit=100))["result"]["content"][0]["text"]


async def test_this_machines_own_programs_meet_nothing_of_a_gateways_people(town: Town) -> None:
    before = await state_of(town)
    async with Client(town.gateway.parts.server, mode="legacy", read_timeout_seconds=LONG) as client:

        async def answered(tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
            """Once it is decided, or a person is waited for."""
            while "is not done yet" in text_of(told := await client.call_tool(tool, dict(arguments))):
                pass
            return told

        for name, row in TOOLS.items():
            if name[0].startswith("approvals"):
                continue
            said: list[str] = []
            for one in (row.kind(town.things), unknown_to(row, town)):
                listed = [one] if name[1] == "inherit" else one
                usual = {"description": "a job", "prompt": "go on", "subagent_type": "lead"} if name[0] == "task" else {}
                with leaving_soon(TIMING):
                    told = await answered(name[0], {**usual, name[1]: listed})
                said.append(plain(told.model_dump(mode="json"), one))
            assert said[0] == said[1], name
    assert await state_of(town) == before


@pytest.mark.parametrize("era", ERAS)
async def test_the_owner_herself_is_answered_otherwise(era: Era, town: Town) -> None:
    speaker = await town.speaker("the owner", era)
    looks = [("task_status", "task_id"), ("bash_output", "bash_id")]
    looks += [("resources/read", "uri"), ("resources/read", "uri of a transcript")]
    modern = [("read", "filePath"), ("tasks/get", "taskId")]
    modern += [("subscriptions/listen", "resourceSubscriptions"), ("subscriptions/listen", "taskIds")]
    rows = TOOLS | METHODS
    for name in [*looks, *([] if era == "2025-11-25" else modern)]:
        row = rows[name]
        if era == "2025-11-25" and name[0] != "resources/read":
            continue  # of each connection's own
        theirs, unknown = row.kind(town.things), unknown_to(row, town)
        said = [plain(await row.tries(speaker, one), one) for one in (theirs, unknown)]
        assert said[0] != said[1], f"{name} tells nobody anything, so that its row above shows nothing"


@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_and_method_that_names_something_kept_has_a_row(era: Era, town: Town) -> None:
    speaker = await town.speaker("the owner", era)
    speaker.capabilities = {**FORMS, "extensions": {TASKS: {}, UI: {"mimeTypes": [MIME]}}}
    await speaker.opened()
    tools: list[dict[str, Any]] = (await speaker.asked("tools/list"))["result"]["tools"]
    parameters = {(one["name"], name) for one in tools if SEPARATOR not in one["name"] for name in one["inputSchema"].get("properties", {})}
    nobodys = {(name, parameter) for name, ones in NOBODYS.items() for parameter in ones}
    assert sorted(parameters - nobodys - set(TOOLS)) == [], "give each a row, or say that it names nothing of anybody's"
    served = set(town.gateway.parts.server._request_handlers)  # pyright: ignore[reportPrivateUsage] - there is no list of them
    named = {name for name, _ in METHODS}
    assert sorted(served - named - NO_IDS) == []


CONSOLE = {
    "/static/{name}",
    "/prompts/{prompt_id}",
    "/sessions/{session_id}",
    "/sessions/{session_id}/end",
    "/rulings/{ruling_id}",
    "/servers/{server}",
}
"""Pages whose address names something; `test_belongings.py` tries each of them, and the query of the others, with ids of everybody's, and
`test_servers.py` the servers, whose names are everybody's and whose sign-ins are not.
"""


def test_every_page_whose_address_names_something_is_one_that_is_tried() -> None:
    sources = (ROOT / "mcp_server" / "gateway").rglob("*.py")
    found = {path for file in sources for path in re.findall(r'Route\("([^"]*\{[^"]*)"', file.read_text())}
    assert found == CONSOLE
