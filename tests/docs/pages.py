"""The pages of the documents and the examples, and what stands in their fences."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = tuple(sorted([ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "client_examples").rglob("README.md")]))
"""Everything that people read. Other such files of the examples are agents."""

_FENCE = re.compile(r"^```(?P<kind>[\w-]*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_CASES = re.compile(r"^- .*^  (want|want_mode|match):", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One fence."""

    page: Path
    line: int
    """Of its first line, from 1."""
    section: str
    kind: str
    title: str | None
    """The file that it is, where it is one."""
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def cases(self) -> bool:
        """It is a case file."""
        return self.kind == "yaml" and _CASES.search(self.text) is not None


def snippets_of(page: Path) -> tuple[Snippet, ...]:
    """In their order."""
    text = page.read_text("utf-8")
    found: list[Snippet] = []
    for fence in _FENCE.finditer(text):
        above = text[: fence.start()]
        heads = re.findall(r"^## (.+)$", above, re.MULTILINE)
        found.append(
            Snippet(
                page=page,
                line=above.count("\n") + 1,
                section=heads[-1] if heads else "",
                kind=fence["kind"],
                title=fence["title"],
                text=fence["text"],
            )
        )
    return tuple(found)


SNIPPETS = tuple(snippet for page in PAGES for snippet in snippets_of(page))


def files_shown_with(snippet: Snippet) -> dict[str, str]:
    """The files that the page's beginning and the snippet's section show, by name."""
    same = (other for other in SNIPPETS if other.page == snippet.page and other.section in ("", snippet.section))
    return {other.title: other.text for other in same if other.title is not None}
