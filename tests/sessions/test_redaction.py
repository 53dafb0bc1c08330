"""What an audit may hold of arguments: enough to recognise a call by, and no secret."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.redaction import HIDDEN, LONGEST_STRING, LONGEST_TEXT, Redaction, secrets_of

DRAWN = "q7Rk2ZpX9vLw3NsT"
PLAIN = Redaction(secrets=())


@pytest.mark.parametrize(
    "text",
    [
        f"export API_TOKEN={DRAWN}",
        f"password = '{DRAWN}'",
        f'{{"api_key": "{DRAWN}"}}',
        f"client_secret: {DRAWN}",
        f"curl -H 'Authorization: Bearer {DRAWN}' https://example.org",
        f"curl -H 'Cookie: {DRAWN}' https://example.org",
        f"curl -H 'Cookie: theme=dark; id={DRAWN}' https://example.org",
        f"curl -H 'Authorization: Token {DRAWN}' https://example.org",
        f'curl -H "authorization: ApiKey one {DRAWN}" https://example.org',
        f"curl -u admin:{DRAWN} https://example.org",
        f"curl --user=admin:{DRAWN} https://example.org",
        f"mysql --password {DRAWN} shop",
        f"gh auth login --with-token {DRAWN}",
        f"https://me:{DRAWN}@example.org/repo.git",
        f"https://me:p@{DRAWN}@example.org/repo.git",
        f'curl -d "{{\\"user\\": \\"me\\", \\"password\\": \\"{DRAWN}\\"}}" https://example.org',
        f'curl -d "{{\\"password\\": \\"one\\\\\\"{DRAWN}\\"}}" https://example.org',
        f'echo "password=\\"{DRAWN}\\"" > .netrc',
        f"PASSWORD=one,{DRAWN} psql",
        f"PASSWORD=one\\ {DRAWN} psql",
        f"PASSWORD='one'\"{DRAWN}\" psql",
        f"DB_PASS={DRAWN}",
        f"backup --smtp-pass {DRAWN}",
        f"sk-{DRAWN}",
        f"sk_live_{DRAWN}",
        f"ghp_{DRAWN}{DRAWN}",
        f"github_pat_{DRAWN}",
        f"glpat-{DRAWN}",
        f"AKIA{DRAWN.upper()}",
        f"xoxb-{DRAWN}",
        f"hf_{DRAWN}",
        f"eyJhbGciOi.{DRAWN}.{DRAWN}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{DRAWN}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{DRAWN}\nand no end",
        f"some text with {DRAWN}{DRAWN} in it",
    ],
)
def test_what_has_a_telling_name_or_the_form_of_a_key_is_taken_out(text: str) -> None:
    said = PLAIN({"command": text})
    assert DRAWN.lower() not in said.lower()
    assert HIDDEN in said


@pytest.mark.parametrize(
    "name", ["token", "apiKey", "api_key", "X-Auth-Token", "Authorization", "passwd", "clientSecret", "cookie", "smtp_pass"]
)
def test_a_field_with_a_telling_name_is_hidden_whatever_it_holds(name: str) -> None:
    said = PLAIN({"headers": {name: "short"}, "list": [{name: ["short", 7]}]})
    assert "short" not in said
    assert said.count(HIDDEN) == 2


@given(st.text(string.ascii_letters + string.digits + "!$%&()*+,./:;<=>?@[]^_`{|}~-", min_size=6, max_size=60), st.integers(0, 3))
def test_a_known_secret_is_found_wherever_it_stands(secret: str, depth: int) -> None:
    arguments: dict[str, object] = {"a": f"before {secret} after", secret: "x"}
    for _ in range(depth):
        arguments = {"in": [arguments]}
    said = json.loads(Redaction(secrets=secrets_of({"MY_TOKEN": secret}))(arguments))
    assert secret not in str(said).replace(HIDDEN, "")


@given(st.text(string.ascii_letters + string.digits, min_size=6, max_size=30), st.sampled_from(["=", ": ", " = ", "='", '="', ":= "]))
def test_a_value_behind_a_telling_name_is_hidden(value: str, sign: str) -> None:
    said = json.loads(PLAIN({"content": f"line\n  DB_PASSWORD{sign}{value}"}))
    assert said["content"] == f"line\n  DB_PASSWORD{sign.rstrip(chr(39) + chr(34))}{HIDDEN}"


def test_a_secret_that_the_cut_runs_through_leaves_no_start_behind() -> None:
    text = "x" * (LONGEST_STRING - 8) + " hunter22-and-more"
    assert "hunter" not in Redaction(secrets=("hunter22-and-more",))({"content": text})
    assert "hunter" not in PLAIN({"content": "." * (LONGEST_STRING - 14) + " token=hunter22"})


def test_ordinary_arguments_stay_as_they_are() -> None:
    arguments = {"filePath": "src/monkeys/a_module.py", "offset": 3, "all": True, "oldString": "def author(name):", "note": None}
    assert json.loads(PLAIN(arguments)) == arguments


def test_long_texts_are_cut_and_counted() -> None:
    said = json.loads(PLAIN({"content": "word " * 1_000}))["content"]
    assert said.endswith(f"… {5_000 - LONGEST_STRING} more characters")
    whole = PLAIN({str(number): "word " * 50 for number in range(100)})
    assert len(whole) < LONGEST_TEXT + 40
    assert whole.endswith("more characters")


def test_a_value_nested_without_end_is_bounded() -> None:
    deep: object = "end"
    for _ in range(200):
        deep = [deep]
    assert "[too deep]" in PLAIN({"a": deep})


@pytest.mark.parametrize(
    "text",
    [
        "github__list_pull_request_review_comments_v2 asks",
        "asks again: rul_" + "a2" * 16 + " is over",
        "src/a-rather-long-name-of-a-component-2.test.ts",
        "git log --author=somebody --since 2026-11-30",
    ],
)
def test_names_that_are_made_of_words_and_our_own_ids_stay(text: str) -> None:
    assert PLAIN.text(text) == text


@pytest.mark.parametrize("text", ["deadbeef" * 4 + "1", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "aB3" * 12])
def test_digests_and_what_may_be_drawn_by_chance_do_not_stay(text: str) -> None:
    assert PLAIN.text(f"x {text} y") == f"x {HIDDEN} y"
