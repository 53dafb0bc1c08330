"""The second opinion: what it does not answer is a doubt for once, and none that stays."""

from pathlib import Path

import pytest

from mcp_server.shell import second

SEEN = [("rm", "a"), (">", "b")]


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    second.forget()


def test_it_confirms_what_it_sees_as_well_and_nothing_else() -> None:
    assert second.confirmed(["rm a > b"], SEEN)
    assert not second.confirmed(["rm a > b"], [("rm", "a")])
    assert not second.confirmed(["rm a > b;;;"], SEEN)


def test_a_line_that_it_could_not_be_asked_about_is_asked_about_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: on a machine too busy to answer in time the rules ask for once, not for as long as the server runs."""
    slow = tmp_path / "shfmt"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    with monkeypatch.context() as busy:
        busy.setattr(second, "_program", lambda: str(slow))
        busy.setattr(second, "SECONDS", 0.1)
        assert not second.confirmed(["rm a > b"], SEEN)
    slow.unlink()
    with monkeypatch.context() as gone:
        gone.setattr(second, "_program", lambda: str(slow))
        assert not second.confirmed(["rm a > b"], SEEN)
    assert second.confirmed(["rm a > b"], SEEN)
