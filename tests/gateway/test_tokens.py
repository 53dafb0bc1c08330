"""Which tokens count: the authority against a real issuer on loopback. What is wrong with the others stands in the refusal, for the log."""

import base64
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from joserfc.jwk import ECKey, OKPKey, RSAKey

from mcp_server.gateway.authority import Authority
from mcp_server.gateway.fetching import Fetcher
from mcp_server.gateway.issuers import FRESH, PAUSE, STALE, metadata_places
from mcp_server.gateway.keys import KeyHolders, digest_of, is_key, new_key
from mcp_server.gateway.verified import Refused
from mcp_server.principal import TokenPrincipal
from mcp_server.settings.gateway import Gateway
from mcp_server.store.api_keys import ApiKey
from mcp_server.store.sqlite import open_store
from tests.gateway.authorization import Issuer, issuing, rsa, signed

URL = "https://remit.example.org/mcp"


@dataclass(slots=True, kw_only=True)
class Desk:
    """An authority that trusts two issuers, and whose clocks the test holds."""

    authority: Authority
    issuer: Issuer
    other: Issuer
    keys: KeyHolders
    steady: list[float] = field(default_factory=lambda: [1000.0])
    wall: list[float] = field(default_factory=lambda: [time.time()])

    async def refusal(self, token: str) -> str:
        with pytest.raises(Refused) as refused:
            await self.authority.verify(token)
        assert not token or token not in str(refused.value)
        return str(refused.value)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    secret = tmp_path / "secret"
    secret.write_text("s3cr3t/+\n")
    secret.chmod(0o600)
    async with issuing() as issuer, issuing() as other:
        asked = {"url": f"{issuer.url}/introspect", "client_id": "remit", "client_secret_file": str(secret)}
        gateway = Gateway.model_validate(
            {"url": URL, "issuers": [{"issuer": issuer.url, "introspection": asked}, {"issuer": other.url, "algorithms": ["ES256"]}]}
        )
        fetcher, store = Fetcher(), open_store(tmp_path / "remit.db")
        steady, wall = [1000.0], [time.time()]
        keys = KeyHolders(store, lambda: wall[0], ["remit"])
        authority = Authority(gateway, fetcher, keys, steady=lambda: steady[0], clock=lambda: wall[0])
        yield Desk(authority=authority, issuer=issuer, other=other, keys=keys, steady=steady, wall=wall)
        await fetcher.close()
        await store.close()


async def test_a_good_token_stands_for_its_issuer_subject_and_client(desk: Desk) -> None:
    found = await desk.authority.verify(desk.issuer.token(URL, scope="remit remit:shell", groups=["dev"]))
    assert found.principal == TokenPrincipal(issuer=desk.issuer.url, subject="ada", client="editor")
    assert found.scopes == {"remit", "remit:shell"}
    assert found.claims["groups"] == ["dev"]
    assert found.expires_at is not None


@pytest.mark.parametrize(
    "said",
    [
        {"aud": ["https://elsewhere.example.org", URL]},
        {"client_id": None, "azp": "editor"},
        {"iat": None, "nbf": None},
    ],
    ids=["several audiences", "azp", "no iat"],
)
async def test_what_issuers_say_in_several_ways_counts_in_each(desk: Desk, said: dict[str, Any]) -> None:
    assert (await desk.authority.verify(desk.issuer.token(URL, **said))).principal.client == "editor"


@pytest.mark.parametrize(
    "said",
    [
        {"aud": "https://elsewhere.example.org/mcp"},
        {"aud": None},
        {"aud": f"{URL}/"},
        {"exp": 1_000_000},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 99_999_999_999},
        {"iat": 99_999_999_999},
        {"exp": 99_999_999_999},
        {"exp": 99_999_999_999, "iat": None, "nbf": None},
        {"iss": "https://elsewhere.example.org"},
        {"iss": None},
        {"iss": ["x"]},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 600},
        {"client_id": None},
    ],
    ids=str,
)
async def test_a_signed_token_that_says_the_wrong_thing_is_refused(desk: Desk, said: dict[str, Any]) -> None:
    await desk.refusal(desk.issuer.token(URL, **said))


def _written(*parts: dict[str, Any]) -> str:
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


def _unsigned(issuer: Issuer) -> str:
    return f"{_written({'alg': 'none', 'typ': 'JWT'}, issuer.claims(aud=URL))}."


def _with_the_public_key_as_a_secret(issuer: Issuer) -> str:
    key = issuer.keys[0]
    assert isinstance(key, RSAKey)
    whole = _written({"alg": "HS256", "typ": "JWT", "kid": "first"}, issuer.claims(aud=URL))
    mark = hmac.digest(key.as_pem(private=False), whole.encode(), "sha256")
    return f"{whole}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def _changed(issuer: Issuer) -> str:
    head, _, signature = issuer.token(URL).split(".")
    return f"{head}.{_written(issuer.claims(aud=URL, sub='root'))}.{signature}"


FORGED: dict[str, Callable[[Issuer], str]] = {
    "none": _unsigned,
    "HS256 with the public key": _with_the_public_key_as_a_secret,
    "changed": _changed,
    "another key of the same name": lambda issuer: issuer.token(URL, key=rsa("first")),
    "its own key in the header": lambda issuer: (
        lambda key: issuer.token(URL, key=key, header={"jwk": key.as_dict(private=False), "kid": "first"})
    )(rsa("first")),
    "a key elsewhere": lambda issuer: issuer.token(URL, key=rsa("x"), header={"jku": "https://elsewhere.example.org/keys"}),
    "a certificate elsewhere": lambda issuer: issuer.token(URL, key=rsa("x"), header={"x5u": "https://elsewhere.example.org/c"}),
    "an unknown key": lambda issuer: issuer.token(URL, key=rsa("x")),
    "another use": lambda issuer: issuer.token(URL, header={"typ": "logout+jwt"}),
    "an algorithm that is not allowed": lambda issuer: issuer.token(URL, header={"alg": "RS512"}),
    "rubbish": lambda _: "a.b.c",
    "rubbish that is base64": lambda _: "e30.e30.e30",
    "five parts": lambda _: "a.b.c.d.e",
    "empty": lambda _: "",
    "too long": lambda issuer: issuer.token(URL, padding="x" * 20_000),
}


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_token_is_refused(desk: Desk, name: str) -> None:
    await desk.authority.verify(desk.issuer.token(URL))
    await desk.refusal(FORGED[name](desk.issuer))


async def test_one_issuers_key_never_vouches_for_anothers_token(desk: Desk) -> None:
    key = ECKey.generate_key("P-256", {"kid": "first"})
    desk.other.keys = [key]
    good = desk.other.token(URL, header={"alg": "ES256"})
    assert (await desk.authority.verify(good)).principal.issuer == desk.other.url
    await desk.refusal(signed(desk.issuer.claims(aud=URL), key, {"alg": "ES256"}))
    await desk.refusal(signed(desk.other.claims(aud=URL), desk.issuer.keys[0]))


@pytest.mark.filterwarnings("ignore:Key size", "ignore:EdDSA is deprecated")
async def test_each_curve_goes_with_its_own_algorithm(desk: Desk) -> None:
    desk.issuer.keys = [OKPKey.generate_key("Ed25519", {"kid": "ed"}), ECKey.generate_key("P-384", {"kid": "ec"}), rsa("short", 1024)]
    await desk.authority.verify(desk.issuer.token(URL, header={"alg": "EdDSA"}))
    await desk.authority.verify(desk.issuer.token(URL, key=desk.issuer.keys[1], header={"alg": "ES384"}))
    await desk.refusal(desk.issuer.token(URL, key=desk.issuer.keys[2]))


async def test_a_new_key_counts_at_once_an_old_one_no_more_and_made_up_names_do_not_hammer_the_issuer(desk: Desk) -> None:
    old = desk.issuer.token(URL)
    await desk.authority.verify(old)
    desk.issuer.rotate("second")
    desk.steady[0] += PAUSE
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(desk.authority.verify, desk.issuer.token(URL))
    assert desk.issuer.asked.count("/keys") == 2
    await desk.refusal(old)
    for number in range(50):
        await desk.refusal(desk.issuer.token(URL, header={"kid": f"made-up-{number}"}))
    assert desk.issuer.asked.count("/keys") == 2


async def test_keys_are_fetched_anew_when_they_are_old_and_outlive_an_issuer_that_is_away_for_a_while_only(desk: Desk) -> None:
    token = desk.issuer.token(URL)
    await desk.authority.verify(token)
    desk.issuer.broken = True
    desk.steady[0] += FRESH + 1
    await desk.authority.verify(token)
    desk.steady[0] += STALE
    assert await desk.refusal(token) == "the keys of its issuer cannot be had"
    desk.issuer.broken = False
    desk.steady[0] += PAUSE
    await desk.authority.verify(token)


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://elsewhere.example.org"},
        {"jwks_uri": "http://elsewhere.example.org/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
    ],
    ids=str,
)
async def test_metadata_that_is_anothers_or_leads_astray_is_not_believed(desk: Desk, metadata: dict[str, Any]) -> None:
    desk.issuer.metadata = metadata
    assert await desk.refusal(desk.issuer.token(URL)) == "the keys of its issuer cannot be had"
    assert "/keys" not in desk.issuer.asked


async def test_a_document_that_is_far_too_large_is_not_read(desk: Desk) -> None:
    desk.issuer.grown = True
    await desk.refusal(desk.issuer.token(URL))


def test_metadata_is_looked_for_where_the_standards_put_it() -> None:
    assert metadata_places("https://login.example.org/tenant") == (
        "https://login.example.org/.well-known/oauth-authorization-server/tenant",
        "https://login.example.org/.well-known/openid-configuration/tenant",
        "https://login.example.org/tenant/.well-known/openid-configuration",
    )


# ---- opaque tokens --------------------------------------------------------------------------------


async def test_an_opaque_token_is_asked_about_once_for_a_while(desk: Desk) -> None:
    good = {"active": True, "aud": URL, "sub": "ada", "client_id": "editor", "exp": int(time.time()) + 600, "scope": "remit"}
    desk.issuer.opaque["opaque"] = good
    for _ in range(3):
        assert (await desk.authority.verify("opaque")).principal.subject == "ada"
    assert desk.issuer.asked.count("/introspect") == 1
    desk.issuer.opaque["opaque"] = {"active": False}
    desk.wall[0] += 31
    await desk.refusal("opaque")


@pytest.mark.parametrize(
    "wrong",
    [
        {"active": False},
        {"active": "true"},
        {"aud": "https://elsewhere.example.org"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"iss": "x"},
    ],
    ids=str,
)
async def test_an_opaque_token_that_is_not_active_for_us_is_refused(desk: Desk, wrong: dict[str, Any]) -> None:
    good = {"active": True, "aud": URL, "sub": "ada", "client_id": "editor", "exp": int(time.time()) + 600}
    desk.issuer.opaque["opaque"] = {**good, **wrong}
    await desk.refusal("opaque")


# ---- API keys -------------------------------------------------------------------------------------


def test_a_key_has_a_form_that_shows_when_a_part_is_missing() -> None:
    key = new_key()
    assert is_key(key)
    assert not is_key(key[:-1])
    assert not is_key(key.replace(key[20], "a" if key[20] != "a" else "b", 1))
    assert new_key() != key


async def test_a_key_counts_until_it_ends_is_rotated_away_or_revoked(desk: Desk, tmp_path: Path) -> None:
    store = open_store(tmp_path / "remit.db")
    now, first, second = desk.wall[0], new_key(), new_key()
    key = ApiKey(id="key_a", name="robot", scopes=("remit:shell",), created_at=now, expires_at=now + 100)
    await store.add_api_key(key, digest_of(first))
    found = await desk.authority.verify(first)
    assert found.principal == TokenPrincipal(issuer="remit:keys", subject="robot", client="key_a")
    assert found.scopes == {"remit", "remit:shell"}
    assert (await store.api_keys())[0].used_at == now
    assert await store.rotate_api_key(key.id, digest_of(second), now=now, old_until=now + 10, expires_at=now + 200)
    assert (await desk.authority.verify(first)).principal == (await desk.authority.verify(second)).principal
    desk.wall[0] = now + 11
    await desk.refusal(first)
    await desk.authority.verify(second)
    await store.revoke_api_key(key.id, now=now)
    await desk.refusal(second)
    again = replace(key, id="key_b")
    await store.add_api_key(again, digest_of(third := new_key()))
    assert (await desk.authority.verify(third)).principal != found.principal
    desk.wall[0] = now + 101
    await desk.refusal(third)
    await desk.refusal(new_key())
    await store.close()
