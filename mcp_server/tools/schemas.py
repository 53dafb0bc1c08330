"""JSON Schemas of arguments and results as pydantic derives them. Deriving takes milliseconds, and every server, connection and run shows
the same ones: each is derived once.
"""

import json
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

Mode = Literal["validation", "serialization"]


def json_schema(model: type[BaseModel], mode: Mode = "validation") -> dict[str, Any]:
    """The model's schema; the caller's own, to be changed at will."""
    return json.loads(_derived(model, mode))


@lru_cache(maxsize=512)
def _derived(model: type[BaseModel], mode: Mode) -> str:
    return json.dumps(model.model_json_schema(mode=mode))
