"""`mcpServers`: other MCP servers, in the shape in which clients configure them."""

import json

import pytest

from mcp_server.settings.upstream import Upstream
from tests.settings.ground import Ground, write

OWN = "move it to settings.yaml in your own configuration folder"


def test_servers_stand_as_clients_have_them(ground: Ground):
    servers = {
        "memory": {"command": "npx", "args": ["-y", "server-memory"], "env": {"FILE": "${HOME}/m"}},
        "docs": {"type": "http", "url": "https://docs.example.org/mcp", "headers": {"Authorization": "Bearer ${DOCS}"}},
        "old": {"command": "old", "disabled": True},
    }
    write(ground.user_file, json.dumps({"mcpServers": servers}))
    settings = ground.load()
    assert {name: one.http for name, one in settings.upstreams.items()} == {"memory": False, "docs": True}
    assert settings.upstreams["memory"] == Upstream(command="npx", args=["-y", "server-memory"], env={"FILE": "${HOME}/m"})


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("a: {command: x, url: 'https://x.example/'}", "names a program and an address"),
        ("a: {args: [x]}", "names neither a program nor an address"),
        ("a: {type: http, command: x}", "names no address"),
        ("a: {type: sse, url: 'https://x.example/'}", "has a value that does not fit"),
        ("a: {url: 'https://x.example/', env: {A: b}}", "says `env`, which a server at an address has not"),
        ("a: {command: x, headers: {A: b}}", "says `headers`, which a server of a program has not"),
        ("a: {url: 'http://x.example/mcp'}", "is not https"),
        ("a: {url: 'https://u:p@x.example/mcp'}", "holds a user, a password"),
        ("a: {url: 'https://x.example/', headers: {Mcp-Session-Id: b}}", "is a header that the protocol sets by itself"),
        ("a: {command: x, env: {'A B': c}}", "is not the name of an environment variable"),
        ("a: {command: x, comand: y}", "unknown key `comand`"),
        ("a: {command: x, idle_seconds: 0}", "has a value that does not fit"),
        ("a__b: {command: x}", "is not a server's name"),
        ("a_: {command: x}", "is not a server's name"),
        ("a_very_long_name_of_a_server: {command: x}", "is not a server's name"),
        ("'': {command: x}", "is not a server's name"),
    ],
)
def test_what_is_no_server_is_a_fault_with_its_line(ground: Ground, written: str, problem: str):
    write(ground.user_file, f"mode: default\nmcpServers:\n  {written}\n")
    [fault] = ground.faults()
    assert problem in fault.problem
    assert fault.line == 3
    assert fault.remedy


def test_none_is_ever_read_from_a_workspace(ground: Ground):
    for file in (ground.project_file, ground.local_file):
        write(file, "mcpServers: {a: {command: x}}")
    ground.trust()
    assert [str(fault) for fault in ground.faults()] == [
        f"{file}:1: `mcpServers` is never read from a workspace; {OWN}" for file in (ground.project_file, ground.local_file)
    ]


def test_a_person_cannot_put_another_server_under_the_name_of_the_operators(ground: Ground):
    """The operator's rules on `work__*` speak of the operator's server."""
    write(ground.managed_file, "mcpServers: {work: {url: 'https://work.example.org/mcp'}}")
    write(ground.user_file, "mcpServers: {work: {command: mine}, own: {command: mine}}")
    settings = ground.load()
    assert settings.upstreams["work"].url == "https://work.example.org/mcp"
    assert settings.upstreams["own"].command == "mine"
    assert ["managed settings have a server of this name" in str(notice) for notice in settings.notices] == [True]


def test_an_operator_may_keep_servers_to_themselves(ground: Ground):
    write(ground.managed_file, "lock: [mcpServers]")
    write(ground.user_file, "mcpServers: {own: {command: mine}}")
    settings = ground.load()
    assert settings.upstreams == {}
    assert len(settings.notices) == 1
