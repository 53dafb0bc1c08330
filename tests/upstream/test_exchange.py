import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest
from pydantic import SecretStr

from mcp_server.protocol.sign_in.flow import Send
from mcp_server.protocol.upstream.exchange import ACCESS_TOKEN, GRANT, Exchange, Exchanger
from mcp_server.protocol.upstream.vault import Holder

ALICE = Holder(principal="alice", server="notes", address="https://notes.example.org/mcp")
BOB = replace(ALICE, principal="bob")
AT = Exchanger(
    endpoint="https://login.example.org/token",
    client_id="remit:gateway",
    client_secret=SecretStr("s3cret/x"),
    audience="notes",
    scope="read",
)


@dataclass(slots=True)
class Issuer:
    """Gives a token of its own for each it knows."""

    now: float = 1000.0
    subjects: dict[str, str] = field(default_factory=lambda: {"alice": "token-of-alice", "bob": "token-of-bob"})
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    logins: list[str] = field(default_factory=list[str])
    answer: dict[str, Any] = field(default_factory=dict[str, Any])
    status: int = 200

    @asynccontextmanager
    async def way(self) -> AsyncGenerator[Send]:
        yield self.send

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        assert str(request.url) == AT.endpoint
        form = {name: values[0] for name, values in parse_qs((await request.aread()).decode()).items()}
        self.asked.append(form)
        self.logins.append(base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode())
        given = {"access_token": f"{form['subject_token']}-for-notes-{len(self.asked)}", "token_type": "Bearer", "expires_in": 300}
        return httpx2.Response(self.status, json={**given, **self.answer}, request=request)

    def exchange(self, at: Exchanger = AT) -> Exchange:
        return Exchange(lambda: at, self.subjects.get, self.way, lambda: self.now)


async def test_a_callers_token_is_exchanged_for_one_of_theirs_for_that_server_and_kept_until_it_ends() -> None:
    issuer = Issuer()
    exchange = issuer.exchange()
    first = await exchange.token(ALICE)
    assert first == await exchange.token(ALICE) == "token-of-alice-for-notes-1"
    assert issuer.asked == [
        {
            "grant_type": GRANT,
            "subject_token": "token-of-alice",
            "subject_token_type": ACCESS_TOKEN,
            "requested_token_type": ACCESS_TOKEN,
            "audience": "notes",
            "scope": "read",
        }
    ]
    assert issuer.logins == ["remit%3Agateway:s3cret%2Fx"]
    issuer.now += 280
    assert await exchange.token(ALICE) == "token-of-alice-for-notes-2"


async def test_two_callers_get_two_tokens_and_who_has_none_gets_none() -> None:
    exchange = Issuer().exchange()
    assert await exchange.token(ALICE) == "token-of-alice-for-notes-1"
    assert await exchange.token(BOB) == "token-of-bob-for-notes-2"
    assert await exchange.token(replace(ALICE, principal="carol")) is None


async def test_a_caller_who_comes_with_another_token_or_none_any_more_loses_the_one_that_was_given_for_it() -> None:
    issuer = Issuer()
    exchange = issuer.exchange()
    await exchange.token(ALICE)
    issuer.subjects["alice"] = "newer-token-of-alice"
    assert await exchange.token(ALICE) == "newer-token-of-alice-for-notes-2"
    del issuer.subjects["alice"]
    assert await exchange.token(ALICE) is None


async def test_a_token_that_the_server_does_not_take_is_exchanged_anew() -> None:
    exchange = Issuer().exchange()
    sent = await exchange.token(ALICE)
    assert sent is not None
    assert await exchange.renewed(ALICE, sent) == "token-of-alice-for-notes-2"
    assert await exchange.token(ALICE) == "token-of-alice-for-notes-2"


async def test_without_an_audience_the_servers_address_says_what_it_is_for() -> None:
    issuer = Issuer()
    await issuer.exchange(replace(AT, audience=None, scope=None)).token(ALICE)
    assert issuer.asked[0]["resource"] == ALICE.address
    assert issuer.asked[0].keys().isdisjoint({"audience", "scope"})


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (400, {"error": "invalid_target"}),
        (200, {"token_type": "N_A"}),
        (200, {"access_token": 7}),
        (200, {"expires_in": "soon"}),
        (200, {"access_token": "token-of-alice"}),
    ],
    ids=["refused", "of no use as a bearer's", "no text", "ends at no time", "the caller's own"],
)
async def test_an_answer_that_is_no_token_for_the_server_gives_none(status: int, answer: dict[str, Any]) -> None:
    issuer = Issuer(status=status, answer=answer)
    assert await issuer.exchange().token(ALICE) is None
