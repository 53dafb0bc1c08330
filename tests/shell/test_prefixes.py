"""The rule that a person is offered for a command: the shortest beginning that names what it does."""

from dataclasses import replace

import pytest

from mcp_server.policy.offers import OfferKind, offers
from mcp_server.policy.values import Reach, Request
from mcp_server.shell.reading import read_line
from tests.policy.universe import member, ruling, verdict_of


def offered(line: str) -> list[str | None]:
    return [value.offer for value in read_line(line, folder="/ws").commands]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("npm run build --watch", "npm run build *"),
        ("git push origin main", "git push *"),
        ("docker compose logs web", "docker compose logs *"),
        ("cargo test --all", "cargo test *"),
        ("pytest -q tests", "pytest *"),
        ("python3 scripts/report.py --fast", "python3 scripts/report.py *"),
        ("./gradlew test", "./gradlew test *"),
        ("CI=1 npm test", "npm test *"),
        ("time make all", "make all *"),
        ("make", "make *"),
    ],
)
def test_the_rule_names_the_action(line: str, rule: str) -> None:
    assert offered(line) == [rule]


@pytest.mark.parametrize(
    "line", ["rm -rf dist", "git -C sub push", "make -j4 all", "chmod 600 a", "python3 -m pytest", "'git' push", "mv a b"]
)
def test_where_no_beginning_names_it_the_rule_is_the_command_itself(line: str) -> None:
    assert offered(line) == [line]


@pytest.mark.parametrize(
    "line", ["python3 -c x", "eval x", "git $x", "FOO=1 make", "bash -c 'make'", "npm x " + "a" * 1200, "rm *.o", "sudo $x", "$x"]
)
def test_no_rule_is_offered_for_what_cannot_be_read_or_seen_at_once(line: str) -> None:
    assert offered(line)[0] == ""


def test_there_is_one_rule_for_each_command_that_asks_and_it_answers_the_line() -> None:
    requests = (Request(permission="bash", values=read_line("npm run lint --fix && git push", folder="/ws").commands),)
    verdict = verdict_of((member(0),), requests)
    (session,) = [each for each in offers(verdict) if each.choice is OfferKind.ALLOW_SESSION]
    assert [str(rule) for rule in session.rules] == ["bash npm run lint * allow", "bash git push * allow"]
    kept = tuple(replace(ruling(0, Reach.SESSION, verdict.asks), rule=rule) for rule in session.rules)
    assert verdict_of((member(0),), requests, rulings=kept).action.word == "allow"


def test_a_wrapper_is_asked_for_each_time() -> None:
    requests = (Request(permission="bash", values=read_line("sudo make", folder="/ws").commands),)
    assert [each.choice for each in offers(verdict_of((member(0),), requests))][:2] == [OfferKind.ALLOW_ONCE, OfferKind.DENY]
