"""From what settings say of a server to what it is given: variables, files, folders."""

import os
import re
from collections.abc import Iterable, Mapping

from mcp_server.errors import ConfigError, ToolFailure
from mcp_server.redaction import SECRET_NAME, SHORTEST
from mcp_server.settings.secret_files import secret_in
from mcp_server.settings.upstream import Upstream

_NAMED = re.compile(r"\$\{(?:file:(?P<file>[^}]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<otherwise>[^}]*))?)\}")
_LOGIN = re.compile(r"://[^/\s:@]*:([^/\s]+)@")
"""A password in an address, which servers tell of without the rest."""
_SCHEMES = ("bearer", "basic", "token")
"""Words before a secret that are none."""
WORKSPACE = "workspaceFolder"


LONG = 16
"""Characters of a variable's value, under a name that tells nothing, from which on it may be a secret: a region or a host is shorter."""


class NotSet(ToolFailure):
    """What a server must be given is not there."""


def expanded(text: str, environment: Mapping[str, str], workspace: str) -> str:
    """The text with what it names in it: `${NAME}`, `${NAME:-otherwise}`, `${file:PATH}`, `${workspaceFolder}`.

    Raises:
        NotSet: A variable is not set, or a file cannot be read, is somebody else's to read, or is too large.
    """

    def named(found: re.Match[str]) -> str:
        if found.groupdict()["file"] is not None:
            return held_in(found["file"])
        name, otherwise = found["name"], found.groupdict()["otherwise"]
        if name == WORKSPACE:
            return workspace
        if name not in environment and otherwise is None:
            raise NotSet(f"the environment variable {name} is not set")
        return environment.get(name, otherwise or "")

    # In one pass: whoever names a folder must not name a secret by it.
    return _NAMED.sub(named, text)


def placed(text: str, workspace: str) -> str:
    """A folder or an argument: only the workspace is put in, as what stands there everybody on this machine can see."""
    return text.replace(f"${{{WORKSPACE}}}", workspace)


def to_hide(values: Mapping[str, str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """What of a server's variables or headers it should show to nobody: what files hold, what stands under a telling name, and what
    else of Remit's own environment is long enough to be a secret.

    Raises:
        NotSet: As `expanded`.
    """
    found, long = set[str](), set[str]()
    for name, text in values.items():
        telling = bool(SECRET_NAME.search(name))
        for each in _NAMED.finditer(text):
            if each["file"] is not None:
                found.add(held_in(each["file"]))
            elif each["name"] in environment:
                (found if telling or SECRET_NAME.search(each["name"]) else long).add(environment[each["name"]])
        if telling:
            found |= {word for word in expanded(text, environment, "").split() if word.lower() not in _SCHEMES}
    found |= {value for value in long if len(value) >= LONG}
    found |= {login[1] for value in found if (login := _LOGIN.search(value))}
    parts = {part.strip() for value in found for part in (value, *value.splitlines())}
    return tuple(part for part in parts if len(part) >= SHORTEST and not os.path.isabs(part))


def secrets_in(upstreams: Iterable[Upstream], environment: Mapping[str, str]) -> tuple[str, ...]:
    """What servers are given that must not be written down anywhere. What cannot be had is no secret."""
    found: set[str] = set()
    for one in upstreams:
        for text in (*one.env.values(), *one.headers.values()):
            try:
                value = expanded(text, environment, "")
            except NotSet:
                continue
            found |= {value, *value.split()}
    return tuple(value for value in found if len(value) >= SHORTEST and not os.path.isabs(value))


def held_in(name: str) -> str:
    """The secret that the file holds.

    Raises:
        NotSet: It cannot be had: see `secret_in`.
    """
    try:
        return secret_in(name)
    except ConfigError as error:
        raise NotSet(f"the file {error}") from error
