import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.errors import ToolFailure
from mcp_server.tools.addresses import normalised
from mcp_server.tools.web.urls import read_url


@pytest.mark.parametrize(
    ("text", "one_form"),
    [
        ("HTTPS://Example.ORG", "https://example.org/"),
        ("http://example.org:80/a#part", "http://example.org/a"),
        ("https://example.org:443?q", "https://example.org/?q"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("https://example.org./a/./b/../c/", "https://example.org/a/c/"),
        ("https://example.org/../../x/..", "https://example.org/"),
        ("https://example.org/%7euser/%2E%2e/%41", "https://example.org/A"),
        ("https://example.org/a%2fb/100%", "https://example.org/a%2Fb/100%25"),
        ("https://bücher.example/ü?q=ü", "https://xn--bcher-kva.example/%C3%BC?q=%C3%BC"),
        ("https://EXAMPLE.org/Case?Case", "https://example.org/Case?Case"),
        ("https://example.org/a//b", "https://example.org/a//b"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://192.0.2.1/", "http://192.0.2.1/"),
        ("  https://example.org/  ", "https://example.org/"),
        ("https://example.org/?", "https://example.org/?"),
    ],
)
def test_an_address_has_one_form(text: str, one_form: str) -> None:
    url = read_url(text)
    assert url.text == one_form
    assert read_url(url.text) == url


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("example.org/a", "only whole http and https addresses"),
        ("file:///etc/passwd", "only whole http and https addresses"),
        ("ftp://example.org/", "only whole http and https addresses"),
        ("javascript:alert(1)", "only whole http and https addresses"),
        ("https:example.org", "only whole http and https addresses"),
        ("https:///etc", "is no host name"),
        ("https://user:word@example.org/", "holds a user or a password"),
        ("https://example.org@evil.example/", "holds a user or a password"),
        ("https://example.org\\@evil.example/", "a backslash"),
        ("https://example.org/a b", "white space"),
        ("https://example.org/\na", "white space, a control character"),
        ("https://exa\tmple.org/", "white space, a control character"),
        ("http://127.1/", "write four numbers"),
        ("http://2130706433/", "write four numbers"),
        ("http://0x7f000001/", "write four numbers"),
        ("http://0177.0.0.1/", "write four numbers"),
        ("http://0x7f.0.0.1/", "write four numbers"),
        ("http://127.0.0.1%2f@x/", "holds a user or a password"),
        ("http://exa%6dple.org/", "is no host name"),
        ("http://[fe80::1%25eth0]/", "names a zone"),
        ("http://[::1/", "no address"),
        ("http://example.org:99999/", "no address"),
        ("http://example.org:0/", "port 0"),
        ("http://-a.example/", "is no host name"),
        ("http://a..example/", "is no host name"),
        ("https://" + "a" * 5000, "at most 4,096"),
        ("https://\ud800/", "no address"),
    ],
)
def test_what_is_no_address_or_could_be_read_in_two_ways_is_refused(text: str, words: str) -> None:
    with pytest.raises(ToolFailure, match=words):
        read_url(text)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("https://e.example//admin/x", "https://e.example/admin/x"),
        ("https://e.example/a%2F..%2fadmin", "https://e.example/admin"),
        ("https://e.example/%61dmin/", "https://e.example/admin/"),
        ("https://e.example/?q=//", "https://e.example/?q=//"),
        ("https://e.example/%C3%BC", "https://e.example/%C3%BC"),
    ],
)
def test_what_servers_take_for_the_same_path_is_folded(text: str, folded: str) -> None:
    assert read_url(text).folded == folded


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a/b?q=1",
        "http://EXAMPLE.org:80/a/../b",
        "https://example.org:8443/a/",
        "http://[::1]:80/",
        "https://b.example./",
    ],
)
def test_commands_that_fetch_are_judged_by_the_same_form(text: str) -> None:
    assert normalised(text) == read_url(text).text


@given(st.text(st.characters(codec="utf-8"), max_size=30), st.text("./%2eEfF5cC\\?#@:;&=~é ", max_size=30))
def test_reading_an_address_again_changes_nothing(host: str, path: str) -> None:
    try:
        url = read_url(f"https://{host}/{path}")
    except ToolFailure:
        return
    assert read_url(url.text) == url
    assert url.text.isascii()
    assert "/../" not in url.folded
