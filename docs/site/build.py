"""Builds the documents into a folder: `python docs/site/build.py FOLDER`. Fails on any warning.

The pages are laid out as they lie in the checkout, so that their links are the same in both places.
"""

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UNWANTED = shutil.ignore_patterns("site", "node_modules", "__pycache__")


def main(target: Path) -> int:
    """Lay out, build; the generator's exit code. The site is in `site` of the folder."""
    shutil.rmtree(target, ignore_errors=True)
    pages = target / "pages"
    pages.mkdir(parents=True)
    for folder in ("docs", "client_examples"):
        shutil.copytree(ROOT / folder, pages / folder, ignore=UNWANTED)
    for page in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / page, pages / page)
    shutil.copy(HERE / "zensical.toml", target)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=target, check=False).returncode  # noqa: S603 - our own command, in our own folder


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
