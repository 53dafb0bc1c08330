"""A gateway takes up what changes while it runs, keeps what was before where the new is bad, and says which and why."""

import json
import signal
import ssl
from pathlib import Path

import httpx2
import pytest

from mcp_server.errors import ConfigError
from mcp_server.gateway.certificate import context_of
from mcp_server.gateway.renewing import renewing_of
from mcp_server.settings.gateway import Tls
from tests.behaviour.gated import gated
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.gateway.proxied import Certificate, certificate_in


def tls_of(certificate: Certificate) -> Tls:
    return Tls(certificate=str(certificate.chain), private_key=str(certificate.key))


def shown_by(context: ssl.SSLContext) -> bytes:
    """The certificate that a client is shown, over no wire."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    client, server = trusting.wrap_bio(back, there), context.wrap_bio(there, back, server_side=True)
    for side in (client, server, client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    return shown


def test_a_certificate_is_taken_up_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    first, second = certificate_in(tmp_path, "tls"), certificate_in(tmp_path, "new")
    renewing = renewing_of(tls_of(first))
    before = shown_by(renewing.context)
    second.chain.replace(first.chain)
    renewing.look()
    assert ("is not the key of" in renewing.faults[0], shown_by(renewing.context)) == (True, before)
    second.key.replace(first.key)
    renewing.look()
    assert (renewing.faults, shown_by(renewing.context) == before) == ((), False)
    now = shown_by(renewing.context)
    first.key.unlink()
    renewing.look()
    assert (bool(renewing.faults), shown_by(renewing.context)) == (True, now)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        context_of(tls_of(first))


async def test_on_a_signal_all_is_read_anew_and_what_is_bad_or_must_wait_is_named(tmp_path: Path) -> None:
    certificate = certificate_in(tmp_path)
    world = make_world(tmp_path / "team")
    settings = world.places.managed / "settings.yaml"
    async with gated(world, {"tls": tls_of(certificate).model_dump()}) as secured:
        url = secured.url.replace("http:", "https:").replace("/mcp", "/healthz")
        good = json.loads(settings.read_text())
        certificate_in(tmp_path)
        settings.write_text(json.dumps({**good, "gateway": {**good["gateway"], "teems": {}}}))
        secured.process.send_signal(signal.SIGHUP)
        kept, *_ = await secured.logged("changed settings or agents are at fault; those from before stay in force")
        assert f"{settings}:1: unknown key `teems`; did you mean `teams`?" in kept["faults"]
        await secured.logged("the certificate was renewed")
        async with httpx2.AsyncClient(verify=ssl.create_default_context(cafile=str(certificate.chain)), timeout=LONG) as wire:
            assert (await wire.get(url)).text == "ok"
        limits = {"connections": 7}
        settings.write_text(
            json.dumps({**good, "sandbox": "none", "gateway": {**good["gateway"], "limits": limits, "everyone": {"tools": []}}})
        )
        secured.process.send_signal(signal.SIGHUP)
        waits, *_ = await secured.logged("changed settings wait for a restart")
        assert waits["keys"] == ["sandbox", "gateway.limits"]
