"""What every map of a settings file is made of: blocks with strict keys, and who may set each."""

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Source = Literal["managed", "user", "local", "project", "cli"]
"""Where a value is written. `local` and `project` lie in the workspace; only the first four are files."""

SOURCES: tuple[Source, ...] = get_args(Source)
PERSONAL: tuple[Source, ...] = ("managed", "user", "local")
EVERYWHERE: tuple[Source, ...] = ("managed", "user", "local", "project")


class Block(BaseModel):
    """One map of a file. Unknown keys are faults, and words are not turned into numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def key(default: object, says: str, *, example: object, sources: tuple[Source, ...] = ()) -> Any:  # the field's own type rules
    """A field: its default, what it is, one example, and who may set it (empty: as the block around it)."""
    extra: dict[str, Any] = {"sources": list(sources)} if sources else {}
    return Field(default, description=says, examples=[example], json_schema_extra=extra)
