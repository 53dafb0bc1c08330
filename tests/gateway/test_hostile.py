"""What models and files write is shown harmless and unmistakable."""

import re
import unicodedata
from dataclasses import replace

import pytest

from mcp_server.gateway.html import MOST_LINES, MOST_SHOWN, el, exact, lined, said
from mcp_server.records import ApprovalSubject, Question, QuestionOption, QuestionSubject
from tests.cli.kept import APPROVAL, Kept
from tests.gateway.browsing import hidden_in, site, words_of
from tests.gateway.conftest import put

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'></textarea></pre></code></form><form action=//evil.example>"
HIDING = "safe.txt\u202etxt.exe\u200b\u2066\ufeff\x00\x1b[2J\x07\x85\u2028\ud800\u3164\u034f"
HOSTILE = (
    MARKUP,
    HIDING,
    "x" * 100_000,
    "a\u0301" * 2000,
    "&lt;b&gt;&#60;",
    "</article>" * 50,
    "Allow once\n\nAnswered here in the console",
    "\n" * 5000,
)


def escapes(page: str) -> list[str]:
    return re.findall(r'<mark class="escape">([^<]*)</mark>', page)


def saying(text: str) -> ApprovalSubject:
    """An approval in which everything that a model or a file chooses is this text."""
    return replace(
        APPROVAL,
        tool="write",
        arguments={"filePath": text, text[:500]: text, "content": text},
        wants=(text,),
        because=(text,),
        notes=(text,),
        offers=tuple(replace(offer, rules=tuple(text for _ in offer.rules)) for offer in APPROVAL.offers),
    )


async def shown(kept: Kept, *texts: str) -> list[str]:
    """The page of a prompt for each text."""
    async with site(kept.folder) as served:
        browser = await served.browser()
        pages: list[str] = []
        for text in texts:
            prompt = await put(kept, saying(text))
            answer = await browser.get(f"prompts/{prompt.id}")
            assert answer.status_code == 200
            pages.append(answer.text)
        return pages


@pytest.mark.parametrize("text", HOSTILE, ids=["markup", "hiding", "long", "marks", "entities", "closing", "pretending", "lines"])
async def test_no_text_of_a_models_adds_an_element_or_a_character_that_hides(text: str, kept: Kept) -> None:
    tame, page = await shown(kept, "notes.txt", text)
    for name in ("script", "form", "input", "button", "img", "article", "textarea", "a", "iframe", 'p class="over"'):
        assert page.count(f"<{name}") == tame.count(f"<{name}"), name
    assert [c for c in page if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and c not in "\n\t"] == []


async def test_what_does_not_show_is_written_out_and_marked(kept: Kept) -> None:
    (page,) = await shown(kept, HIDING)
    marks = "".join(escapes(page))
    for escape in (
        "\\u202e",
        "\\u200b",
        "\\u2066",
        "\\ufeff",
        "\\u0000",
        "\\u001b",
        "\\u0007",
        "\\u0085",
        "\\u2028",
        "\\ud800",
        "\\u3164",
        "\\u034f",
    ):
        assert escape in marks


def test_nobody_can_write_what_looks_like_an_escape_of_ours() -> None:
    assert exact("\\u202e").text == '<code class="exact" dir="ltr">\\u202e</code>'
    both = exact("\\u202e\u202e").text
    assert both == '<code class="exact" dir="ltr">\\\\u202e<mark class="escape">\\u202e</mark></code>'


def test_line_breaks_are_lines_in_a_box_and_escapes_in_a_line() -> None:
    assert escapes(said("one\ntwo").text) == ["\\n"]
    assert lined("one\ntwo", of="it").text.count('<span class="line">') == 2


def test_a_text_past_all_reading_is_cut_in_the_middle_and_says_so() -> None:
    box = words_of(lined("a" * MOST_SHOWN + "b" * MOST_SHOWN, of="it").text)
    assert f"{MOST_SHOWN:,} characters are not shown" in box
    assert box.startswith("aaaa")
    assert "bbbb" in box


def test_a_text_full_of_escapes_is_marked_by_the_line_and_not_a_thousand_times() -> None:
    assert escapes(said("a\u202e" * 1000).text) == ["a\\u202e" * 1000]
    assert escapes(lined("a\u202e\tb\u202e\n" * 400 + "tame", of="it").text) == ["a\\u202e\\tb\\u202e"] * 400
    assert escapes(lined("a\u202e\n" * 200, of="it").text) == ["\\u202e"] * 200


def test_of_very_many_lines_none_is_left_out_and_the_last_ones_are_one_stretch() -> None:
    page = lined("line\n" * MOST_LINES + "last\tbut one\nlast", of="it").text
    assert page.count('<span class="line">') == MOST_LINES + 1
    assert '<span class="line">last\tbut one\nlast</span>' in page
    assert escapes(lined("\n" * MOST_LINES + "tame\n\u202e\t\\\u202e", of="it").text) == ["tame\n\\u202e\t\\\\\\u202e"]


def test_an_attribute_cannot_be_left() -> None:
    assert el("a", {"href": '"><script>'}).text == '<a href="&quot;&gt;&lt;script&gt;"></a>'


async def test_a_question_that_pretends_to_be_an_approval_has_no_button_that_approves(kept: Kept) -> None:
    pretending = QuestionSubject(
        questions=(
            Question(
                question="Allow once? <button name=choice value=allow_once>",
                options=(QuestionOption(label='" name="choice" value="allow_once'),),
            ),
        )
    )
    async with site(kept.folder) as served:
        browser = await served.browser()
        prompt = await put(kept, pretending)
        page = (await browser.get(f"prompts/{prompt.id}")).text
    tags = re.findall(r"<[^>]*>", page)
    assert [tag for tag in tags if "allow_once" in tag or 'name="choice"' in tag] == []
    assert set(hidden_in(page)) == {"key", "digest"}
    assert "asks you" in words_of(page)


async def test_enter_in_the_line_of_words_presses_nothing(kept: Kept) -> None:
    (page,) = await shown(kept, "notes.txt")
    first = re.search(r"<button [^>]*>", page.split("<form")[1])
    assert first is not None
    assert "disabled" in first[0]
