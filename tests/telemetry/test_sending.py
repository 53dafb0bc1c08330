"""`remit serve` with OpenTelemetry's variables: what it sends, and that it serves whatever becomes of that."""

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_server.cli import telling as switch_on
from mcp_server.telemetry import names
from mcp_server.telemetry.ending import NOBODY
from mcp_server.telemetry.switch import read_switch
from tests.behaviour.stories import bounded, errand, state_of, team_world
from tests.behaviour.world import World, make_world
from tests.protocol.connect import ERAS, ROOT, Era, Person, client_of, command, decides
from tests.telemetry.collector import Collector, collecting

CREDENTIAL = "hunter2-header"


def serving(world: World, **variables: str) -> tuple[str, ...]:
    """The real command line, with these variables."""
    env, *rest = world.command_line
    return (env, *(f"{name}={value}" for name, value in variables.items()), *rest)


@pytest.mark.parametrize("era", ERAS)
async def test_a_collector_gets_the_sdks_spans_and_ours_in_one_trace_and_the_numbers(era: Era, tmp_path: Path) -> None:
    wanted = {"invoke_agent lead", "invoke_agent writer", "execute_tool write", "decide write", "prompt write"}
    collector, spans = Collector(0), list[tuple[str, str, str]]()
    for attempt in range(3):  # its end has no more than some seconds for this: what a busy machine takes of them is tried again
        collector = await after_its_end(team_world(tmp_path / f"{attempt}"), era)
        spans = collector.spans
        if wanted <= {name for scope, name, _ in spans if scope == names.SCOPE} and names.RUN_SECONDS in collector.numbers:
            break
    assert wanted <= {name for scope, name, _ in spans if scope == names.SCOPE}
    assert ("mcp-python-sdk", "tools/call task") in {(scope, name) for scope, name, _ in spans}
    assert all(parent for scope, _, parent in spans if scope == names.SCOPE)
    assert collector.services == {"remit"}
    assert {names.DECISIONS, names.PROMPT_SECONDS, names.RUN_SECONDS, names.USED} <= collector.numbers
    assert {headers.get("authorization") for headers in collector.headers} == {CREDENTIAL}


async def after_its_end(world: World, era: Era) -> Collector:
    """What a collector was sent by a server that told of one task and is gone: nothing more comes."""
    with collecting() as collector:
        line = serving(world, OTEL_EXPORTER_OTLP_ENDPOINT=collector.address, OTEL_EXPORTER_OTLP_HEADERS=f"authorization={CREDENTIAL}")
        async with client_of(command(*line), era, Person(decides("allow_once"))) as client:
            result = await bounded(client.call_tool("task", errand("lead")))
        assert state_of(result) == "completed"
    return collector


async def test_a_collector_that_is_not_there_keeps_no_client_waiting_and_nothing_from_its_end(tmp_path: Path) -> None:
    line = serving(make_world(tmp_path, script={}), OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    async with client_of(command(*line), "2026-07-28", None) as client:
        result = await bounded(client.call_tool("read", {"filePath": "README.md"}))
    assert not result.is_error


async def test_the_console_exporter_leaves_standard_output_to_the_protocol(tmp_path: Path) -> None:
    line = serving(make_world(tmp_path, script={}), OTEL_TRACES_EXPORTER="console", OTEL_METRICS_EXPORTER="console")
    async with client_of(command(*line), "2025-11-25", None) as client:
        result = await bounded(client.call_tool("read", {"filePath": "README.md"}))
    assert not result.is_error


ADDRESS = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ({}, ("none", "none")),
        (ADDRESS, ("otlp", "otlp")),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, ("none", "none")),
        ({**ADDRESS, "OTEL_SDK_DISABLED": "True"}, ("none", "none")),
        ({**ADDRESS, "OTEL_METRICS_EXPORTER": "none"}, ("otlp", "none")),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, ("otlp", "none")),
        ({"OTEL_TRACES_EXPORTER": "console"}, ("console", "none")),
    ],
)
def test_the_variables_are_those_of_opentelemetry(said: dict[str, str], means: tuple[str, str]) -> None:
    switch = read_switch(said)
    assert (switch.traces, switch.metrics, switch.faults) == (*means, ())


@pytest.mark.parametrize(
    ("said", "words"),
    [({"OTEL_TRACES_EXPORTER": "zipkin"}, "zipkin"), ({**ADDRESS, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf")],
)
def test_what_is_not_followed_is_told(said: dict[str, str], words: str) -> None:
    switch = read_switch(said)
    assert not switch.on
    assert words in switch.faults[0]


def test_a_missing_extra_is_told_and_the_server_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mcp_server.telemetry.exporting", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    said: list[str] = []
    monkeypatch.setattr(switch_on, "log", _Log(said))
    assert switch_on.telling(ADDRESS) == NOBODY
    assert said == [switch_on.EXTRA]


class _Log:
    def __init__(self, said: list[str]) -> None:
        self._said = said

    def warning(self, words: str, **more: object) -> None:
        self._said.append(words)


LOADED = """
import sys
from mcp_server.cli import serve
from mcp_server.cli.telling import telling
telling({})
print(sorted(name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.metrics"))))
"""


def test_without_the_variables_nothing_of_the_sdk_is_loaded() -> None:
    """A client over stdio waits for every import."""
    ended = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.stdout.strip(), ended.stderr) == ("[]", "")
