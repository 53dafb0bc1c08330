"""Scripts of scripted models: what the file may say, and its reader. Nothing is run here.

    explore:                          # an agent's name: a list of turns
      - text: Looking.
        calls:
          - {tool: read, arguments: {filePath: README.md}}
        await: go                     # held until the event `go` is released
      - expect: (?i)remit             # a pattern in what the last calls gave back
        text: "It says: {{results[0].text}}"

With the key `agents` the agents stand below it, and `events` may name the folder of the event files. An agent may have
several scripts, told apart by the task it was given: a list of `{when: <pattern>, turns: [...]}`, the first that fits.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_server.errors import ConfigError, Fault
from mcp_server.strict_yaml import Document, Place, Plain, read_yaml

LARGEST_FILE = 1_000_000
"""Bytes of a script that are read; the YAML reader takes no more characters than that."""

TURN_KEYS = ("text", "calls", "expect", "await", "usage", "fail")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    """A call as written, substitutions not yet carried out."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTurn:
    """One turn as written."""

    line: int
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    expect: re.Pattern[str] | None = None
    hold: str | None = None
    """`await`: the event that the turn waits for."""
    fail: str | None = None
    """The turn is none: the provider fails, with these words."""
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentScript:
    """The turns of one agent, where its task fits."""

    when: re.Pattern[str] | None
    """None: whatever the task."""
    turns: tuple[ScriptedTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One file."""

    file: Path
    agents: Mapping[str, tuple[AgentScript, ...]]
    events: Path | None
    """The folder of the event files; None: they lie beside the script."""

    def event_file(self, event: str) -> Path:
        """The file that releases an event by being there."""
        if self.events is None:
            return self.file.with_name(f"{self.file.name}.{event}")
        return self.events / event


def read_script(file: Path) -> Script:
    """Read a script.

    Raises:
        ConfigError: All that is wrong with the file, with lines.
    """
    return parse_script(file, script_bytes(file))


def script_bytes(file: Path) -> bytes:
    """What the file holds; of one that is too large, more than it may.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError((_whole(file, f"cannot be read: {error.strerror}", "check the model string `scripted:<file>`"),)) from None


def parse_script(file: Path, raw: bytes) -> Script:
    """The script that a file with this content is.

    Raises:
        ConfigError: All that is wrong with it, with lines.
    """
    try:
        text = raw[:LARGEST_FILE].decode("utf-8", "strict" if len(raw) <= LARGEST_FILE else "ignore")
    except UnicodeDecodeError:
        raise ConfigError((_whole(file, "is not UTF-8 text", "save it as UTF-8"),)) from None
    if len(raw) > LARGEST_FILE:
        raise ConfigError((_whole(file, f"is longer than {LARGEST_FILE:,} bytes", "split it"),))
    document = read_yaml(text, str(file))
    reader = _Reader(document=document, faults=list(document.faults))
    script = reader.script(file)
    if reader.faults:
        raise ConfigError(tuple(sorted(reader.faults, key=lambda fault: fault.line or 0)))
    return script


def _whole(file: Path, problem: str, remedy: str) -> Fault:
    return Fault(file=str(file), line=None, problem=problem, remedy=remedy)


@dataclass(slots=True, kw_only=True)
class _Reader:
    """Reads one document, noting faults as it goes."""

    document: Document
    faults: list[Fault] = field(default_factory=list[Fault])

    def fault(self, place: Place, problem: str, remedy: str) -> None:
        self.faults.append(self.document.fault(place, problem, remedy))

    def script(self, file: Path) -> Script:
        top = self.mapping((), self.document.value, "the script", "write one agent's name a key, its turns below")
        place: Place = ()
        events: Path | None = None
        agents = top
        if "agents" in top:
            self.known((), top, ("agents", "events"))
            place = ("agents",)
            agents = self.mapping(place, top["agents"], "`agents`", "write one agent's name a key, its turns below")
            folder = self.text((), top, "events")
            events = file.parent / folder if folder else None
        if not agents and not self.faults:
            self.fault(place, "no agent has a script", "write one agent's name a key, its turns below")
        read = {name: self.scripts((*place, name), written) for name, written in agents.items()}
        return Script(file=file, agents=read, events=events)

    def scripts(self, place: Place, written: Plain) -> tuple[AgentScript, ...]:
        items = self.items(place, written, f"the script of `{place[-1]}`", "write a list of turns")
        several = [isinstance(item, dict) and ("turns" in item or "when" in item) for item in items]
        if not any(several):
            return (AgentScript(when=None, turns=self.turns(place, items)),)
        if not all(several):
            self.fault(
                (*place, several.index(False)), "a turn stands among scripts", "put it under `turns`, or take `when` and `turns` away"
            )
        scripts = tuple(self.one_script((*place, i), item) for i, item in enumerate(items) if several[i])
        for i, script in enumerate(scripts[:-1]):
            if script.when is None:
                self.fault((*place, i), "the scripts after one without `when` are never reached", "move it to the end, or give it a `when`")
        return scripts

    def one_script(self, place: Place, written: Plain) -> AgentScript:
        fields = self.mapping(place, written, "a script", "write `when` and `turns`")
        self.known(place, fields, ("when", "turns"))
        turns = self.items((*place, "turns"), fields.get("turns"), "`turns`", "write a list of turns")
        return AgentScript(when=self.pattern(place, fields, "when"), turns=self.turns((*place, "turns"), turns))

    def turns(self, place: Place, written: list[Plain]) -> tuple[ScriptedTurn, ...]:
        return tuple(self.turn((*place, i), item) for i, item in enumerate(written))

    def turn(self, place: Place, written: Plain) -> ScriptedTurn:
        fields = self.mapping(place, written, "a turn", f"write one of {', '.join(TURN_KEYS)}")
        self.known(place, fields, TURN_KEYS)
        if isinstance(written, dict):
            self.sense(place, fields)
        calls = self.items((*place, "calls"), fields["calls"], "`calls`", "write a list of calls") if "calls" in fields else []
        tokens = self.usage((*place, "usage"), fields.get("usage", {}))
        return ScriptedTurn(
            line=self.document.line(place),
            text=self.text(place, fields, "text") or "",
            calls=tuple(self.call((*place, "calls", i), call) for i, call in enumerate(calls)),
            expect=self.pattern(place, fields, "expect"),
            hold=self.event(place, fields),
            fail=self.text(place, fields, "fail"),
            input_tokens=tokens.get("input_tokens", 0),
            output_tokens=tokens.get("output_tokens", 0),
        )

    def sense(self, place: Place, fields: Mapping[str, Plain]) -> None:
        if fields.keys() <= set(TURN_KEYS) and not fields.keys() & {"text", "calls", "fail"}:
            self.fault(place, "the turn says nothing", "give it `text`, `calls` or `fail`")
        if "fail" in fields and fields.keys() & {"text", "calls", "usage"}:
            self.fault((*place, "fail"), "a turn that fails says nothing else", "take `text`, `calls` and `usage` away, or `fail`")

    def event(self, place: Place, fields: Mapping[str, Plain]) -> str | None:
        name = self.text(place, fields, "await")
        if name is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            self.fault((*place, "await"), "an event's name is letters, digits, `-` and `_`, 64 at most", "give it such a name")
        return name

    def call(self, place: Place, written: Plain) -> ScriptedCall:
        fields = self.mapping(place, written, "a call", "write `tool` and `arguments`")
        self.known(place, fields, ("tool", "arguments"))
        tool = self.text(place, fields, "tool")
        if not tool and isinstance(written, dict):
            self.fault(place, "the call names no tool", "add `tool`")
        arguments = self.mapping((*place, "arguments"), fields.get("arguments", {}), "`arguments`", "write a map, name to value")
        return ScriptedCall(tool=tool or "", arguments=dict(arguments))

    def usage(self, place: Place, written: Plain) -> dict[str, int]:
        fields = self.mapping(place, written, "`usage`", "write `input_tokens` and `output_tokens`")
        self.known(place, fields, ("input_tokens", "output_tokens"))
        read: dict[str, int] = {}
        for key, value in fields.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                self.fault((*place, key), f"`{key}` is not a number of tokens", "write a whole number, 0 or more")
            else:
                read[key] = value
        return read

    # the forms that values take

    def mapping(self, place: Place, written: Plain, what: str, remedy: str) -> dict[str, Plain]:
        if isinstance(written, dict):
            return written
        if not self.document.faults:
            self.fault(place, f"{what} is not a map", remedy)
        return {}

    def items(self, place: Place, written: Plain, what: str, remedy: str) -> list[Plain]:
        if isinstance(written, list):
            return written
        self.fault(place, f"{what} is not a list", remedy)
        return []

    def known(self, place: Place, fields: Mapping[str, Plain], keys: tuple[str, ...]) -> None:
        for key in fields:
            if key not in keys:
                self.fault((*place, key), f"the key `{key}` is not known here", f"use one of {', '.join(keys)}")

    def text(self, place: Place, fields: Mapping[str, Plain], key: str) -> str | None:
        value = fields.get(key)
        if key in fields and not isinstance(value, str):
            self.fault((*place, key), f"`{key}` is not text", "put it in quotes")
        return value if isinstance(value, str) else None

    def pattern(self, place: Place, fields: Mapping[str, Plain], key: str) -> re.Pattern[str] | None:
        text = self.text(place, fields, key)
        try:
            return None if text is None else re.compile(text)
        except re.error as error:
            self.fault((*place, key), f"`{key}` is not a regular expression: {error}", "mend it; a `(` that is meant needs a \\ before it")
            return None
