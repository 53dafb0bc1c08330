"""The webhook against real receivers: what comes, how it is signed, and what becomes of receivers that fail."""

import base64
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import anyio
import pytest
from standardwebhooks import WebhookVerificationError
from structlog.testing import capture_logs

from mcp_server.elicited import ElicitationSubject, FormAsked
from mcp_server.errors import ConfigError
from mcp_server.gateway.notices.posting import Poster, Told, Unanswered
from mcp_server.gateway.notices.signing import SecretSource
from mcp_server.gateway.notices.webhook import LONGEST_PAUSE, Webhook, pause_of
from mcp_server.records import Answer, Choice, PromptState
from mcp_server.tools.web.urls import read_url
from mcp_server.tools.web.wires import Wires
from tests.gateway.notices.receiver import BOUND, DROP, STALL, Receiver, receiving
from tests.gateway.notices.samples import CONSOLE, asks, noticed, opened, over

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(range(1, 33))).decode()
LATER = 3600.0
"""Seconds until a further try that no test waits for."""


def secrets(text: str = SECRET) -> SecretSource:
    return SecretSource(file=None, variable="HOOK_SECRET", environment={"HOOK_SECRET": text})


@asynccontextmanager
async def telling(
    receiver: Receiver, *, pauses: Sequence[float] = (), seconds: float = BOUND, source: SecretSource | None = None
) -> AsyncGenerator[Webhook]:
    poster = Poster(url=read_url(receiver.url), wires=Wires(), seconds=seconds)
    webhook = Webhook(poster, source or secrets(), clock=time.time, pauses=pauses)
    async with anyio.create_task_group() as group:
        group.start_soon(webhook.run)
        yield webhook
        group.cancel_scope.cancel()


async def test_a_prompt_that_opens_and_its_end_are_posted_signed_and_without_arguments() -> None:
    prompt = asks("prm_one", "edit notes.txt", shown_at=100.0, deadline=700.0, created_at=100.0)
    answer = Answer(choice=Choice.DENY, words="words for the model", by="local", channel="console", at=200.0)
    async with receiving() as receiver, telling(receiver) as webhook:
        webhook.opened(noticed(prompt, console=CONSOLE))
        await receiver.gets(1)
        webhook.over(noticed(asks("prm_one", state=PromptState.ANSWERED, answer=answer, created_at=100.0)))
        first, second = await receiver.gets(2)
    assert first.line == "POST /hook?key=in-the-query HTTP/1.1"
    assert first.headers["content-type"] == "application/json"
    said = first.checked(SECRET)
    assert said["type"] == "prompt.opened"
    assert said["data"] == {
        "prompt": "prm_one",
        "kind": "approval",
        "agents": ["build", "explore"],
        "tool": "edit",
        "summary": "edit notes.txt",
        "state": "open",
        "asked_at": "1970-01-01T00:01:40.000Z",
        "deadline": "1970-01-01T00:11:40.000Z",
        "answer_by": [],
        "console": CONSOLE,
    }
    told = second.checked(SECRET)
    assert (told["type"], told["data"]["state"], told["data"]["choice"], told["data"]["answered_in"]) == (
        "prompt.closed",
        "answered",
        "deny",
        "console",
    )
    assert b"words for the model" not in second.body
    assert first.id != second.id


async def test_a_changed_body_another_secret_or_another_id_does_not_pass_for_signed() -> None:
    async with receiving() as receiver, telling(receiver) as webhook:
        webhook.opened(opened())
        (got,) = await receiver.gets(1)
    got.checked(SECRET)
    with pytest.raises(WebhookVerificationError):
        got.checked(OTHER)
    for changed in (replace(got, body=got.body + b" "), replace(got, headers={**got.headers, "webhook-id": "prm_two_opened"})):
        with pytest.raises(WebhookVerificationError):
            changed.checked(SECRET)


async def test_with_two_secrets_receivers_that_know_either_are_content() -> None:
    async with receiving() as receiver, telling(receiver, source=secrets(f"{SECRET}\n{OTHER}\n")) as webhook:
        webhook.opened(opened())
        (got,) = await receiver.gets(1)
    assert got.checked(SECRET) == got.checked(OTHER)


@pytest.mark.parametrize("answer", ["500 Oops", "404 Not Found", "429 Slow down\r\nRetry-After: 0", DROP])
async def test_what_a_receiver_does_not_take_comes_again_the_same(answer: str) -> None:
    async with receiving(answer, answer) as receiver, telling(receiver, pauses=(0.0, 0.0, LATER)) as webhook:
        webhook.opened(opened())
        got = await receiver.gets(3)
        await webhook.at_rest()
    assert {(one.id, one.body) for one in got} == {("prm_one_opened", got[0].body)}
    assert all(one.checked(SECRET) for one in got)


async def test_a_receiver_that_says_nothing_is_left_and_asked_again() -> None:
    async with receiving(STALL) as receiver, telling(receiver, pauses=(0.0,) * 100, seconds=0.2) as webhook:
        webhook.opened(opened())
        assert {one.id for one in await receiver.gets(2)} == {"prm_one_opened"}


async def test_one_that_stalls_holds_no_other_prompt_up() -> None:
    async with receiving(STALL) as receiver, telling(receiver) as webhook:
        webhook.opened(opened("prm_one"))
        await receiver.gets(1)
        webhook.opened(opened("prm_two"))
        await receiver.hears_of("prm_two_opened")


async def test_no_redirect_is_followed_and_the_log_says_what_to_do() -> None:
    async with receiving() as elsewhere, receiving(f"307 Away\r\nLocation: {elsewhere.url}") as receiver:
        with capture_logs() as logs:
            async with telling(receiver, pauses=(0.0,)) as webhook:
                webhook.opened(opened())
                await receiver.gets(2)
                await webhook.at_rest()
    assert elsewhere.got == []
    assert [line["reason"] for line in logs if "redirects are not followed" in line.get("reason", "")] != []


async def test_tries_are_bounded_and_a_fault_is_logged_once_without_secret_and_query() -> None:
    async with receiving(*["500 Oops"] * 3) as receiver:
        with capture_logs() as logs:
            async with telling(receiver, pauses=(0.0, 0.0)) as webhook:
                webhook.opened(opened())
                await receiver.gets(3)
                await webhook.at_rest()
                webhook.opened(opened("prm_two"))
                await receiver.hears_of("prm_two_opened")
                await webhook.at_rest()
    assert [one.id for one in receiver.got] == ["prm_one_opened"] * 3 + ["prm_two_opened"]
    assert [(line["log_level"], line["event"]) for line in logs] == [
        ("warning", "the webhook could not be told of a prompt"),
        ("error", "gave up telling the webhook of a prompt"),
        ("info", "the webhook takes events again"),
    ]
    assert "in-the-query" not in json.dumps(logs)
    assert SECRET.removeprefix("whsec_") not in json.dumps(logs)


async def test_nobody_is_called_any_more_for_a_prompt_that_is_over() -> None:
    async with receiving("500 Oops") as receiver, telling(receiver, pauses=(LATER,)) as webhook:
        webhook.opened(opened())
        await receiver.gets(1)
        webhook.over(over())
        got = await receiver.hears_of("prm_one_closed")
    assert [one.id for one in got] == ["prm_one_opened", "prm_one_closed"]


async def test_a_receiver_that_is_gone_for_good_gets_nothing_further() -> None:
    async with receiving("410 Gone") as receiver, telling(receiver, pauses=(0.0,)) as webhook:
        webhook.opened(opened())
        await receiver.gets(1)
        await webhook.at_rest()
        webhook.opened(opened("prm_two"))
        await webhook.at_rest()
    assert [one.id for one in receiver.got] == ["prm_one_opened"]


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("99999999999", LONGEST_PAUSE),
        (formatdate(1000.0 + 30, usegmt=True), 30.0),
        (formatdate(1.0, usegmt=True), 0.0),
    ],
)
def test_a_server_says_how_long_to_wait_within_bounds(said: str, seconds: float) -> None:
    assert pause_of(Told(status=503, retry_after=said), 5.0, now=1000.0) == seconds


OF_NO_CALENDAR = ["Mon, 30 Nov 2026 09:00:00 +99999999999999999999", "Mon, 30 Nov 99999999999999999999 09:00:00 GMT"]


@pytest.mark.parametrize("said", ["", "soon", "-1", "٣", *OF_NO_CALENDAR])
def test_what_is_no_time_to_wait_is_the_usual_pause(said: str) -> None:
    assert 4.0 <= pause_of(Told(status=503, retry_after=said), 5.0, now=1000.0) <= 6.0


async def test_secrets_and_what_would_pretend_are_not_in_what_is_told() -> None:
    wants = "bash curl -H 'Authorization: Bearer abcdef123456' https://x.example/?k=hunter22 \u202egnirts \x1b[31m" + "x" * 100_000
    async with receiving() as receiver, telling(receiver) as webhook:
        webhook.opened(noticed(asks("prm_one", wants), secrets=("hunter22",)))
        (got,) = await receiver.gets(1)
    summary = got.said["data"]["summary"]
    assert len(summary) <= 200
    assert "abcdef123456" not in summary
    assert "hunter22" not in summary
    assert summary.isprintable()


async def test_of_what_another_server_asks_it_is_told_who_asks_and_never_what_was_entered() -> None:
    subject = ElicitationSubject(server="play", tool="play__ask", asked=FormAsked(message="Your name?\nIt waits\u202e"))
    answer = Answer(choice=None, words='{"action": "accept", "content": {"name": "Ada"}}', by="local", channel="form", at=200.0)
    async with receiving() as receiver, telling(receiver) as webhook:
        webhook.opened(noticed(asks(subject=subject)))
        await receiver.gets(1)
        webhook.over(noticed(asks(subject=subject, state=PromptState.ANSWERED, answer=answer)))
        first, second = await receiver.gets(2)
    told, closed = first.said["data"], second.said["data"]
    assert (told["kind"], told["tool"]) == ("elicitation", "play__ask")
    assert told["summary"].startswith("the MCP server `play` asks: Your name?")
    assert told["summary"].isprintable()
    assert (closed["state"], closed["choice"], closed["answered_in"]) == ("answered", None, "form")
    assert "Ada" not in str(second.said)


# ---- the secret ---------------------------------------------------------------------------------


def in_file(file: Path) -> SecretSource:
    return SecretSource(file=file, variable=None, environment={})


def test_a_secret_is_read_from_a_file_of_the_persons_alone(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        in_file(file)()
    file.chmod(0o600)
    assert in_file(file)() == (bytes(range(32)),)


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_c2hvcnQ=", SECRET.removeprefix("whsec_"), f"{SECRET}!", f"{SECRET} word", "\xff"])
def test_what_is_no_secret_is_refused_without_being_repeated(tmp_path: Path, text: str) -> None:
    file = tmp_path / "secret"
    file.write_text(text, "latin-1")
    file.chmod(0o600)
    with pytest.raises(ConfigError) as refused:
        in_file(file)()
    assert "openssl rand" in str(refused.value)
    assert text.removeprefix("whsec_") == "" or text.removeprefix("whsec_") not in str(refused.value)


async def test_a_secret_that_comes_late_signs_what_has_waited(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    async with receiving() as receiver:
        with capture_logs() as logs:
            async with telling(receiver, pauses=[0.01] * int(BOUND / 0.01), source=in_file(file)) as webhook:
                webhook.opened(opened())
                while not logs:  # noqa: ASYNC110 - a log rings nothing
                    await anyio.sleep(0.01)
                draft = tmp_path / "draft"
                draft.write_text(SECRET)
                draft.chmod(0o600)
                draft.rename(file)
                (got,) = await receiver.gets(1)
    got.checked(SECRET)
    assert str(file) in logs[0]["reason"]


async def test_a_name_is_looked_up_by_the_way_that_holds_up_no_end() -> None:
    async def unknown(host: str, port: int) -> tuple[str, ...]:
        raise OSError(-2, f"no {host} for {port}")

    poster = Poster(url=read_url("https://hooks.example.invalid/remit"), wires=Wires(resolver=unknown))
    assert await poster(b"{}", {}) == Unanswered(reason="its name is not known (no hooks.example.invalid for 443)")
