"""A channel that settings leave out takes no answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mcp_server.records import PromptState
from tests.cli.kept import Kept
from tests.cli.person import Person


def say(environment: Mapping[str, str], text: str) -> None:
    folder = Path(environment["REMIT_CONFIG_DIR"])
    folder.mkdir(exist_ok=True)
    (folder / "settings.yaml").write_text(text)


@pytest.mark.parametrize(
    ("channels", "command"),
    [
        ("[elicitation, console]", ("approvals", "approve", "ID", "--reach", "once")),
        ("[elicitation, console]", ("approvals", "deny", "ID")),
        ("[elicitation, console]", ("approvals", "watch")),
        ("[terminal]", ("console",)),
        ("[terminal]", ("serve", "--http", "127.0.0.1:0", "--console", "0")),
    ],
)
def test_a_command_whose_channel_is_left_out_says_so_and_answers_nothing(
    kept: Kept, environment: Mapping[str, str], tmp_path: Path, channels: str, command: Sequence[str]
) -> None:
    kept.tree()
    prompt = kept.prompt()
    say(environment, f"channels: {channels}")
    typed = [prompt.id if word == "ID" else word for word in command]
    folder = tmp_path / "project"
    folder.mkdir()
    with Person(typed, environment, folder) as person:
        code, said = person.leaves()
    assert code == 2
    assert "settings.yaml:1) leaves" in said
    assert kept.prompt_now(prompt).state is PromptState.OPEN


def test_settings_that_cannot_be_read_let_nothing_be_answered(kept: Kept, environment: Mapping[str, str], tmp_path: Path) -> None:
    kept.tree()
    prompt = kept.prompt()
    say(environment, "channels: [terminal, smoke]")
    with Person(("approvals", "approve", prompt.id, "--reach", "once"), environment, tmp_path) as person:
        code, said = person.leaves()
    assert (code, "settings.yaml:1: " in said) == (2, True)
    assert kept.prompt_now(prompt).state is PromptState.OPEN
