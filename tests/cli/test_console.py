"""`remit console` starts for a person at a terminal alone, and shows its links there."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx2

from mcp_server.store.console_address import console_address
from tests.cli.kept import APPROVAL, Kept
from tests.cli.person import BOUND, REMIT, Person

LINK = r"(http://127\.0\.0\.1:\d+/\S+/open\?token=\S+)\s"
"""With what follows it: half a link may be there to read already."""


def get(link: str) -> httpx2.Response:
    with httpx2.Client(follow_redirects=True, timeout=BOUND, trust_env=False) as client:
        return client.get(link)


def origin(link: str) -> str:
    """The address alone."""
    return link.partition("/open")[0].rpartition("/")[0]


def test_a_link_is_shown_at_the_terminal_and_enter_shows_another(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    kept.prompt()
    with Person(("console",), environment, tmp_path) as person:
        first = person.sees(LINK)[1]
        person.sees("Ctrl-C ends")
        assert "1 prompt waits for you" in get(first).text
        assert get(first).status_code == 403
        person.types("")
        second = person.sees(LINK)[1]
        assert second != first
        assert "1 prompt waits for you" in get(second).text
        person.process.send_signal(signal.SIGINT)
        code, said = person.leaves()
    assert (code, "Traceback" in said) == (0, False)


def test_a_server_over_http_shows_the_console_too_and_ends_with_one_signal(
    kept: Kept, environment: Mapping[str, str], tmp_path: Path
) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    kept.tree()
    fresh = replace(kept.prompt_of(APPROVAL), created_at=time.time())  # the server lets one lapse that nobody was shown for a week
    kept.use(lambda store: store.add_prompt(fresh))
    with Person(("serve", "--http", "127.0.0.1:0", "--console"), environment, workspace) as person:
        link = person.sees(LINK)[1]
        person.sees("Ctrl-C ends the server")
        assert "1 prompt waits for you" in get(link).text
        assert console_address(kept.folder) == origin(link)
        person.process.send_signal(signal.SIGTERM)
        code, said = person.leaves()
    assert (code, "Traceback" in said) == (0, False)


def test_other_processes_find_it_as_long_as_it_lives(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    with Person(("console",), environment, tmp_path, anew=True) as person:
        link = person.sees(LINK)[1]
        person.sees("Ctrl-C ends")
        assert get(link).status_code == 200
        assert console_address(kept.folder) == origin(link)
        person.process.kill()
        person.process.wait(BOUND)
        assert console_address(kept.folder) is None


def test_a_server_over_stdio_says_where_its_console_is(environment: Mapping[str, str], tmp_path: Path) -> None:
    with Person(("serve", "--console"), environment, tmp_path) as person:
        code, _ = person.leaves()
    assert code == 2


def test_without_a_terminal_it_does_not_start(environment: Mapping[str, str], tmp_path: Path) -> None:
    ended = subprocess.run(
        [REMIT, "console"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **environment},
        start_new_session=True,
        timeout=BOUND,
        check=False,
    )
    assert ended.returncode == 2
    assert "this is for a person at a terminal" in ended.stderr
    assert ended.stdout == ""


def test_a_port_that_is_taken_is_said_in_one_line(environment: Mapping[str, str], tmp_path: Path) -> None:
    with Person(("console",), environment, tmp_path) as first:
        port = httpx2.URL(first.sees(LINK)[1]).port
        with Person(("console", "--port", str(port)), environment, tmp_path) as second:
            code, _ = second.leaves()
    assert code == 2
