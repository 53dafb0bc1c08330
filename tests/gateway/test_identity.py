"""Which ID tokens say who has signed in: what an issuer gives for a code, and all that it must not be."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcp_server.gateway.attempts import Attempt, Attempts
from mcp_server.gateway.authority import Authority
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.keys import KeyHolders
from mcp_server.gateway.oidc import Client, SignsIn
from mcp_server.gateway.verified import Refused
from mcp_server.settings.gateway import Gateway
from mcp_server.store.sqlite import open_store
from tests.gateway.authorization import Issuer, issuing, rsa, signed

CLIENT = "remit-console"


class Gives(Fetcher):
    """What comes from the token endpoint is the test's."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: Mapping[str, Any] = {}
        self.posted: list[Mapping[str, str]] = []

    async def post(self, url: str, form: Mapping[str, str], *, user: str = "", password: str = "") -> Mapping[str, Any]:
        self.posted.append(form)
        return self.answer


@dataclass(slots=True, kw_only=True)
class Desk:
    """The console's own client at one issuer, with a sign-in under way."""

    issuer: Issuer
    gives: Gives
    signs_in: SignsIn
    attempt: Attempt = field(init=False)

    def __post_init__(self) -> None:
        self.attempt = Attempts(clock=time.time).begin(browser="b", back="/", address="")

    def claims(self, **said: Any) -> dict[str, Any]:
        now = int(time.time())
        usual = {"iss": self.issuer.url, "sub": "ada", "aud": CLIENT, "nonce": self.attempt.nonce, "iat": now, "exp": now + 300}
        return {name: value for name, value in {**usual, **said}.items() if value is not None}

    def token(self, **said: Any) -> str:
        return signed(self.claims(**said), self.issuer.keys[0], {"typ": "JWT"})

    async def comes_to(self, token: object) -> str:
        """Whose it is, or why it is nobody's."""
        self.gives.answer = {"access_token": "x", "id_token": token}
        try:
            found = await self.signs_in.person("code", self.attempt)
        except Refused as error:
            return str(error)
        return json.dumps([found.principal.subject, found.principal.client])


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with issuing() as issuer, issuing() as other:
        both = {"url": "https://remit.example.org/mcp", "issuers": [{"issuer": issuer.url}, {"issuer": other.url}]}
        gateway = Gateway.model_validate(both)
        issuer.metadata = {"authorization_endpoint": f"{issuer.url}/authorize", "token_endpoint": f"{issuer.url}/token"}
        store, gives = open_store(tmp_path / "remit.db"), Gives()
        authority = Authority(gateway, gives, KeyHolders(store, time.time, []), steady=time.monotonic, clock=time.time)
        client = Client(id=CLIENT, secret="", scopes=(), redirect="https://remit.example.org/console/callback")
        yield Desk(issuer=issuer, gives=gives, signs_in=SignsIn(gateway.issuers[0], client, gives, authority, time.monotonic))
        await gives.close()
        await store.close()


GOOD = json.dumps(["ada", CLIENT])


@pytest.mark.parametrize(
    "said",
    [{}, {"aud": [CLIENT]}, {"aud": [CLIENT, "other"], "azp": CLIENT}, {"azp": CLIENT}],
    ids=str,
)
async def test_an_id_token_for_this_client_and_this_sign_in_says_who_it_is(desk: Desk, said: dict[str, Any]) -> None:
    assert await desk.comes_to(desk.token(**said)) == GOOD
    assert desk.gives.posted[-1]["code_verifier"] == desk.attempt.verifier


@pytest.mark.parametrize(
    "said",
    [
        {"nonce": None},
        {"nonce": "another"},
        {"nonce": ["x"]},
        {"aud": "another"},
        {"aud": "https://remit.example.org/mcp"},
        {"aud": [CLIENT, "other"]},
        {"aud": None},
        {"azp": "another"},
        {"aud": [CLIENT, "other"], "azp": "other"},
        {"iss": "https://elsewhere.example.org"},
        {"iss": None},
        {"exp": 1_000_000},
        {"exp": None},
        {"exp": 99_999_999_999},
        {"iat": None},
        {"iat": 1_000_000},
        {"iat": 99_999_999_999},
        {"nbf": 99_999_999_999},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 600},
    ],
    ids=str,
)
async def test_one_that_says_the_wrong_thing_signs_nobody_in(desk: Desk, said: dict[str, Any]) -> None:
    assert await desk.comes_to(desk.token(**said)) != GOOD


FORGED: dict[str, Callable[[Desk], object]] = {
    "another's key": lambda desk: signed(desk.claims(), rsa("first"), {"typ": "JWT"}),
    "an unknown key": lambda desk: signed(desk.claims(), rsa("x"), {"typ": "JWT"}),
    "an access token": lambda desk: signed(desk.claims(), desk.issuer.keys[0], {"typ": "at+jwt"}),
    "a logout token": lambda desk: signed(desk.claims(), desk.issuer.keys[0], {"typ": "logout+jwt"}),
    "an algorithm that is not allowed": lambda desk: signed(desk.claims(), desk.issuer.keys[0], {"typ": "JWT", "alg": "RS512"}),
    "no signature": lambda desk: desk.token().rsplit(".", 1)[0] + ".",
    "none": lambda _: None,
    "a list": lambda _: ["x"],
    "empty": lambda _: "",
    "rubbish": lambda _: "a.b.c",
}


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_one_signs_nobody_in(desk: Desk, name: str) -> None:
    assert await desk.comes_to(FORGED[name](desk)) != GOOD


async def test_the_person_is_named_by_the_claim_that_the_settings_name(desk: Desk) -> None:
    issuer = desk.signs_in.issuer.model_copy(update={"subject_claim": "email"})
    desk.signs_in.issuer = issuer
    assert await desk.comes_to(desk.token(email="ada@example.org")) == json.dumps(["ada@example.org", CLIENT])
    assert await desk.comes_to(desk.token()) != GOOD
