"""Reference pages made from the schemas, so that they cannot say anything else than the check does."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import yaml

from mcp_server.settings.schema import SettingsFile

Schema = Mapping[str, Any]

MADE = "Made from the schema; after changing it run `python -m mcp_server.agents.reference docs/reference`."

_INTRO = f"""# Settings

{MADE}
The same as JSON Schema: [settings.schema.json](settings.schema.json).

## Sources

- **managed**: `/etc/remit/settings.yaml`, then `/etc/remit/settings.d/*.yaml` by name. The operator's. On Linux and macOS the
  files and both folders must be root's, and nobody else may be able to write them.
- **user**: `settings.yaml` in your configuration folder. Yours, everywhere.
- **project**: `.remit/settings.yaml` in the workspace. Everybody's who works there. Until you `remit trust` the workspace only
  its deny and ask rules are heard.
- **local**: `.remit/settings.local.yaml` in the workspace. Yours, there: where version control ignores it (or there is none) and
  the workspace is trusted. Else it counts as project.
- **cli**: flags of `remit serve`. Yours, this time.

`REMIT_CONFIG_DIR`, `REMIT_STATE_DIR` and `REMIT_CACHE_DIR` (absolute paths) move your own folders. Nothing moves the managed one.

**Rules** (`permission`) never override across sources: each source is a layer, and the strictest layer wins; within a layer the
last matching rule does. User, local and cli are one layer, in this order.

**Single values**: cli, then local, then user, then project (once trusted), then managed. What managed settings name in `lock` is
theirs alone. `primary_tools` of all sources add up, and of several `max_mode` the strictest holds.
From a workspace never read: the mode, keys and addresses of providers, upstream servers, channels, sandbox settings.

**Trust** binds the workspace's real path to a digest of everything in `.remit/` but `.remit/plans/`, where agents write. A change
asks again. Links in `.remit/` are not followed.

**Form.** YAML, one document. Keys written twice, unknown or empty, anchors, aliases, tags, and `on`, `no` and the like as keys are
faults. A pattern that starts with `*` needs quotes. A file that is there and cannot be read stops the start.
"""

RULES = """
## Rules

A map from permission to action (`allow`, `ask`, `deny`), or to a map from pattern to action, in order:

```yaml
permission:
  "*": ask
  bash:
    "*": ask
    "git status *": allow
    "rm *": deny
```

or a list, where more can be said of a rule:

```yaml
permission:
  - {permission: edit, pattern: "docs/*", action: allow, reason: docs are free}
  - {permission: github__create_issue, action: allow, when: {repo: example/one}}
```

- `permission`: `read edit list glob grep external_directory bash webfetch websearch task doom_loop todowrite question` or
  `<server>__<tool>`; wildcards allowed.
- `pattern`: `*` is any run of characters, `?` exactly one; absent: `*`. For `todowrite`, `question` and `<server>__<tool>` nothing
  but `*`. A path without a root is taken from the workspace; `~/` is the home folder.
- `action`: `allow`, `ask` or `deny`.
- `reason`: shown to people.
- `scope`: `self`: not for children. In agent definitions only.
- `when`: tests of an upstream tool's arguments: a value, a list of values, or `{equals, matches, minimum, maximum, one_of}`; dots
  reach inside. Only `matches` knows wildcards; a value written alone with a `*` in it is a fault.
- `opaque`: `allow`: this allow also stands for parts of a command that cannot be read.
- `answer_by`, `reach`: in an ask of managed settings: the role that must answer, and the widest ruling (`once`, `session`, `tree`).
"""


def settings_page() -> str:
    """`settings.md`."""
    schema = SettingsFile.model_json_schema()
    return "\n".join([_INTRO, "## Keys\n", *table(schema, schema, sources=True), *_blocks(schema), RULES])


def schema_text(schema: Schema, title: str) -> str:
    """A JSON Schema as a file."""
    return (
        json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}, indent=2, ensure_ascii=False)
        + "\n"
    )


def table(node: Schema, root: Schema, *, sources: bool) -> Iterator[str]:
    """The keys of one object as a table."""
    yield "| key | type | default |" + (" may be set by |" if sources else "") + " what it is | example |"
    yield "|---|---|---|" + ("---|" if sources else "") + "---|---|"
    for name, field in node["properties"].items():
        default = "needed" if name in node.get("required", ()) else _default(field)
        cells = [f"`{name}`", _type(field, root), default, *([", ".join(field["sources"])] if sources else [])]
        cells += [_about(field, root), f"`{_flow({name: field['examples'][0]})}`"]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _blocks(root: Schema) -> Iterator[str]:
    """A table for each map whose keys are fixed, the first time that it comes."""
    for name, path in sections(root).items():
        yield f"\n{'###' if '.' in path.removesuffix('.<name>') else '##'} `{path}`\n"
        yield from table(root["$defs"][name], root, sources=False)


def _about(field: Schema, root: Schema) -> str:
    """What it is. Where the map that it leads to says the very same, the schema says it there alone."""
    return str(field.get("description") or root["$defs"][next(_led_to(field))[0]]["description"])


def sections(root: Schema) -> dict[str, str]:
    """Where each map stands first, by its name among the definitions."""
    found: dict[str, str] = {}

    def walk(node: Schema, before: str) -> None:
        for name, field in node.get("properties", {}).items():
            for definition, end in _led_to(field):
                inner = root["$defs"][definition]
                if definition not in found and "properties" in inner:
                    found[definition] = f"{before}{name}{end}"
                    walk(inner, f"{before}{name}{end}.")

    walk(root, "")
    return found


def _led_to(field: Schema) -> Iterator[tuple[str, str]]:
    """The definitions that a field leads to, and what stands behind its name on the way there."""
    if "$ref" in field:
        yield field["$ref"].rsplit("/", 1)[-1], ""
    for option in field.get("anyOf", ()):
        yield from _led_to(option)
    if isinstance(items := field.get("items"), dict):
        yield from _led_to(cast("Schema", items))
    if isinstance(others := field.get("additionalProperties"), dict):
        yield from ((definition, f".<name>{end}") for definition, end in _led_to(cast("Schema", others)))


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None or isinstance(value, dict):
        return "none"
    return f"`{_flow(value)}`"


def _type(field: Schema, root: Schema) -> str:
    """A field's type in words."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        inner = root["$defs"][name]
        return _words(inner["enum"]) if "enum" in inner else f"map, see `{sections(root)[name]}`"
    if "anyOf" in field:
        options = [option for option in field["anyOf"] if option.get("type") != "null"]
        return "rules" if len(options) > 1 else _type(options[0], root)
    if "enum" in field:
        return _words(field["enum"])
    kind = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    match field["type"]:
        case "array":
            return f"list of {_several(_type(field['items'], root))}"
        case "object":
            others = field.get("additionalProperties")
            plain = not isinstance(others, dict) or ("type" not in others and "$ref" not in others)
            return "map" if plain else f"map of {_several(_type(cast('Schema', others), root))}"
        case other:
            return kind[other] + _bounds(field)


def _words(values: Iterable[object]) -> str:
    return " or ".join(f"`{word}`" for word in values)


def _several(kind: str) -> str:
    """Of what a list or a map is made."""
    return f"maps{kind.removeprefix('map')}" if kind.startswith("map") else kind


def _bounds(field: Schema) -> str:
    low = field.get("minimum", field.get("exclusiveMinimum"))
    high = field.get("maximum")
    said = [
        *([f"{'from' if 'minimum' in field else 'above'} {_number(low)}"] if low is not None else []),
        *([f"to {_number(high)}"] if high is not None else []),
    ]
    return f", {' '.join(said)}" if said else ""


def _number(value: float) -> str:
    return f"{value:g}" if value < 1000 else f"{int(value)}"


def _flow(value: object) -> str:
    """YAML on one line."""
    dump = yaml.safe_dump  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the stubs leave `width` unknown
    text = dump(value, default_flow_style=True, width=10_000, sort_keys=False).strip()
    text = text.removesuffix("...").strip()
    return text[1:-1] if isinstance(value, dict) else text
