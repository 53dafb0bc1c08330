"""Where MCP clients keep their list of servers, and what Remit's entry in it looks like.

Only clients whose file is plain JSON that a person is meant to edit. None of them was run here; the places are those that
their makers document.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from platformdirs import user_config_dir

from mcp_server.errors import ConfigError, Fault

CARRIED = ("REMIT_CONFIG_DIR", "REMIT_STATE_DIR", "REMIT_CACHE_DIR")
"""Variables that a client's server needs as well, or `remit approvals` would look into another store than it."""

HERE = "${workspaceFolder}"
"""What VS Code and Cursor put the open folder in for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """One client's file."""

    name: str
    """As people call the client."""
    path: Path
    key: str
    """Under which its servers stand."""
    workspace: str | None
    """What follows `--workspace`; None: the client starts servers in the folder that it works in."""
    typed: bool
    """Its entries carry `type: stdio`."""
    then: str
    """What the person does next."""


def client_file(client: str, workspace: Path, home: Path, *, user: bool) -> ClientFile:
    """The file of a client: of the workspace, or, with `user`, of all its folders. Claude Desktop has one file only."""
    shown = str(workspace)
    match client:
        case "claude-desktop":
            path = Path(user_config_dir("Claude", appauthor=False, roaming=True)) / "claude_desktop_config.json"
            then = "Quit Claude Desktop and start it again. It cannot show prompts: `remit console` or `remit approvals` answers them."
            return ClientFile(name="Claude Desktop", path=path, key="mcpServers", workspace=shown, typed=False, then=then)
        case "claude-code":
            path = home / ".claude.json" if user else workspace / ".mcp.json"
            then = "Start Claude Code anew; `/mcp` shows the server. It asks once whether the folder's own servers may start."
            return ClientFile(name="Claude Code", path=path, key="mcpServers", workspace=None if user else shown, typed=True, then=then)
        case "vscode":
            code = Path(user_config_dir("Code", appauthor=False, roaming=True)) / "User"
            path = code / "mcp.json" if user else workspace / ".vscode" / "mcp.json"
            then = "In VS Code run `MCP: List Servers` and start it; the agent mode of the chat has the tools."
            return ClientFile(name="VS Code", path=path, key="servers", workspace=HERE, typed=True, then=then)
        case "cursor":
            path = (home if user else workspace) / ".cursor" / "mcp.json"
            then = "Open Cursor's settings, MCP, and switch the server on."
            return ClientFile(name="Cursor", path=path, key="mcpServers", workspace=HERE if user else shown, typed=False, then=then)
        case _:
            raise AssertionError(client)


def entry(file: ClientFile, environment: Mapping[str, str], address: str | None = None) -> dict[str, Any]:
    """How the client starts this very program: to serve or, with a server's address, as a bridge to it."""
    command, *first = _program()
    where = [] if file.workspace is None else ["--workspace", file.workspace]
    made: dict[str, Any] = {"type": "stdio"} if file.typed else {}
    made |= {"command": command, "args": [*first, *(["serve", *where] if address is None else ["connect", address])]}
    carried = {name: environment[name] for name in CARRIED if environment.get(name)}
    return made | ({"env": carried} if carried else {})


def _program() -> tuple[str, ...]:
    """Whole paths: a client started from a desktop searches no environment of ours."""
    script = Path(sys.executable).with_name("remit.exe" if sys.platform == "win32" else "remit")
    return (str(script),) if script.exists() else (sys.executable, "-m", "mcp_server")


def with_entry(file: ClientFile, text: str | None, server: str, made: Mapping[str, Any]) -> str:
    """The file's text with the entry under the server's name. Everything else stays, also what a person added to the entry.

    Args:
        file: Which client.
        text: What is there now; None: there is no file.
        server: The name of the entry.
        made: The entry.

    Raises:
        ConfigError: What is there is not JSON that can be written back whole.
    """
    read = _read(file, text)
    servers = read.setdefault(file.key, {})
    if not isinstance(servers, dict):
        raise _unfit(file, None, f"`{file.key}` is no object")
    servers = cast(dict[str, Any], servers)
    before = servers.get(server, {})
    if not isinstance(before, dict):
        raise _unfit(file, None, f"`{file.key}.{server}` is no object")
    merged = _merged(cast(dict[str, Any], before), made)
    if text is not None and servers.get(server) == merged:
        return text
    servers[server] = merged
    return json.dumps(read, indent=_indent(text or ""), ensure_ascii=False) + "\n"


def _merged(before: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    variables = before.get("env")
    if isinstance(variables, dict) and "env" in made:
        return {**before, **made, "env": {**cast(dict[str, Any], variables), **made["env"]}}
    return {**before, **made}


def _read(file: ClientFile, text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        read = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise _unfit(file, error.lineno, f"is not JSON: {error.msg}") from error
    except KeyError as error:
        raise _unfit(file, None, f"has the key {error} twice") from error
    except RecursionError as error:
        raise _unfit(file, None, "is nested too deeply") from error
    if not isinstance(read, dict):
        raise _unfit(file, None, "is no JSON object")
    return cast(dict[str, Any], read)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a key that stands twice one would be lost on writing."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in names if names.count(name) > 1))
    return found


def _indent(text: str) -> int | str:
    for line in text.splitlines():
        if line.startswith("\t"):
            return "\t"
        if line.startswith(" "):
            return len(line) - len(line.lstrip(" "))
    return 2


def _unfit(file: ClientFile, line: int | None, problem: str) -> ConfigError:
    remedy = "mend it, or write the entry that `--print` shows into it yourself (comments are not kept, so a file with some is left alone)"
    return ConfigError((Fault(file=str(file.path), line=line, problem=problem, remedy=remedy),))
