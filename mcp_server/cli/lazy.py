"""A group of commands whose modules are loaded when one of them is called, and whose errors are words, not tracebacks.

Not a plug-in registry: the table of commands is written out in `main`.
"""

import gc
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import click

from mcp_server.errors import RemitError


class Told(click.ClickException):
    """A failure that people are told in one clear text on stderr."""

    exit_code = 2


class LazyGroup(click.Group):
    """Commands by name, each `module:attribute`. `remit serve` must not pay for what `remit audit` needs."""

    def __init__(self, name: str | None = None, *, places: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self.places]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.places:
            return super().get_command(ctx, cmd_name)
        module, attribute = self.places[cmd_name].split(":")
        command = getattr(loaded(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - the table is ours; a wrong entry is a fault of this program
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what Remit raises on purpose becomes its text.

        Raises:
            Told: Instead of any `RemitError`, also one that a task group wrapped.
        """
        try:
            return super().invoke(ctx)
        except RemitError as error:
            raise Told(str(error)) from error
        except BaseExceptionGroup as group:
            expected, rest = group.split(RemitError)
            if expected is None or rest is not None:
                raise
            raise Told("\n".join(dict.fromkeys(str(error) for error in _leaves(expected)))) from group


def loaded(module: str) -> ModuleType:
    """The module, loaded with the garbage collector at rest: next to nothing that loading makes is garbage, and looking for it takes a
    tenth of the time. What stays is set apart, so that later collections need not look at it.
    """
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.freeze()
        gc.enable()


def _leaves(group: BaseExceptionGroup[RemitError]) -> list[RemitError]:
    found: list[RemitError] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
