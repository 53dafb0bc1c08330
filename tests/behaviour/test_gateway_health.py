"""What a gateway tells those who watch it: whether it lives and is ready, its numbers, and a line for each request."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.behaviour.gated import Gated, gated, visiting
from tests.behaviour.stories import until
from tests.behaviour.world import make_world
from tests.bounds import LONG
from tests.gateway.authorization import Issuer, issuing
from tests.protocol.connect import ERAS, Era

each_era = pytest.mark.parametrize("era", ERAS)

WATCHED = "told at an address of their own: health, readiness and numbers"
BASE = {"metrics": {"listen": "127.0.0.1:0"}}
"""A free port, which the log tells."""


@asynccontextmanager
async def watched(folder: Path, issuer: Issuer, **more: Any) -> AsyncGenerator[tuple[Gated, str]]:
    """A gateway, and the address for those who watch."""
    async with gated(make_world(folder), {"issuers": [{"issuer": issuer.url}], **BASE, **more}, permission={"edit": "deny"}) as served:
        (line,) = await served.logged(WATCHED)
        yield served, f"http://127.0.0.1:{line['port']}"


async def test_health_and_readiness_are_told_to_anybody_and_no_more_than_whether(tmp_path: Path) -> None:
    async with issuing() as issuer, watched(tmp_path, issuer) as (served, beside), httpx2.AsyncClient(timeout=LONG) as wire:
        own = served.url.removesuffix("/mcp")
        strange = {"host": "10.0.0.5"}
        for path, said in (("/healthz", "ok"), ("/readyz", "ready")):
            answer = await wire.get(own + path, headers=strange)
            assert (answer.status_code, answer.text) == (200, said)
        assert (await wire.get(own + "/metrics")).status_code == 404
        told = (await wire.get(beside + "/readyz")).json()
        assert told["ready"] is True
        assert {one["name"]: one["state"] for one in told["looks"]} == {
            "ending": "ok",
            "store": "ok",
            f"issuer {issuer.url}": "ok",
            "settings": "ok",
        }
        assert served.lines("request") == [line for line in served.lines("request") if line["path"] == "(other)"]


async def test_a_gateway_whose_issuers_keys_cannot_be_had_is_not_ready_and_says_why_where_it_may(tmp_path: Path) -> None:
    async with issuing() as issuer, httpx2.AsyncClient(timeout=LONG) as wire:
        issuer.broken = True
        async with watched(tmp_path, issuer) as (served, beside):
            answer = await wire.get(served.url.removesuffix("/mcp") + "/readyz")
            assert (answer.status_code, answer.text) == (503, "not ready")
            told = (await wire.get(beside + "/readyz")).json()
            (fault,) = [one for one in told["looks"] if one["state"] != "ok"]
            assert fault["name"] == f"issuer {issuer.url}"
            assert "503" in fault["says"]


async def test_settings_that_became_bad_are_told_and_keep_nobody_away(tmp_path: Path) -> None:
    async with issuing() as issuer, watched(tmp_path, issuer) as (served, beside), httpx2.AsyncClient(timeout=LONG) as wire:
        (served.world.places.managed / "settings.yaml").write_text('{"gateway": {"url": 7}}')
        answer = await wire.get(beside + "/readyz")
        assert answer.status_code == 200
        (fault,) = [one for one in answer.json()["looks"] if one["state"] != "ok"]
        assert (fault["name"], fault["state"]) == ("settings", "note")
        assert "gateway.url" in fault["says"]


@each_era
async def test_the_numbers_count_what_was_called_and_name_nobody(tmp_path: Path, era: Era) -> None:
    async with issuing() as issuer, watched(tmp_path, issuer) as (served, beside), httpx2.AsyncClient(timeout=LONG) as wire:
        async with visiting(served.url, issuer.token(served.url), era) as client:
            await client.call_tool("read", {"filePath": "README.md"})
            await client.call_tool("no_such_tool", {})
        await wire.post(served.url, json={})
        found: dict[str, list[tuple[dict[str, str], float]]] = {}

        async def told() -> bool:
            text = (await wire.get(beside + "/metrics")).text
            found.clear()
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    found.setdefault(sample.name, []).append((sample.labels, sample.value))
            return any(
                labels["http_response_status_code"] == "401" for labels, _ in found.get("http_server_request_duration_seconds_count", ())
            )

        await until(told)
        calls = {
            labels["gen_ai_tool_name"]: (labels["remit_verdict"], value)
            for labels, value in found["remit_requests_total"]
            if labels["mcp_method_name"] == "tools/call"
        }
        assert calls == {"read": ("done", 1.0), "_OTHER": ("", 1.0)}
        assert [value for labels, value in found["remit_decisions_total"] if labels["gen_ai_tool_name"] == "read"] == [1.0]
        assert "remit_prompts_open" in found
        every = json.dumps(found)
        assert not [name for name in ("ada", "editor", issuer.url, "ses_", "run_") if name in every]


@each_era
async def test_each_request_has_its_line_with_who_and_what_came_of_it_and_without_token_or_argument(
    tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    teams = {"docs": {"who": [{"subject": "ada"}]}}
    async with issuing() as issuer, watched(tmp_path, issuer, teams=teams) as (served, _), httpx2.AsyncClient(timeout=LONG) as wire:
        token = issuer.token(served.url)
        async with visiting(served.url, token, era) as client:
            await client.call_tool("read", {"filePath": "README.md"})
            await client.call_tool("write", {"filePath": "s3cret.txt", "content": "s3cret"})
            await client.call_tool("odd tool s3cret", {})
        await wire.post(served.url, json={}, headers={"authorization": "Bearer s3cret"})
        lines = list[dict[str, Any]]()

        async def every() -> bool:  # each is written once its answer is whole, which the client may have read before
            lines[:] = served.lines("request")
            return {"read", "write", "(unfit)"} <= {line["tool"] for line in lines} and any(line["status"] == 401 for line in lines)

        await until(every)
        (read,) = [line for line in lines if line["tool"] == "read"]
        assert read["principal"] == f'["{issuer.url}","ada","editor"]'
        assert (read["method"], read["verdict"], read["status"], read["teams"]) == ("tools/call", "done", 200, ["docs"])
        assert (read["client"], read["path"]) == ("127.0.0.1", "/mcp")
        assert read["trace"].startswith("00-")
        assert read["bytes"] > 0
        (written,) = [line for line in lines if line["tool"] == "write"]
        assert written["verdict"] == "denied by rule"
        assert [line["tool"] for line in lines if line["tool"] == "(unfit)"] == ["(unfit)"]
        (refused,) = [line for line in lines if line["status"] == 401]
        assert refused["principal"] is None
        told = "\n".join(json.dumps(line) for line in lines)
        assert "s3cret" not in told
        assert token not in served.log.read_text()


async def test_the_lines_can_be_left_out(tmp_path: Path) -> None:
    async with (
        issuing() as issuer,
        gated(make_world(tmp_path), {"issuers": [{"issuer": issuer.url}], "access_log": False}) as served,
        httpx2.AsyncClient(timeout=LONG) as wire,
    ):
        assert (await wire.post(served.url, json={})).status_code == 401
        assert served.lines("request") == []
