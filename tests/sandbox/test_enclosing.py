from pathlib import Path

from mcp_server.policy.chain import Commons, Member, authority
from mcp_server.policy.values import Mode
from mcp_server.policy.verdicts import SessionId
from mcp_server.sandbox.enclosing import Enclosing
from mcp_server.sandbox.profile import Access
from mcp_server.settings.places import Places


def test_a_key_that_comes_while_the_server_runs_is_hidden_from_the_next_line(tmp_path: Path) -> None:
    home, workspace = tmp_path / "home", tmp_path / "home" / "project"
    workspace.mkdir(parents=True)
    places = Places(home=home, config=home / "config", state=home / "state", cache=home / "cache", managed=home / "managed")
    enclosing = Enclosing("none", places, {"PATH": "/usr/bin:/bin", "HOME": str(home)})
    anything = authority((Member(session_id=SessionId("s"), agent="build", rules=(), mode=Mode.BYPASS),), Commons(workspace=str(workspace)))
    key = home / ".aws" / "credentials"
    assert enclosing.enclosure(anything, str(workspace), "s").profile.access(str(key)) is not Access.HIDDEN
    key.parent.mkdir()
    key.touch()
    assert enclosing.enclosure(anything, str(workspace), "s").profile.access(str(key)) is Access.HIDDEN
