import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.shell.words import Words, assignment, certain_words
from tests.campaign import search

PIECES = st.sampled_from(
    [
        "a",
        "b1",
        "-x",
        "--y=z",
        "=",
        ":",
        ",",
        ".",
        "/",
        "@",
        "%",
        "+",
        "^",
        " ",
        "  ",
        "\t",
        "'",
        '"',
        "'q r'",
        '"s t"',
        "\\",
        "#",
        "~",
        "*",
        "?",
        "[a]",
        "{b,c}",
        "{1..3}",
        "!",
        "$X",
        "$",
        "A=1",
        "é",
        "",
    ]
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git log -1", ("git", "log", "-1")),
        ("  ls\t-l  ", ("ls", "-l")),
        ("./gradlew test", ("./gradlew", "test")),
        ("aws s3 cp s3://a/b.txt x@y:z,%20+^", ("aws", "s3", "cp", "s3://a/b.txt", "x@y:z,%20+^")),
    ],
)
def test_plain_words_are_certain(line: str, words: tuple[str, ...]) -> None:
    assert certain_words(line) == Words(words=words, quoted=False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git commit -m 'a; rm -rf /'", ("git", "commit", "-m", "a; rm -rf /")),
        ('grep "a|b" f', ("grep", "a|b", "f")),
        ("'rm' a", ("rm", "a")),
        ("r'm' a", ("rm", "a")),
        ("a ''", ("a", "")),
        ("--m='a b'c", ("--m=a bc",)),
    ],
)
def test_whole_quoted_literals_are_certain_and_said_to_be_quoted(line: str, words: tuple[str, ...]) -> None:
    assert certain_words(line) == Words(words=words, quoted=True)


@pytest.mark.parametrize(
    "line",
    [
        "a; b",
        "a & b",
        "a | b",
        "a && b",
        "(a)",
        "a > f",
        "a < f",
        "a $X",
        "a `b`",
        "a $(b)",
        "a *",
        "a ?",
        "a [b]",
        "a {b,c}",
        "~/x",
        "a ~",
        "a \\b",
        "! a",
        "a #b",
        "a\nb",
        "a\rb",
        "a\0b",
        "a 'b",
        'a "b',
        'a "$b"',
        'a "`b`"',
        'a "\\b"',
        'a "!b"',
        "a $'b'",
        "a\u00a0b",
        "é",
        "",
    ],
)
def test_whatever_a_shell_would_act_on_is_not_certain(line: str) -> None:
    assert certain_words(line) is None


@pytest.mark.parametrize(
    ("word", "is_one"), [("A=1", True), ("a_b=", True), ("a+=1", True), ("a[1]=2", True), ("--a=1", False), ("1=2", False)]
)
def test_assignments_are_known(word: str, is_one: bool) -> None:
    assert assignment(word) is is_one


@search(60)
@given(st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=10, max_size=10))
def test_words_that_are_certain_are_those_that_bash_sees(lines: list[str]) -> None:
    certain = [(line, found.words) for line in lines if (found := certain_words(line)) is not None]
    script = "show() { printf '%s\\0' \"$@\"; printf '\\0\\n'; }\n" + "".join(
        f"show {line}\n" for line in lines if certain_words(line) is not None
    )
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, timeout=120, env={"PATH": os.environ["PATH"]}, check=True)
    seen = [tuple(part.split("\0")[:-1]) for part in done.stdout.decode().split("\0\n")[:-1]]
    assert seen == [words for _, words in certain]
