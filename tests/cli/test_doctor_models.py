"""`remit doctor --models` calls each model once and says how it went, without a secret."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from tests.bounds import LONG
from tests.cradle.commands import module
from tests.models.wire_forms import Compatible, Given, OpenAIChat
from tests.models.wire_server import WireServer, wire_server

KEY = "sk-live-0123456789abcdef"


async def doctor(environment: Mapping[str, str], folder: Path, *flags: str) -> list[dict[str, Any]]:
    command = module("mcp_server", "doctor", "--workspace", str(folder), "--json", *flags)
    with anyio.fail_after(LONG):
        ended = await anyio.run_process(command, env={"LAB_KEY": KEY, **environment}, check=False)
    return [json.loads(line) for line in ended.stdout.decode().splitlines()]


def settle(folder: Path, server: WireServer, **settings: Any) -> Path:
    """A person's settings, and an empty workspace."""
    lab = {"base_url": f"{server.address}/v1", "api_key_env": "LAB_KEY"}
    (folder / "config").mkdir(mode=0o700)
    (folder / "config" / "settings.yaml").write_text(json.dumps({"providers": {"lab": lab}, **settings}))
    workspace = folder / "workspace"
    workspace.mkdir()
    return workspace


def calls_of(findings: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(finding["state"], finding["says"]) for finding in findings if finding["about"] == "call"]


async def test_each_model_is_called_once_and_its_answer_timed(tmp_path: Path, environment: Mapping[str, str]) -> None:
    form = Compatible()
    async with wire_server(*(form.answer(Given(text="ready"), stream=False) for _ in range(3))) as server:
        workspace = settle(tmp_path, server, model="lab:small", small_model="lab:tiny", model_fallback="lab:spare")
        findings = await doctor(environment, workspace, "--models")
    said = calls_of(findings)
    assert [(state, says.split()[0], says.split(" (")[1]) for state, says in said] == [
        ("ok", model, "90 tokens in, 7 out, cost not known)") for model in sorted(("lab:small", "lab:tiny", "lab:spare"), key=order(said))
    ]
    assert sorted(body["model"] for body in server.bodies) == ["small", "spare", "tiny"]
    assert all(body["max_completion_tokens"] <= 64 for body in server.bodies)
    assert all(" answered in " in says for _, says in said)


def order(said: list[tuple[str, str]]) -> Any:
    """Models in the order in which they were told of."""
    names = [says.split()[0] for _, says in said]
    return names.index


async def test_a_search_engine_whose_key_is_not_there_is_named(tmp_path: Path, environment: Mapping[str, str]) -> None:
    async with wire_server() as server:
        workspace = settle(tmp_path, server, websearch={"provider": "brave", "api_key_env": "BRAVE_KEY"})
    without = [finding for finding in await doctor(environment, workspace) if finding["about"] == "websearch"]
    having = [finding for finding in await doctor({**environment, "BRAVE_KEY": "k"}, workspace) if finding["about"] == "websearch"]
    assert [(finding["state"], "`BRAVE_KEY`" in finding["says"]) for finding in without] == [("fault", True)]
    assert [(finding["state"], finding["says"]) for finding in having] == [("ok", "brave at its own address")]


async def test_a_model_that_a_client_lends_is_not_called(tmp_path: Path, environment: Mapping[str, str]) -> None:
    async with wire_server() as server:
        findings = await doctor(environment, settle(tmp_path, server, model="client", sampling=True), "--models")
    assert [finding["state"] for finding in findings if finding["about"] == "model"] == ["ok"]
    assert calls_of(findings) == []


async def test_what_went_wrong_is_told_without_the_key(tmp_path: Path, environment: Mapping[str, str]) -> None:
    async with wire_server(OpenAIChat().error(401, f"the key {KEY} is wrong", {})) as server:
        findings = await doctor(environment, settle(tmp_path, server, model="lab:small"), "--models")
    assert calls_of(findings) == [("fault", "lab:small: provider `lab`, model `small`: HTTP 401: the key [secret] is wrong")]
    assert KEY not in json.dumps(findings)


async def test_without_the_flag_nothing_is_sent(tmp_path: Path, environment: Mapping[str, str]) -> None:
    async with wire_server() as server:
        findings = await doctor(environment, settle(tmp_path, server, model="lab:small"))
    assert calls_of(findings) == []
    assert server.bodies == []
    assert any("lab:small for" in finding["says"] for finding in findings)
