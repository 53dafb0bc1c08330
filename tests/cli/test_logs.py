"""What `serve` logs: one JSON object a line, from our rooms and from libraries alike, and no secret in it."""

import io
import json
import logging
import sys
from collections.abc import Iterator

import click
import pytest
import structlog

from mcp_server.__main__ import main
from mcp_server.cli.logs import log_to
from mcp_server.cli.main import remit


@pytest.fixture(autouse=True)
def logging_put_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, ours = root.handlers, root.level, structlog.get_config()
    yield
    root.handlers, root.level = handlers, level
    structlog.configure(**ours)


def test_each_line_is_one_json_object_with_time_level_and_room() -> None:
    stream = io.StringIO()
    log_to(stream, "info", {})
    structlog.get_logger("protocol").info("ready", url="http://127.0.0.1:7717/mcp")
    logging.getLogger("somebody.else").warning("odd %s", "thing")
    structlog.get_logger("protocol").debug("not shown")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["level"], first["logger"], first["url"]) == ("ready", "info", "protocol", "http://127.0.0.1:7717/mcp")
    assert (second["event"], second["level"], second["logger"]) == ("odd thing", "warning", "somebody.else")
    assert first["timestamp"].endswith("Z")


def test_a_secret_of_the_environment_never_reaches_the_log() -> None:
    stream = io.StringIO()
    log_to(stream, "info", {"SOME_API_KEY": 'abc"def-123456', "HARMLESS": "value-of-nothing"})
    try:
        raise ValueError('key abc"def-123456 was refused')
    except ValueError:
        structlog.get_logger("models").exception("failed", told='abc"def-123456', other="value-of-nothing")
    (line,) = stream.getvalue().splitlines()
    assert "def-123456" not in line
    assert "value-of-nothing" in line
    assert "ValueError" in json.loads(line)["exception"]


def test_a_command_logs_to_standard_error_and_tells_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def tells() -> None:
        structlog.get_logger("store").warning("odd")
        click.echo("{}")

    monkeypatch.setitem(remit.commands, "tells", tells)
    monkeypatch.setattr(sys, "argv", ["remit", "tells"])
    with pytest.raises(SystemExit):
        main()
    told, logged = capsys.readouterr()
    assert (told, json.loads(logged)["event"]) == ("{}\n", "odd")


def test_what_looks_like_a_secret_is_taken_out_of_a_line_whoever_wrote_it() -> None:
    stream = io.StringIO()
    log_to(stream, "info", {})
    structlog.get_logger("app").warning(
        "left out", host="https://me:hunter22@example.org", tried=["curl -H 'Authorization: Bearer abc-123-xyz'"]
    )
    logging.getLogger("somebody.else").warning("went to %s", "https://example.org/?token=hunter22&page=2")
    logging.getLogger("mcp.client.streamable_http").error("what another server sent, whole")
    text = stream.getvalue()
    first, second = (json.loads(line) for line in text.splitlines())
    assert "hunter22" not in text
    assert "abc-123-xyz" not in text
    assert (first["host"], second["event"]) == ("https://[secret]@example.org", "went to https://example.org/?token=[secret]")


def test_numbers_times_and_ids_stand_in_a_line_as_they_are() -> None:
    stream = io.StringIO()
    log_to(stream, "info", {})
    structlog.get_logger("app").info("removed", trees=2, run="run_" + "a2" * 16, done=True, left=None)
    line = json.loads(stream.getvalue())
    assert (line["trees"], line["run"], line["done"], line["left"]) == (2, "run_" + "a2" * 16, True, None)
