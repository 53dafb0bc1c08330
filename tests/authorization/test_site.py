"""The tests' own authorization server keeps the standards that Remit relies on: what passes here with it is not passed by its laxness."""

import base64
import hashlib
import secrets
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
import pytest

from tests.authorization.records import Member
from tests.authorization.site import SignIn, signing_in
from tests.authorization.walking import walked
from tests.bounds import LONG

RESOURCE = "https://remit.example.org/mcp"
BACK = "http://127.0.0.1:9/callback"


@pytest.fixture
async def server() -> AsyncGenerator[SignIn]:
    async with signing_in() as server:
        server.member("ada", groups=["dev"])
        yield server


class Program:
    """A public client that does by hand what libraries do."""

    def __init__(self, server: SignIn, id: str) -> None:
        self.server = server
        self.id = id
        self.verifier = secrets.token_urlsafe(48)

    @classmethod
    async def registered(cls, server: SignIn) -> "Program":
        asked = {"redirect_uris": [BACK], "token_endpoint_auth_method": "none", "client_name": "by hand"}
        async with httpx2.AsyncClient(timeout=LONG) as wire:
            answer = await wire.post(f"{server.url}/register", json=asked)
        assert answer.status_code == 201, answer.text
        assert "client_secret" not in answer.json()
        return cls(server, answer.json()["client_id"])

    def address(self, **said: str | None) -> str:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        usual = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": BACK,
            "scope": "openid remit",
            "state": "s",
            "nonce": "n",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": RESOURCE,
        }
        return f"{self.server.url}/authorize?{urlencode({k: v for k, v in {**usual, **said}.items() if v is not None})}"

    async def code(self, member: Member) -> str:
        came = parse_qs(urlsplit(await walked(self.address(), member)).query)
        assert (came["state"], came["iss"]) == (["s"], [self.server.url])
        return came["code"][0]

    async def token(self, **form: str) -> httpx2.Response:
        usual = {"client_id": self.id, "resource": RESOURCE}
        async with httpx2.AsyncClient(timeout=LONG) as wire:
            return await wire.post(f"{self.server.url}/token", data={**usual, **form})

    async def redeemed(self, code: str, **form: str) -> httpx2.Response:
        return await self.token(
            grant_type="authorization_code", code=code, **{"redirect_uri": BACK, "code_verifier": self.verifier, **form}
        )


async def read(server: SignIn, token: str, audience: str) -> dict[str, Any]:
    async with httpx2.AsyncClient(timeout=LONG) as wire:
        keys = jwt.PyJWKSet.from_dict((await wire.get(f"{server.url}/keys")).json())
    key = keys[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, algorithms=["RS256"], audience=audience, issuer=server.url)


async def test_a_code_gives_a_token_for_the_resource_and_an_id_token_for_the_client(server: SignIn) -> None:
    program = await Program.registered(server)
    given = (await program.redeemed(await program.code(server.member("ada")))).json()
    access = await read(server, given["access_token"], RESOURCE)
    assert (access["sub"], access["client_id"], access["scope"], access["groups"]) == ("ada", program.id, "openid remit", ["dev"])
    identity = await read(server, given["id_token"], program.id)
    assert (identity["sub"], identity["nonce"], identity["groups"]) == ("ada", "n", ["dev"])


@pytest.mark.parametrize(
    "form",
    [{"code_verifier": "x" * 64}, {"redirect_uri": "http://127.0.0.1:9/other"}, {"resource": "https://elsewhere.example.org"}],
    ids=str,
)
async def test_a_code_is_good_for_whoever_asked_for_it_alone(server: SignIn, form: dict[str, str]) -> None:
    program = await Program.registered(server)
    code = await program.code(server.member("ada"))
    assert (await program.redeemed(code, **form)).status_code == 400
    other = await Program.registered(server)
    other.verifier = program.verifier
    assert (await other.redeemed(code)).status_code == 400


async def test_a_code_and_a_refresh_token_are_good_once_and_a_refresh_token_that_comes_twice_ends_all(server: SignIn) -> None:
    program = await Program.registered(server)
    code = await program.code(server.member("ada"))
    first = (await program.redeemed(code)).json()
    assert (await program.redeemed(code)).status_code == 400
    second = (await program.token(grant_type="refresh_token", refresh_token=first["refresh_token"])).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert (await program.token(grant_type="refresh_token", refresh_token=first["refresh_token"])).status_code == 400
    assert (await program.token(grant_type="refresh_token", refresh_token=second["refresh_token"])).status_code == 400


@pytest.mark.parametrize(
    "said",
    [{"code_challenge_method": "plain"}, {"code_challenge_method": None, "code_challenge": None}, {"redirect_uri": "http://127.0.0.1:9/x"}],
    ids=str,
)
async def test_without_pkce_or_with_another_address_there_is_no_page_to_agree_on(server: SignIn, said: dict[str, str | None]) -> None:
    program = await Program.registered(server)
    async with httpx2.AsyncClient(timeout=LONG) as browser:
        assert (await browser.get(program.address(**said))).status_code == 400


async def test_an_opaque_token_is_told_about_to_who_has_a_secret_until_it_is_revoked(server: SignIn) -> None:
    server.engine.opaque = True
    server.client("remit", secret="s3cr3t")  # noqa: S106 - the test's own
    program = await Program.registered(server)
    token = (await program.redeemed(await program.code(server.member("ada")))).json()["access_token"]
    async with httpx2.AsyncClient(timeout=LONG) as wire:
        said = (await wire.post(f"{server.url}/introspect", data={"token": token}, auth=("remit", "s3cr3t"))).json()
        assert (said["active"], said["sub"], said["aud"]) == (True, "ada", RESOURCE)
        assert (await wire.post(f"{server.url}/introspect", data={"token": token}, auth=("remit", "wrong"))).status_code == 401
        await wire.post(f"{server.url}/revoke", data={"token": token, "client_id": program.id})
        assert (await wire.post(f"{server.url}/introspect", data={"token": token}, auth=("remit", "s3cr3t"))).json() == {"active": False}
