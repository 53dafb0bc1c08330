"""The page of agents and rules says what `remit explain` says, and every word on it stays text."""

import html
import json
from pathlib import Path
from urllib.parse import urlencode

import anyio
import pytest
from click.testing import CliRunner

from mcp_server.cli.main import remit
from tests.cli.kept import CHILD, Kept
from tests.gateway.browsing import environment_of, site, words_of, workspace_of


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """The person's store in a folder of its own, apart from the workspace."""
    kept = Kept(folder=tmp_path / "state")
    kept.tree()
    return kept


@pytest.fixture
def config(kept: Kept) -> Path:
    """The person's own folder, as the console finds it."""
    folder = Path(environment_of(kept.folder)["REMIT_CONFIG_DIR"])
    (folder / "agents").mkdir(parents=True, exist_ok=True)
    return folder


async def asked(kept: Kept, **query: str) -> str:
    async with site(kept.folder) as served:
        answer = await (await served.browser()).get(f"agents?{urlencode(query)}")
    assert answer.status_code == 200
    return answer.text


@pytest.mark.parametrize(
    ("chain", "tool", "value"),
    [("plan, explore", "edit", "a.py"), ("build", "edit", "a.py"), ("build,explore", "read", "a.py"), ("build", "read", ".env")],
)
async def test_it_says_of_a_call_what_the_command_says(kept: Kept, config: Path, chain: str, tool: str, value: str) -> None:
    page = words_of(await asked(kept, chain=chain, tool=tool, value=value))
    runner = CliRunner(env=environment_of(kept.folder))
    told = await anyio.to_thread.run_sync(
        runner.invoke, remit, ["explain", chain, tool, value, "--workspace", str(workspace_of(kept.folder)), "--json"]
    )
    said = json.loads(told.stdout)
    assert f"{said['action']}: " in page
    assert f"at step {said['step']}, mode {said['mode']}" in page
    for part in said["parts"]:
        assert all(change in page for change in part["changes"])
        assert all(one["rule"] in page and one["origin"] in page for one in part["opinions"] if one["rule"])


async def test_what_is_wrong_is_told_with_its_file(kept: Kept, config: Path) -> None:
    assert "no agent is called nobody" in words_of(await asked(kept, chain="nobody", tool="read", value="a"))
    (config / "agents" / "bad.md").write_text("---\ndescription: x\nmode: sideways\n---\nx\n")
    page = words_of(await asked(kept))
    assert str(config / "agents" / "bad.md") in page
    assert "should be 'primary', 'subagent' or 'all'" in page


async def test_who_there_is_stands_with_rules(kept: Kept, config: Path) -> None:
    (config / "agents" / "mine.md").write_text(
        '---\ndescription: "<script>alert(1)</script>"\npermission: {"edit": {"<b>*": deny}}\n---\nx\n'
    )
    page = await asked(kept)
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "edit &lt;b&gt;* deny" in page
    assert "explore" in page


async def test_a_hostile_question_stays_text(kept: Kept, config: Path) -> None:
    page = await asked(kept, chain='"><script>x', tool="\u202eread", value="<img src=x>", mode="<i>", workspace="/etc")
    assert "<script>" not in page
    assert "<img" not in page
    assert "\u202e" not in words_of(page)
    assert 'value="/etc"' not in page, "no folder is read that is not the console's or a session's"


async def test_a_session_brings_its_chain(kept: Kept, config: Path) -> None:
    page = html.unescape(await asked(kept, session=CHILD, tool="read", value="a.py"))
    assert 'value="build, explore"' in page
    assert '<option value="/project" selected' in page
