from hypothesis import given
from hypothesis import strategies as st

from mcp_server.policy import wildcards
from tests.campaign import search

PATTERNS = st.text(alphabet="ab* ?", max_size=8)
TEXTS = st.text(alphabet="ab /\n", max_size=8)
EXACT = search(800)


def simply(pattern: str, text: str) -> bool:
    """The definition, letter by letter, without any care for time."""
    if pattern == "":
        return text == ""
    if pattern[0] == "*":
        return any(simply(pattern[1:], text[i:]) for i in range(len(text) + 1))
    return text != "" and pattern[0] in ("?", text[0]) and simply(pattern[1:], text[1:])


def by_definition(pattern: str, text: str) -> bool:
    trimmed = pattern.rstrip("*")
    optional = trimmed != pattern and trimmed.endswith(" ")
    return simply(pattern, text) or (optional and simply(trimmed[:-1], text))


@EXACT
@given(PATTERNS, TEXTS)
def test_matching_is_what_the_definition_says(pattern: str, text: str):
    assert wildcards.matches(pattern, text) == by_definition(pattern, text)


@EXACT
@given(PATTERNS, PATTERNS, TEXTS)
def test_a_pattern_that_contains_another_matches_whatever_that_one_matches(wide: str, narrow: str, text: str):
    if wildcards.contains(wide, narrow) and wildcards.matches(narrow, text):
        assert wildcards.matches(wide, text)


@EXACT
@given(PATTERNS, PATTERNS, TEXTS)
def test_patterns_said_to_be_apart_match_no_common_text(one: str, other: str, text: str):
    if not wildcards.may_overlap(one, other):
        assert not (wildcards.matches(one, text) and wildcards.matches(other, text))


def test_containment_is_seen_where_it_is_plain():
    plainly = [
        ("*", "a?b*"),
        ("git *", "git push *"),
        ("git *", "git"),
        ("src/*", "src/a/*.py"),
        ("*.py", "src/*.py"),
        ("a?", "ab"),
        ("**", "*"),
    ]
    assert [pair for pair in plainly if not wildcards.contains(*pair)] == []
    not_so = [("git *", "git*"), ("src/*", "*"), ("a?", "a*"), ("ab", "a?"), ("*.py", "src/*")]
    assert [pair for pair in not_so if wildcards.contains(*pair)] == []


def test_literal_characters_of_other_pattern_languages_are_literal():
    for text in ("[a]", "{a,b}", "!a", "^a$", "a.b", "\\*"[:1], "(a|b)", "[!a]"):
        assert wildcards.matches(text, text)
        assert not wildcards.matches(text, "a")


def test_only_stars_are_a_blanket():
    assert [text for text in ("*", "**", "", "*?", "a", " *") if wildcards.blanket(text)] == ["*", "**"]
