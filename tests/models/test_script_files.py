import re
from pathlib import Path

import pytest

from mcp_server.errors import ConfigError
from mcp_server.sessions.models.script import TURN_KEYS, read_script


def faults_of(folder: Path, script: str | bytes) -> list[str]:
    file = folder / "story.yaml"
    file.write_bytes(script if isinstance(script, bytes) else script.encode())
    with pytest.raises(ConfigError) as raised:
        read_script(file)
    return [str(fault).replace(f"{file}", "story.yaml") for fault in raised.value.faults]


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("explore:\n  - txt: a", "story.yaml:2: the key `txt` is not known here; use one of text, calls, expect, await, usage, fail"),
        ("explore:\n  - text: a\n    text: b", "story.yaml:3: the key `text` stands twice, first on line 2; keep one of them"),
        ("explore:\n  - expect: a", "story.yaml:2: the turn says nothing; give it `text`, `calls` or `fail`"),
        ("explore:\n  - fail: a\n    text: b", "story.yaml:2: a turn that fails says nothing else; "),
        ("explore: text", "story.yaml:1: the script of `explore` is not a list; write a list of turns"),
        ("explore:\n  - a", "story.yaml:2: a turn is not a map; "),
        ("explore:\n  - text: 3", "story.yaml:2: `text` is not text; put it in quotes"),
        ("explore:\n  - text: a\n    expect: (", "story.yaml:3: `expect` is not a regular expression: "),
        ("explore:\n  - text: a\n    await: ../x", "story.yaml:3: an event's name is letters, digits, `-` and `_`, 64 at most; "),
        ("explore:\n  - calls: read", "story.yaml:2: `calls` is not a list; write a list of calls"),
        ("explore:\n  - calls: [read]", "story.yaml:2: a call is not a map; write `tool` and `arguments`"),
        ("explore:\n  - calls: [{arguments: {}}]", "story.yaml:2: the call names no tool; add `tool`"),
        ("explore:\n  - calls: [{tool: a, args: {}}]", "story.yaml:2: the key `args` is not known here; use one of tool, arguments"),
        ("explore:\n  - calls: [{tool: a, arguments: [1]}]", "story.yaml:2: `arguments` is not a map; write a map, name to value"),
        ("explore:\n  - text: a\n    usage: {input_tokens: -1}", "story.yaml:3: `input_tokens` is not a number of tokens; "),
        ("explore:\n  - text: a\n    usage: {input: 1}", "story.yaml:3: the key `input` is not known here; "),
        ("explore:\n  - when: a\n    turns: [{text: b}]\n  - text: c", "story.yaml:4: a turn stands among scripts; "),
        ("explore:\n  - turns: [{text: b}]\n  - when: a\n    turns: [{text: b}]", "story.yaml:2: the scripts after one without `when` "),
        ("explore:\n  - when: a", "story.yaml:2: `turns` is not a list; write a list of turns"),
        ("agents: {explore: [{text: a}]}\nevent: x", "story.yaml:2: the key `event` is not known here; use one of agents, events"),
        ("agents: [a]", "story.yaml:1: `agents` is not a map; "),
        ("", "story.yaml:1: the script is not a map; "),
        ("{}", "story.yaml:1: no agent has a script; "),
        ("explore: [\n", "story.yaml:2: not YAML: "),
        (b"\xff\xfe", "story.yaml: is not UTF-8 text; save it as UTF-8"),
        (b"#" * 1_000_001, "story.yaml: is longer than 1,000,000 bytes; split it"),
    ],
)
def test_a_fault_in_a_script_is_named_with_its_line_and_a_remedy(tmp_path: Path, script: str | bytes, fault: str) -> None:
    faults = faults_of(tmp_path, script)
    assert len(faults) == 1
    assert faults[0].startswith(fault)


def test_all_faults_of_a_script_are_reported_at_once(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, "build:\n  - txt: a\n    text: b\nexplore:\n  - text: a\n    await: ''\n  - calls: 3\n")
    assert [fault.split(": ")[0] for fault in faults] == ["story.yaml:2", "story.yaml:6", "story.yaml:7"]


def test_a_script_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_script(tmp_path / "none.yaml")


def test_an_agent_may_be_called_agents(tmp_path: Path) -> None:
    file = tmp_path / "story.yaml"
    file.write_text("agents:\n  agents:\n    - text: a\n")
    assert list(read_script(file).agents) == ["agents"]


def test_the_examples_in_the_documentation_can_be_read(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "scripted-models.md"
    examples = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    scripts = [example for example in examples if not example.startswith("model:")]
    assert len(scripts) == 2
    for example in scripts:
        file = tmp_path / "story.yaml"
        file.write_text(example)
        assert "explore" in read_script(file).agents


def test_every_key_of_a_turn_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scripted-models.md").read_text(encoding="utf-8")
    assert [key for key in TURN_KEYS if f"| `{key}` |" not in page] == []
