"""What settings say of the web and of tools that belong together, and who may say it."""

import pytest

from mcp_server.settings.schema import WebSearch
from mcp_server.settings.values import Flags
from tests.settings.ground import Ground, write

OWN = "move it to settings.yaml in your own configuration folder"


def test_nothing_private_is_open_and_no_engine_configured_unless_somebody_says_so(ground: Ground):
    settings = ground.load()
    assert (settings.webfetch.private_hosts, settings.websearch) == ([], None)


def test_the_nearest_list_of_private_hosts_counts_and_says_where_it_is_from(ground: Ground):
    write(ground.managed_file, "webfetch: {private_hosts: [a.example]}")
    assert ground.load().webfetch.private_hosts == ["a.example"]
    write(ground.user_file, "webfetch: {private_hosts: [b.example, '[::1]:80', '10.0.0.1:8080']}")
    assert ground.load().webfetch.private_hosts == ["b.example", "[::1]:80", "10.0.0.1:8080"]
    settings = ground.load(Flags(private_hosts=("c.example",)))
    assert settings.webfetch.private_hosts == ["c.example"]
    assert settings.origins["webfetch.private_hosts"] == "--private-host"


def test_an_operator_may_keep_private_hosts_to_themselves(ground: Ground):
    write(ground.managed_file, "lock: [webfetch, websearch]")
    write(ground.user_file, "webfetch: {private_hosts: [b.example]}\nwebsearch: {provider: brave, api_key_env: KEY}")
    settings = ground.load(Flags(private_hosts=("c.example",)))
    assert (settings.webfetch.private_hosts, settings.websearch) == ([], None)
    assert len(settings.notices) == 3


@pytest.mark.parametrize(("tools", "told"), [("[grep]", 1), ("[grep, read]", 0), ("[read]", 0), ("[]", 0)])
def test_tools_that_make_grep_useless_are_told_of(ground: Ground, tools: str, told: int):
    write(ground.user_file, f"tools: {tools}")
    assert ["`grep` shows only files that may be read" in str(notice) for notice in ground.load().notices] == [True] * told


@pytest.mark.parametrize("key", ["webfetch: {private_hosts: [a.example]}", "websearch: {provider: brave, api_key_env: KEY}"])
def test_neither_is_ever_read_from_a_workspace(ground: Ground, key: str):
    name = key.partition(":")[0]
    for file in (ground.project_file, ground.local_file):
        write(file, key)
    ground.trust()
    assert [str(fault) for fault in ground.faults()] == [
        f"{file}:1: `{name}` is never read from a workspace; {OWN}" for file in (ground.project_file, ground.local_file)
    ]


@pytest.mark.parametrize("host", ["https://a.example", "a.example/path", "*.example", "a b", "user@a.example", "a.example:port", "::1", ""])
def test_what_is_no_host_is_a_fault(ground: Ground, host: str):
    write(ground.user_file, f"webfetch: {{private_hosts: ['{host}']}}")
    [fault] = ground.faults()
    assert "is not a host" in fault.problem


def test_an_engine_is_one_sources_word_as_a_whole(ground: Ground):
    """Else a person could have the operator's key sent to an address of their own."""
    write(ground.managed_file, "websearch: {provider: brave, api_key_env: KEY}")
    write(ground.user_file, "websearch: {provider: searxng, base_url: 'https://search.example.org'}")
    assert ground.load().websearch == WebSearch(provider="searxng", base_url="https://search.example.org")


@pytest.mark.parametrize(
    ("engine", "problem"),
    [
        ("{provider: searxng}", "names no address"),
        ("{provider: brave}", "names no key"),
        ("{provider: other, api_key_env: KEY}", "has a value that does not fit"),
        ("{provider: brave, api_key: secret}", "unknown key `api_key`"),
        ("{provider: searxng, base_url: 'ftp://x'}", "is not an http or https address"),
    ],
)
def test_half_an_engine_is_a_fault(ground: Ground, engine: str, problem: str):
    write(ground.user_file, f"websearch: {engine}")
    [fault] = ground.faults()
    assert problem in fault.problem
    assert "secret" not in str(fault)
