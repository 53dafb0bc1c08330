"""`remit doctor` says whether those who are to be told of prompts can be."""

import base64
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.cradle.commands import module
from tests.gateway.notices.desk import desk


async def doctor(environment: Mapping[str, str], folder: Path) -> dict[str, dict[str, Any]]:
    command = module("mcp_server", "doctor", "--workspace", str(folder), "--json")
    done = await anyio.run_process(command, env=dict(environment), check=False)
    return {finding["about"]: finding for finding in map(json.loads, done.stdout.splitlines())}


@pytest.fixture
def workspace(tmp_path: Path, environment: Mapping[str, str]) -> Path:
    Path(environment["REMIT_CONFIG_DIR"]).mkdir(exist_ok=True)
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def say(environment: Mapping[str, str], text: str) -> None:
    (Path(environment["REMIT_CONFIG_DIR"]) / "settings.yaml").write_text(text)


async def test_it_names_what_shows_notices_and_what_to_do_where_nothing_does(environment: Mapping[str, str], workspace: Path) -> None:
    say(environment, "channels: [terminal, desktop]")
    nowhere = {**environment, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus"}
    with tempfile.TemporaryDirectory(prefix="remit") as folder:
        async with desk(Path(folder)) as there:
            with_one = await doctor({**environment, **there.environment}, workspace)
            assert there.shown == []
    without = await doctor(nowhere, workspace)
    assert with_one["desktop"]["says"] == "notices are shown by Tests 1 (Remit)"
    assert without["desktop"]["state"] == "note"
    assert "take `desktop` out of `channels`" in without["desktop"]["remedy"]


async def test_it_says_of_a_webhook_whether_it_can_be_signed_for_and_not_its_query(environment: Mapping[str, str], workspace: Path) -> None:
    say(environment, "channels: [terminal, webhook]\nwebhook: {url: 'https://hooks.example.org/a?key=hidden', secret_env: HOOK}")
    secret = "whsec_" + base64.b64encode(bytes(32)).decode()
    without, having = await doctor(environment, workspace), await doctor({**environment, "HOOK": secret}, workspace)
    assert without["webhook"]["state"] == "fault"
    assert "openssl rand" in without["webhook"]["remedy"]
    assert having["webhook"]["says"] == "hooks.example.org, signed with 1 secret; not called now"
    assert "hidden" not in json.dumps([without, having])


async def test_it_says_nothing_of_what_nobody_asked_for(environment: Mapping[str, str], workspace: Path) -> None:
    say(environment, "{}")
    assert {"desktop", "webhook"} & (await doctor(environment, workspace)).keys() == set()
