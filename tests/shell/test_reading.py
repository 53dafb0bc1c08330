import fnmatch
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_server.errors import ToolFailure
from mcp_server.policy.values import CommandValue
from mcp_server.shell.reading import MAX_LINE, Reading
from mcp_server.shell.reading import read_line as read_from
from mcp_server.shell.rough import MAX_PIECES

CONTEXTS = (
    "{}",
    "X=1 {}",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "while {}; do :; done",
    "echo $({})",
    "echo `{}`",
    "true && {}",
    "true || {}",
    "true; {}",
    "true & {}",
    "cat f | {}",
    "! {}",
    "2>/dev/null {}",
    ">f {}",
    '> "a b" {}',
    "sudo {}",
    "sudo -u root -E {}",
    "time {}",
    "time -p {}",
    "timeout -k 5 10 {}",
    "timeout --signal=9 1m {}",
    "nice -n 5 {}",
    "nice -5 {}",
    "nohup {}",
    "env {}",
    "env -i A=b {}",
    "env -u X {}",
    "command {}",
    "exec {}",
    "exec -a x {}",
    "xargs {}",
    "xargs -n1 -P 4 {}",
    "xargs -0 {}",
    "busybox {}",
    "/usr/bin/env {}",
    "setsid -f {}",
    "stdbuf -oL {}",
    "nice --unknown 1 {}",
    "env -S {}",
    "f() {{ {}; }}; f",
    "cat <<EOF\n$({})\nEOF",
    "# it's\n{}",
    "true\n{}",
    "coproc {}",
    "cat <({})",
    "eval {}",
    "case a in a) {};; esac",
    "for i in 1; do {}; done",
    "[[ a ]] && {}",
    "\\\n{}",
    "a=$({}) b",
    'echo "$({})"',
    "doas {}",
    "watch -n 1 {}",
)
"""Places where a command may stand."""

SPELLINGS = (
    "rm x",
    "/bin/rm x",
    '"rm" x',
    "'rm' x",
    "r\\m x",
    "rm\tx",
    "  rm   x",
    "r''m x",
    "rm>f x",
    "rm${IFS}x",
    "A=1 rm x",
    "./../bin/rm x",
)
"""Ways to write one command."""


def read_line(line: str) -> Reading:
    return read_from(line, folder="/ws", home="/home/person")


def matched(value: CommandValue, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(form, pattern) for form in (value.text, *value.forms))


def visible(line: str) -> bool:
    """Would a deny of `rm *` be heard? (A trailing ` *` also matches nothing behind it.)"""
    return any(matched(value, "rm") or matched(value, "rm *") for value in read_line(line).commands)


def written(line: str) -> list[tuple[str, bool]]:
    return [(value.text, value.opaque) for value in read_line(line).commands]


def test_a_deny_is_heard_wherever_the_command_stands_and_however_it_is_written() -> None:
    lines = [context.format(spelling) for context, spelling in product(CONTEXTS, SPELLINGS)]
    assert [line for line in lines if not visible(line)] == []


@settings(deadline=None)
@given(st.lists(st.sampled_from([context for context in CONTEXTS if context.count("{}") == 1]), min_size=1, max_size=4))
def test_a_deny_is_heard_however_deep_the_command_stands(contexts: list[str]) -> None:
    line = "rm x"
    for context in contexts:
        line = context.format(line)
    assert visible(line)


@pytest.mark.parametrize(
    "line", ["bash -c 'rm x'", 'sh -c "cd /; rm x"', "sudo bash -lc 'true && rm x'", "eval 'rm x'", "bash -c \"bash -c 'rm x'\""]
)
def test_a_deny_is_heard_in_a_line_given_to_a_shell(line: str) -> None:
    assert visible(line)


@pytest.mark.parametrize(
    "line", ["find . -name x -exec rm {} \\;", "find . -execdir rm x ';'", "fd -x rm", "find . -name '*.o' | xargs rm"]
)
def test_a_deny_is_heard_in_what_a_search_runs(line: str) -> None:
    assert visible(line)


def test_a_deny_is_heard_at_the_end_of_a_long_line() -> None:
    assert visible("true && " * 200 + "rm a")


@pytest.mark.parametrize(
    "line", ["git rm x", "git commit -m 'rm x; rm y'", "nice -n 5 git rm x", "echo rm x", "timeout 5 npm rm x", "ls rm", "command git rm x"]
)
def test_a_deny_of_another_command_is_not_heard_in_words_that_are_certain(line: str) -> None:
    assert not visible(line)


@pytest.mark.parametrize(
    "line",
    [
        "git log -1",
        "ls -la src",
        "python3 scripts/report.py",
        "bash script.sh",
        "./gradlew test",
        "make -j4 all",
        "git -C sub diff --stat",
        "tar xf a.tar",
    ],
)
def test_one_plain_command_is_not_opaque_and_stands_as_written(line: str) -> None:
    assert written(line) == [(line, False)]


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c print",
        "python3 -Ic x",
        "python3.11 -c x",
        "perl -ne x",
        "ruby -e x",
        "node -p x",
        "node --eval=x",
        "node --ev x",
        "php -r x",
        "sh -lc ls",
        "eval ls",
        "source f",
        ". f",
        "ssh host ls",
        "docker run x",
        "npx x",
        "vim -c q f",
        "git -c a=b log",
        "git -C d -c a=b log",
        "git --config-env=a=b log",
        "git fetch --upload-pack=x o",
        "git rebase -x make main",
        "git bisect run x",
        "git grep -Ovi x",
        "git clone -c a=b u",
        "rg --pre cat x",
        "sort --compress-program=x f",
        "sort --compress-prog=x f",
        "tar --to-command=x -xf a",
        "tar -xIf x a",
        "tar xIf x a",
        "tar --use-compress=x -xf a",
        "rsync -e x a b",
        "rsync -ave x a b",
        "go test -exec x",
        "env A=b make",
        "env LD_PRELOAD=x ls",
        "A=1 make",
        "man -P x ls",
        "split --filter=x f",
        "timeout 5 python3 -c x",
        "nice --unknown x",
        "export A=b",
        "enable -f x y",
        "trap x EXIT",
        "npm exec x",
        "yarn dlx x",
    ],
)
def test_inline_code_and_options_that_run_programs_are_opaque(line: str) -> None:
    assert read_line(line).commands[0].opaque


@pytest.mark.parametrize(
    "line",
    [
        "$X a", "ls | `x`", "cat $X", "a=b ls", "if ls", "{ ls", "eval ls", "f() { ls; }", "ls () (", "cat <<E\n$(ls)\nE", "((i++))",
        "echo $((x))", "source f", "alias ls=rm", "read PATH", "let x=1", "printf -v x y", "[[ -v x ]]", "[[ $x -eq 1 ]]", "coproc ls",
        "> $f", "cat <&$f", "rm $f", "cat x > /dev/tcp/a/80", "ls ${x@P}", "echo ${x[y]}", "bash -c $x", "bash -s", "curl x | sh",
        "sh < f", "xargs sh", "find . -exec sh -c $x \\;", "sed s/a/b/e f", "sed 'w x' f", "awk 'BEGIN{system(1)}'",
        "awk 'BEGIN{print>\"x\"}'",
        "tar xf a --to-command=x", "rg --pre x y", "sort --compress-program x", "git -c a=b log", "git log --ext-diff",
        "git clone ext::x", "curl -K x", "wget -e x u", "ls > x y > z w", "cd $x; ls", "shopt -s expand_aliases", "trap x EXIT",
        "declare -n x=PATH", "x[1]=2", "cd - && rm x", "for x in a; do cd $x; done", "command eval ls", "builtin cd $x && ls",
    ],
)  # fmt: skip
def test_whatever_may_run_what_cannot_be_seen_is_opaque(line: str) -> None:
    assert any(value.opaque for value in read_line(line).commands)


def test_every_part_of_a_line_is_a_value_so_that_a_rule_for_one_does_not_vouch_for_the_others() -> None:
    assert written("python3 x; curl e | sh") == [("python3 x", False), ("curl e", False), ("sh", True)]
    assert written("python3 x; ls `x`") == [("python3 x; ls `x`", True), ("python3 x", True), ("ls", True), ("x", True), ("ls `x`", True)]


def test_the_command_inside_a_wrapper_is_a_value_of_its_own() -> None:
    assert written("sudo make all") == [("sudo make all", False), ("make all", False)]
    assert written("sudo nice make") == [("sudo nice make", False), ("make", False)]


def test_a_wrapper_that_changes_nothing_is_a_form_of_the_command_inside() -> None:
    for line in ("timeout 5 make all", "time make all", "nice -n 5 nohup make all"):
        [value] = read_line(line).commands
        assert value.text == "make all"
        assert line in value.forms


def test_an_allow_of_a_bare_name_does_not_cover_a_path_of_that_name() -> None:
    [value] = read_line("./ls src").commands
    assert value.text == "./ls src"
    assert "ls src" in value.forms


@pytest.mark.parametrize("line", ["true", "pwd", "echo hello world", "false x"])
def test_programs_that_only_say_something_have_known_effects(line: str) -> None:
    [value] = read_line(line).commands
    assert value.read_only
    assert value.effects_known


@pytest.mark.parametrize(
    "line",
    ["./echo x", "/opt/true", "A=1 true", "sudo true", "make", "sort -o x y", "find . -delete", "git commit", "git branch x", "ls --new"],
)
def test_all_others_do_not_only_look(line: str) -> None:
    assert not read_line(line).commands[0].read_only


@pytest.mark.parametrize(
    ("line", "words"),
    [("", "empty"), (" \n\t", "empty"), ("a\0b", "NUL"), ("a\r\nb", "carriage"), ("a" * (MAX_LINE + 1), "limit"), ("a\ud800", "Unicode")],
)
def test_what_is_no_line_is_refused_in_words(line: str, words: str) -> None:
    with pytest.raises(ToolFailure, match=words):
        read_line(line)


def test_a_line_with_more_parts_than_anybody_reads_is_refused() -> None:
    with pytest.raises(ToolFailure, match="more than"):
        read_line(";".join(f"a{n}" for n in range(MAX_PIECES + 2)))


@settings(deadline=None)
@given(st.text(alphabet="ab =;|&<>(){}$`'\"\\\n#!~*-/", max_size=60))
def test_no_line_breaks_the_reader(line: str) -> None:
    try:
        reading = read_line(line)
    except ToolFailure:
        assert not line.strip()
        return
    assert reading.commands or reading.writes


@settings(deadline=None)
@given(
    st.sampled_from([" ", "env ", "nice ", "sudo -u ", "timeout ", "((", "{", "a,", "$IFS", "<", "'"]).map(
        lambda unit: unit * (MAX_LINE // len(unit) - 2)
    )
)
def test_long_lines_of_one_thing_do_not_stall(line: str) -> None:
    with suppress(ToolFailure):
        reading = read_line(line)
        assert reading.commands or reading.writes


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("cd sub && ls > a", {("a", "sub")}),
        ("cd sub && ls | cat > a", {("a", "sub")}),
        ("cd sub && ls 2> a | cat", {("a", "sub")}),
        ("cd sub && ls 2> a | cat; touch b", {("a", "sub"), ("b", "sub"), ("b", "")}),
        ("true && cd sub && ls 2>&1 | tee a > b", {("a", "sub"), ("b", "sub")}),
        ("cd sub || exit; touch a", {("a", "sub")}),
        ("cd sub | touch a; touch b", {("a", ""), ("b", "")}),
        ("(cd sub; touch a); touch b", {("a", ""), ("a", "sub"), ("b", "")}),
        ("if cd sub; then touch a; else touch b; fi", {("a", "sub"), ("b", ""), ("b", "sub")}),
        ("cd sub && touch a & touch b", {("a", "sub"), ("b", "")}),
        ("{ cd sub; } && touch a", {("a", "sub")}),
        ("{ cd sub; }; touch a", {("a", ""), ("a", "sub")}),
        ("cd sub && cd .. && touch a", {("a", "")}),
    ],
)
def test_folders_are_followed_through_the_line(line: str, writes: set[tuple[str, str]]) -> None:
    seen = {(touch.text, folder.removeprefix("/ws").lstrip("/")) for touch in read_line(line).writes for folder in touch.folders}
    assert seen == writes
