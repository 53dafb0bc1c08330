"""Whatever stands in a file, reading it gives a value or faults with places, and never an exception of another kind."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.agents.front_matter import AgentFile, read_agent
from mcp_server.agents.schema import FrontMatter
from mcp_server.settings.blocks import Source
from mcp_server.settings.schema import AgentSettings, Limits, SettingsFile
from mcp_server.settings.source import read_source
from tests.campaign import search

WORDS = st.sampled_from(
    ["", "*", "edit", "bash", "allow", "deny", "self", "read", "gh__x", "a:b", "build", "inherit", "default", "limits.depth"]
)
MODELS = (SettingsFile, FrontMatter, AgentSettings, Limits)
OTHERS = ("permission", "pattern", "action", "scope", "when", "reach", "opaque", "zzz", "*", "edit", "todowrite", "gh__x", "build")
KEYS = st.sampled_from([*(name for model in MODELS for name in model.model_fields), *OTHERS])
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
DATA = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20)


@pytest.mark.parametrize("source", ["managed", "user", "local", "project"])
@search(40)
@given(data=st.dictionaries(KEYS, DATA, max_size=5))
def test_no_settings_raise(source: Source, data: dict[str, Any]):
    read, faults = read_source(json.dumps(data), "f", source)
    assert (read is None) == bool(faults)
    assert all(fault.line is not None and fault.problem and fault.remedy for fault in faults)


@given(data=st.dictionaries(KEYS, DATA, max_size=5), body=st.text(max_size=5))
def test_no_front_matter_raises(data: dict[str, Any], body: str):
    read = read_agent(f"---\n{json.dumps(data)}\n---\n{body}", "/x/one.md", where="workspace", workspace="/w")
    assert isinstance(read, AgentFile) or (read and all(fault.problem and fault.remedy for fault in read))
