import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.strict_yaml import MAX_CHARACTERS, MAX_DEPTH, read_yaml


def said(text: str) -> list[str]:
    return [str(fault) for fault in read_yaml(text, "f.yaml").faults]


def test_plain_data_keeps_its_order_and_lines():
    document = read_yaml("b: 1\na:\n  - x\n  - {y: z}\n", "f.yaml")
    assert document.faults == ()
    assert document.value == {"b": 1, "a": ["x", {"y": "z"}]}
    assert isinstance(document.value, dict)
    assert list(document.value) == ["b", "a"]
    assert [document.line(place) for place in (("b",), ("a",), ("a", 0), ("a", 1, "y"))] == [1, 2, 3, 4]


def test_the_line_of_something_absent_is_that_of_what_is_around_it():
    document = read_yaml("\na:\n  b: 1\n", "f.yaml")
    assert document.line(("a", "b", "c", 3)) == 3
    assert document.line(("nowhere",)) == 1


def test_lines_are_counted_from_where_the_text_starts_in_its_file():
    assert read_yaml("a: 1\na: 2\n", "f.yaml", first_line=10).faults[0].line == 11


def test_all_faults_of_a_document_are_found_at_once():
    assert said("a: &q 1\nb: *q\na: 2\non: 3\n1: 4\nc: !!str x\n<<: {d: 1}\n? [x]\n: 1\n") == [
        "f.yaml:1: `&q` is an anchor; remove it and write the value out where it is used",
        'f.yaml:2: `*q` is an alias; write the value out; a pattern that starts with * needs quotes: "*"',
        "f.yaml:3: the key `a` stands twice, first on line 1; keep one of them",
        'f.yaml:4: the key `on` is read as true or false by some; put quotes around it: "on"',
        'f.yaml:5: the key `1` is not read as text; put quotes around it: "1"',
        "f.yaml:6: `tag:yaml.org,2002:str` is a tag; remove it; a text that starts with ! needs quotes",
        "f.yaml:7: `<<` merges another map; write the keys out",
        "f.yaml:8: a list or map stands where a key belongs; use plain text as the key",
    ]


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "On", "NO", "Yes", "true", "False"])
def test_a_word_that_some_read_as_a_boolean_is_no_key(word: str):
    assert said(f"a:\n  {word}: 1\n") == [f'f.yaml:2: the key `{word}` is read as true or false by some; put quotes around it: "{word}"']


@pytest.mark.parametrize("word", ["on", "no", "1", "null", "~", "<<"])
def test_quotes_make_any_word_a_key(word: str):
    document = read_yaml(f'"{word}": 1\n', "f.yaml")
    assert (document.value, document.faults) == ({word: 1}, ())


def test_a_key_written_twice_keeps_its_first_value():
    assert read_yaml("a: 1\na: {b: 2}\n", "f.yaml").value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("yes", "yes"), ("On", "On"), ("true", True), ("FALSE", False), ("null", None), ("~", None), ("", None)],
        *[("7", 7), ("-7", -7), ("0", 0), ("010", "010"), ("0x1f", "0x1f"), ("12:30", "12:30"), ("1_000", "1_000")],
        *[("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ("1e999", "1e999"), (".inf", ".inf"), ("2026-01-02", "2026-01-02")],
        *[("~/notes", "~/notes"), ("9" * 30, "9" * 30), ("'7'", "7"), ('"true"', "true")],
    ],
)
def test_a_plain_word_is_read_as_yaml_1_2_reads_it(text: str, value: object):
    document = read_yaml(f"a: {text}\n", "f.yaml")
    assert isinstance(document.value, dict)
    found = document.value["a"]
    assert (found, type(found), document.faults) == (value, type(value), ())


@pytest.mark.parametrize(("text", "line"), [("p:\n  *: deny\n", 2), ("p: {*.py: deny}\n", 1), ("p:\n\n  - *\n", 3)])
def test_a_bare_star_is_told_to_be_quoted(text: str, line: int):
    assert said(text) == [f'f.yaml:{line}: not YAML: a bare * starts a word; put the pattern in quotes: "*"']


def test_a_tab_is_told_apart_from_other_syntax():
    assert said("a:\n\tb: 1\n") == ["f.yaml:2: not YAML: a tab indents this line; indent with spaces"]


def test_a_control_character_is_a_fault_with_its_line():
    assert said("a: 1\nb: \x07\n") == ["f.yaml:2: not YAML: a character that YAML does not allow; mend this line or the one above it"]


def test_faults_before_a_syntax_error_are_kept():
    assert said("a: 1\na: 2\nb: [\n")[0] == "f.yaml:2: the key `a` stands twice, first on line 1; keep one of them"


def test_a_second_document_is_a_fault():
    document = read_yaml("a: 1\n---\nb: 2\n", "f.yaml")
    assert document.value == {"a": 1}
    assert [str(fault) for fault in document.faults] == [
        "f.yaml:2: a second document starts here; keep one document a file; remove the `---`"
    ]


def test_deep_nesting_is_a_fault_and_not_a_crash():
    assert said("[" * 5000) == [f"f.yaml:1: nested deeper than {MAX_DEPTH} levels; flatten it"]


def test_a_text_too_long_is_not_read():
    assert said("a" * (MAX_CHARACTERS + 1)) == ["f.yaml: longer than 1,000,000 characters; split it or remove what is not needed"]


def test_nothing_but_plain_data_is_ever_made():
    document = read_yaml("a: !!python/object/apply:os.system ['true']\n", "f.yaml")
    assert document.value == {"a": ["true"]}
    assert document.faults


@given(st.text(alphabet="ab:-*&!<>[]{}'\"|?%@`#\n \t\\,01~", max_size=60))
def test_no_text_makes_it_raise(text: str):
    document = read_yaml(text, "f.yaml")
    assert all(fault.line is None or fault.line >= 1 for fault in document.faults)
