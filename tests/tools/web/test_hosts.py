import ipaddress
import subprocess
import sys

import pytest

from mcp_server.errors import ToolFailure
from mcp_server.tools.web.hosts import PrivateHost, addresses_of, kind_of_address, read_private_host, refuse_local_name, system_resolver
from mcp_server.tools.web.proxies import Proxies, proxies_of
from mcp_server.tools.web.urls import read_url
from tests.tools.web.site import Names


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("93.184.215.14", "public"),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", "public"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("fd00::1", "private"),
        ("fec0::1", "private"),
        ("64:ff9b:1::1", "private"),
        ("169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("::ffff:0:0", "unspecified"),
        ("::", "unspecified"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("192.0.2.1", "private"),
        ("2001:db8::1", "private"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "link-local"),
        ("::127.0.0.1", "loopback"),
        ("::ffff:0:10.0.0.1", "private"),
        ("64:ff9b::127.0.0.1", "loopback"),
        ("64:ff9b::93.184.215.14", "public"),
        ("2002:7f00:1::", "loopback"),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"),
    ],
)
def test_an_address_is_seen_through_every_form(address: str, kind: str) -> None:
    assert kind_of_address(ipaddress.ip_address(address)) == kind


async def _found(url: str, *answers: list[str], private: tuple[str, ...] = ()) -> tuple[str, ...]:
    return await addresses_of(read_url(url), [read_private_host(text) for text in private], Names(*answers))


async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(ToolFailure, match=r"site.example \(10.0.0.1\) is a private address"):
        await _found("https://site.example/", ["93.184.215.14", "10.0.0.1"])


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://[::ffff:7f00:1]/", "http://169.254.169.254/"])
async def test_a_number_is_judged_without_being_looked_up(url: str) -> None:
    with pytest.raises(ToolFailure, match="only public ones are fetched; nothing was sent"):
        await _found(url)


@pytest.mark.parametrize(
    ("url", "answer", "private"),
    [
        ("http://intranet.example/", ["10.0.0.1"], "intranet.example"),
        ("http://intranet.example/", ["127.0.0.1", "::1"], "INTRANET.example."),
        ("http://intranet.example:8000/", ["10.0.0.1"], "intranet.example:8000"),
        ("http://127.0.0.1:8000/", [], "127.0.0.1:8000"),
        ("http://[::1]:8000/", [], "[::1]:8000"),
        ("http://[::1]/", [], "::1"),
        ("http://169.254.169.254/", [], "169.254.169.254"),
    ],
)
async def test_what_the_settings_open_is_reached(url: str, answer: list[str], private: str) -> None:
    assert await _found(url, answer, private=(private,))


@pytest.mark.parametrize(
    ("url", "answer", "private"),
    [
        ("http://intranet.example:8001/", ["10.0.0.1"], "intranet.example:8000"),
        ("http://a.intranet.example/", ["10.0.0.1"], "intranet.example"),
        ("http://intranet.example/", ["169.254.169.254"], "intranet.example"),
        ("http://intranet.example/", ["::"], "intranet.example"),
        ("http://intranet.example/", ["224.0.0.1"], "intranet.example"),
        ("http://[::]/", [], "[::]"),
    ],
)
async def test_and_nothing_beside_it(url: str, answer: list[str], private: str) -> None:
    with pytest.raises(ToolFailure, match="only public ones are fetched"):
        await _found(url, answer, private=(private,))


@pytest.mark.parametrize("text", ["", "a b", "*.example", "http://x", "x:0", "x:99999", "x:y", "127.1"])
def test_what_is_no_host_cannot_be_opened(text: str) -> None:
    with pytest.raises(ToolFailure):
        read_private_host(text)


def test_an_entry_is_read_in_every_form() -> None:
    assert read_private_host("Bücher.example:80") == PrivateHost(host="xn--bcher-kva.example", port=80)
    assert read_private_host("[::1]") == PrivateHost(host="::1", port=None)


@pytest.mark.parametrize("host", ["localhost", "db", "printer.local", "x.internal", "a.home.arpa", "metadata.google.internal"])
def test_names_that_only_a_private_network_knows_are_not_handed_to_a_proxy(host: str) -> None:
    with pytest.raises(ToolFailure, match="a name of a private network"):
        refuse_local_name(read_url(f"http://{host}/"), ())
    refuse_local_name(read_url(f"http://{host}/"), (read_private_host(host),))


def test_proxies_are_read_as_curl_reads_them() -> None:
    said = proxies_of({"HTTPS_PROXY": "http://p:1", "http_proxy": "http://q:2", "NO_PROXY": "direct.example, .below.example"})
    assert said == Proxies(http="http://q:2", https="http://p:1", direct=("direct.example", ".below.example"))
    assert proxies_of({"ALL_PROXY": "http://a:1", "NO_PROXY": "*"}).proxy_for(read_url("https://x.example/")) is None
    assert proxies_of({}) == Proxies()


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://x.example/", "http://p:1"),
        ("http://x.example/", "http://q:2"),
        ("https://direct.example/", None),
        ("https://a.direct.example/", None),
        ("https://indirect.example/", "http://p:1"),
        ("https://a.below.example/", None),
        ("http://port.example:8080/", None),
        ("http://port.example/", "http://q:2"),
    ],
)
def test_hosts_that_need_no_proxy_are_reached_directly(url: str, proxy: str | None) -> None:
    said = Proxies(http="http://q:2", https="http://p:1", direct=("direct.example", ".below.example", "port.example:8080"))
    assert said.proxy_for(read_url(url)) == proxy


NOBODY_ANSWERS = """
import socket, threading
import anyio
from mcp_server.tools.web.hosts import system_resolver

asked = threading.Event()

def unanswered(*_args, **_named):
    asked.set()
    threading.Event().wait()

socket.getaddrinfo = unanswered

async def given_up():
    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(system_resolver, "nobody.example", 443)
        while not asked.is_set():
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()

anyio.run(given_up)
print("ended")
"""


def test_names_whose_servers_never_answer_keep_no_process_from_ending() -> None:
    ended = subprocess.run([sys.executable, "-c", NOBODY_ANSWERS], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout) == (0, "ended\n"), ended.stderr


async def test_the_system_knows_this_machine_and_not_every_name() -> None:
    assert "127.0.0.1" in await system_resolver("127.0.0.1", 443)
    with pytest.raises(OSError, match=r".+"):
        await system_resolver("no-such-name.invalid", 443)
