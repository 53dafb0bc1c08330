"""An open stream ends with its token, or once its caller is not received there; a call that was let in goes on to its end."""

import json
import os
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.behaviour.stories import until
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing
from tests.gateway.inside import Inside, inside
from tests.gateway.speaking import Speaker
from tests.protocol.connect import ERAS, Era

each_era = pytest.mark.parametrize("era", ERAS)
LIVES = 600


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with issuing() as issuer:
        yield issuer


@pytest.fixture
async def gateway(issuer: Issuer, tmp_path: Path) -> AsyncGenerator[Inside]:
    secret = tmp_path / "secret"
    secret.write_text("s3cr3t")
    secret.chmod(0o600)
    asked = {"url": f"{issuer.url}/introspect", "client_id": "remit", "client_secret_file": str(secret)}
    world = make_world(tmp_path / "team", settings={"permission": {"bash": "allow", "edit": "allow"}})
    async with inside(world, {"issuers": [{"issuer": issuer.url, "introspection": asked}]}) as served:
        yield served


def opaque(issuer: Issuer, audience: str, name: str, lives: float) -> str:
    issuer.opaque[name] = {"active": True, "aud": audience, "sub": "ada", "client_id": "editor", "exp": int(time.time() + lives)}
    return name


async def ends_when(speaker: Speaker, what: str, gateway: Inside, issuer: Issuer) -> None:
    async with speaker.stream() as stream:
        assert stream.status_code == 200
        match what:
            case "ends":
                gateway.ahead[0] += LIVES + 31
            case "is revoked at its issuer":
                issuer.opaque[speaker.token] = {"active": False}
                gateway.ahead[0] += 31
            case "is a key that is revoked":
                assert await gateway.store.revoke_api_key("key_nightly", now=time.time())
            case _:
                raise AssertionError
        with anyio.fail_after(LONG):
            async for _ in stream.aiter_bytes():
                pass


@each_era
@pytest.mark.parametrize("what", ["ends", "is revoked at its issuer", "is a key that is revoked"])
async def test_a_stream_ends_when_its_token(gateway: Inside, issuer: Issuer, era: Era, what: str) -> None:
    token = await gateway.key() if "key" in what else opaque(issuer, gateway.url, "old", LIVES)
    async with httpx2.AsyncClient(timeout=LONG) as wire:
        speaker = await Speaker(wire=wire, url=gateway.url, token=token, era=era).opened()
        await ends_when(speaker, what, gateway, issuer)
        refused = await speaker.posted("tools/list")
        assert refused.status_code == 401
        if "key" in what:
            return
        speaker.token = opaque(issuer, gateway.url, "new", 10 * LIVES)
        async with speaker.stream() as stream:
            assert stream.status_code == 200, "a newer token of the same caller opens the stream of the same session again"


@pytest.mark.parametrize(
    ("era", "taken"),
    [("2025-11-25", {"roles": {"member": [{"subject": "eve"}]}}), ("2026-07-28", {"everyone": {"workspaces": []}})],
    ids=["no member any more", "not given the workspace any more"],
)
async def test_a_stream_ends_when_its_caller_is_not_received_there_any_more(
    gateway: Inside, issuer: Issuer, era: Era, taken: dict[str, Any]
) -> None:
    async with httpx2.AsyncClient(timeout=LONG) as wire:
        speaker = await Speaker(wire=wire, url=gateway.url, token=opaque(issuer, gateway.url, "old", LIVES), era=era).opened()
        async with speaker.stream() as stream:
            assert stream.status_code == 200
            file = gateway.world.places.managed / "settings.yaml"
            said = json.loads(file.read_text())
            file.write_text(json.dumps({**said, "gateway": {**said["gateway"], **taken}}))
            os.utime(file, (1, 1))
            with anyio.fail_after(LONG):
                async for _ in stream.aiter_bytes():
                    pass
        assert (await speaker.posted("tools/list")).status_code in (403, 404)


@each_era
async def test_a_stream_stays_open_as_long_as_its_token_counts(gateway: Inside, issuer: Issuer, era: Era) -> None:
    async with httpx2.AsyncClient(timeout=LONG) as wire:
        speaker = await Speaker(wire=wire, url=gateway.url, token=opaque(issuer, gateway.url, "old", LIVES), era=era).opened()
        with anyio.fail_after(LONG):
            async with speaker.stream() as stream, anyio.create_task_group() as group:

                async def until_it_ends() -> None:
                    async for _ in stream.aiter_bytes():
                        pass
                    raise AssertionError("the stream ended")

                group.start_soon(until_it_ends)
                asked = issuer.asked.count("/introspect")
                while issuer.asked.count("/introspect") < asked + 3:
                    gateway.ahead[0] += 31
                    await anyio.sleep(0.05)
                group.cancel_scope.cancel()


@each_era
async def test_a_call_that_was_let_in_goes_on_although_its_token_has_ended(gateway: Inside, issuer: Issuer, era: Era) -> None:
    token = opaque(issuer, gateway.url, "old", LIVES)
    started, done = gateway.world.workspace / "started", gateway.world.workspace / "go"
    async with httpx2.AsyncClient(timeout=LONG) as wire:
        speaker = await Speaker(wire=wire, url=gateway.url, token=token, era=era).opened()
        said: list[dict[str, Any]] = []

        async def call() -> None:
            command = "touch started; while [ ! -e go ]; do sleep 0.05; done; echo it went on"
            said.append(await speaker.calls("bash", command=command, description="waits"))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await until(anyio.Path(started).exists)
            gateway.ahead[0] += LIVES + 31
            assert (await speaker.posted("tools/list")).status_code == 401
            done.touch()
    assert "it went on" in str(said[0]["result"])
