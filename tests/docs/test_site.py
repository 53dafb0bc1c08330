"""The documents as a site: built without a warning, every page in its place, every link and anchor found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT

CONTENTS = DOCS / "site" / "zensical.toml"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "built"
    built = subprocess.run(
        [sys.executable, DOCS / "site" / "build.py", folder], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "No issues found" in built.stdout + built.stderr
    return folder / "site"


def test_the_site_is_built_without_a_warning_and_has_every_page(site: Path) -> None:
    for page in PAGES:
        name = page.relative_to(ROOT)
        place = name.parent if name.stem in {"README", "index"} else name.with_suffix("")
        assert (site / place / "index.html").is_file(), name


def test_pages_link_to_the_examples_and_back(site: Path) -> None:
    recipes = (site / "docs" / "recipes" / "index.html").read_text("utf-8")
    assert 'href="../../client_examples/inspector/"' in recipes
    desktop = (site / "client_examples" / "claude_desktop" / "index.html").read_text("utf-8")
    assert 'href="../../docs/recipes/"' in desktop
    assert (site / "client_examples" / "claude_desktop" / "claude_desktop_config.json").is_file()


def test_a_link_that_leads_nowhere_fails_the_build(site: Path, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# One\n\n[gone](gone.md)\n")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "x"\ndocs_dir = "pages"\n')
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode != 0


def test_every_page_is_reached_from_the_contents() -> None:
    listed = re.findall(r"[\w/-]+\.md(?=\")", CONTENTS.read_text("utf-8"))
    assert {page.relative_to(ROOT).as_posix() for page in PAGES} == set(listed) - {"CHANGELOG.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_anchor_that_is_linked_to_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    for link, anchor in re.findall(r"\]\((?!https?://)([^)#]*)#([^)]+)\)", text):
        target = (page.parent / link) if link else page
        heads = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
        assert anchor in {slug(head) for head in heads}, f"{link}#{anchor}"


def slug(head: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower())
