"""The reference pages of settings and agents, and a small program that writes them: `python -m mcp_server.agents.reference FOLDER`."""

import sys
from collections.abc import Iterator
from pathlib import Path, PurePath

from mcp_server.agents.front_matter import AgentFile, read_agent
from mcp_server.agents.load import package_folder
from mcp_server.agents.schema import ELSEWHERE, FrontMatter
from mcp_server.settings.reference import MADE, RULES, schema_text, settings_page, table
from mcp_server.settings.schema import SettingsFile

_INTRO = f"""# Agents

{MADE}
The front matter as JSON Schema: [agents.schema.json](agents.schema.json).

An agent is one Markdown file, `<name>.md`: YAML front matter between two lines `---`, then its system prompt.

- **package**: the built-in roles below, which come with Remit.
- **user**: `agents/` in your configuration folder. One of the same name replaces a built-in, and `remit agents` says so.
- **workspace**: `.remit/agents/`, only once you `remit trust` the workspace. One never replaces another of the same name: it is
  reported and not loaded.

Files in folders below these are not read.

The same strict YAML as in [settings](settings.md): an unknown, empty or repeated key is a fault, and all faults are reported at
once. Settings may add rules and set `model`, `temperature`, `top_p`, `steps`, `timeout` and `disable` of any agent under
`agents.<name>`.

```markdown
---
description: Reads a change and lists its faults.
mode: subagent
permission:
  "*": deny
  read: allow
  grep: allow
---
You review a change. Read it, and what it touches, before you judge.
```

## Front matter
"""


def pages() -> dict[str, str]:
    """Each page by its file's name."""
    return {
        "settings.md": settings_page(),
        "settings.schema.json": schema_text(SettingsFile.model_json_schema(), "Remit settings"),
        "agents.md": agents_page(),
        "agents.schema.json": schema_text(FrontMatter.model_json_schema(), "Remit agent front matter"),
    }


def agents_page() -> str:
    """`agents.md`."""
    schema = FrontMatter.model_json_schema()
    return "\n".join([_INTRO, *table(schema, schema, sources=False), RULES, *_built_in(), *_other_tools()]) + "\n"


def _built_in() -> Iterator[str]:
    yield "## Built-in roles\n"
    yield "| name | mode | rules | what it is |"
    yield "|---|---|---|---|"
    for file in sorted(package_folder().glob("*.md")):
        read = read_agent(file.read_text("utf-8"), PurePath(file).name, where="package", workspace="/")
        if isinstance(read, AgentFile):
            agent = read.definition
            rules = ", ".join(f"`{rule}`{' (self)' if rule.scope == 'self' else ''}" for rule in agent.permission)
            yield f"| `{agent.name}` | {agent.mode}{', hidden' if agent.hidden else ''} | {rules or 'none'} | {agent.description} |"


def _other_tools() -> Iterator[str]:
    yield "\n## Keys from other tools\n"
    yield "These are faults; the fault says what to do.\n"
    yield "| key | here |"
    yield "|---|---|"
    for name, (_, remedy) in sorted(ELSEWHERE.items()):
        yield f"| `{name}` | {remedy} |"
    yield "| `tools: Read, Grep` | write a list of Remit's names: `[read, grep]` |"
    yield "| `tools: {write: false}` | list the tools to show; to forbid something write `permission: {edit: deny}` |"


if __name__ == "__main__":
    for page, text in pages().items():
        (Path(sys.argv[1]) / page).write_text(text, encoding="utf-8")
