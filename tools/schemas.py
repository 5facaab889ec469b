"""Write docs/reference/schemas: a JSON schema of every stored format and of what `--json` prints.

    python tools/schemas.py            write them
    python tools/schemas.py --check    exit 1 and show the difference if a shape has changed

The shapes are read from real output (tools/schema_samples.py), the tables of an archive from the
database, the configuration file from the table of settings. A key that every sample has is
required; a key that none has is not allowed, so that a new one is noticed; a value that is null in
all samples is left open.
"""

import argparse
import difflib
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_mesh.base.typed import option_types
from memory_mesh.cli.command_table import COMMANDS
from memory_mesh.config.tables import NO_OPTION, SETTINGS, WRITTEN, Settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools import schema_samples  # noqa: E402  # of this checkout

FOLDER = ROOT / "docs/reference/schemas"
TOOLS = "https://github.com/memory-mesh/memory-mesh/blob/main/src/memory_mesh/agents/mcp/tools.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
OPEN = {"change", "metadata"}  # objects whose keys and values are the user's
MAPS = {  # objects whose keys are not fixed: names of numbers, statuses, checks, ids
    *("by_status", "checked", "config", "features", "lifts", "parts", "read_as", "redacted"),
    *("shares", "texts", "words"),
}
MEMORY = {"id", "type", "kind", "status", "channel", "content"}  # what every shown memory has
FILES = {
    "archive-manifest": "`manifest.json` in an archive (`export`)",
    "archive-rows": "a line of `tables/NAME.jsonl` in an archive, under the name of its table",
    "backup-manifest": "`manifest.json` of a backup",
    "config-file": "`config.toml`, read as JSON",
    "error": "a command that failed",
    "head-file": "`namespaces/NAME.head`, one line of text",
}
HEAD = r"^v1 [0-9a-f]{32} \d+ \d+ \d+ [0-9a-f]{64} [0-9a-f]{8} *\n$"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_COLUMNS: Mapping[str, Schema] = {
    "INTEGER": {"type": "integer"},
    "REAL": {"type": "number"},
    "TEXT": {"type": "string"},
    "BLOB": {
        "type": "object",
        "properties": {"base64": {"type": "string"}},
        "required": ["base64"],
        "additionalProperties": False,
    },
}
_SETTINGS: Mapping[str, Schema] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "PathLike[str]": {"type": "string"},
    "Sequence[str]": {"type": "array", "items": {"type": "string"}},
    "Sequence[Mapping[str, object]]": {"type": "array", "items": {"type": "object"}},
    "Mapping[str, Mapping[str, str]]": {"type": "object"},
    "Mapping[str, Mapping[str, object]]": {"type": "object"},
    "Mapping[str, int]": {
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 0},
    },
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when stale")
    check = parser.parse_args(arguments).check
    wanted = made()
    stale = False
    for path in sorted({*wanted, *FOLDER.iterdir()}):
        text = wanted.get(path, "")
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        if text == there:
            continue
        stale = True
        name = str(path.relative_to(ROOT))
        if check:
            lines = difflib.unified_diff(there.splitlines(), text.splitlines(), name, "now", n=2)
            print("\n".join(lines))
        elif text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
        else:
            path.unlink()
            print(f"removed {name}")
    if stale and check:
        print("A shape changed. If that is meant: python tools/schemas.py", file=sys.stderr)
    return int(stale and check)


def made() -> dict[Path, str]:
    """Every file of the folder."""
    with tempfile.TemporaryDirectory() as folder:
        samples = schema_samples.samples(Path(folder))
        columns = schema_samples.table_columns(Path(folder) / "store/namespaces/default.db")
    memories = [each for document in samples.values() for each in _memories(document)]
    schemas = {name: shape(name, values, memories) for name, values in samples.items()}
    tables = {table["name"]: table["columns"] for table in samples["archive-manifest"][0]["tables"]}
    schemas["archive-rows"] = _rows(tables, columns)
    schemas["config-file"] = _config()
    schemas["head-file"] = {"type": "string", "pattern": HEAD, "maxLength": 192}
    files = {
        FOLDER / f"{name}.json": _text({"$schema": DIALECT, "title": _about(name), **schema})
        for name, schema in schemas.items()
    }
    return {FOLDER / "README.md": _page(sorted(schemas)), **files}


def shape(name: str, values: Sequence[Any], memories: Sequence[Any] = ()) -> Schema:
    """The narrowest schema that all values of this name fit."""
    kinds = {_kind(value) for value in values}
    if kinds == {"null"}:
        return {}
    if {"integer", "number"} <= kinds:
        kinds.remove("integer")
    found: Schema = {"type": kinds.pop() if len(kinds) == 1 else sorted(kinds)}
    strings = [value for value in values if isinstance(value, str)]
    if strings and all(map(_TIME.fullmatch, strings)):
        found["format"] = "date-time"
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        found["items"] = shape(name, items, memories)
    objects = [value for value in values if isinstance(value, dict)]
    if objects and name in MAPS:
        inside = [each for value in objects for each in value.values()]
        found["additionalProperties"] = shape("value", inside, memories) if inside else True
    elif objects and name not in OPEN:
        found |= _object(objects, memories)
    return found


def _object(objects: list[dict[str, Any]], memories: Sequence[Any]) -> Schema:
    if all(each.keys() >= MEMORY for each in objects):
        objects = [*objects, *memories]
    keys = dict.fromkeys(key for each in objects for key in each)
    return {
        "properties": {
            key: shape(key, [each[key] for each in objects if key in each], memories)
            for key in keys
        },
        "required": [key for key in keys if all(key in each for each in objects)],
        "additionalProperties": False,
    }


def _memories(document: Any) -> Iterable[dict[str, Any]]:  # noqa: ANN401  # any JSON
    if isinstance(document, list):
        for each in document:
            yield from _memories(each)
    elif isinstance(document, dict):
        if document.keys() >= MEMORY and "recorded_until" not in document:
            yield document
        yield from _memories(list(document.values()))


def _kind(value: Any) -> str:  # noqa: ANN401  # any JSON
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _rows(
    tables: Mapping[str, Sequence[str]], columns: Mapping[str, Mapping[str, tuple[str, bool]]]
) -> Schema:
    found: dict[str, Schema] = {}
    for table, names in tables.items():
        types = {name: columns[table][name] for name in names}
        found[table] = {
            "type": "object",
            "properties": {
                name: {"anyOf": [_COLUMNS[kind], {"type": "null"}]} if optional else _COLUMNS[kind]
                for name, (kind, optional) in types.items()
            },
            "required": list(names),
            "additionalProperties": False,
        }
    return {"type": "object", "properties": found, "additionalProperties": False}


def _config() -> Schema:
    kinds = {"store": "str | PathLike[str]"} | {
        name: _written(kind) for name, kind in option_types(Settings).items()
    }
    settings = {name: _setting(kinds[name], about) for name, about in SETTINGS.items()}
    settings["daemon"] = {"type": "boolean", "description": NO_OPTION["daemon"]}
    settings["daemon_idle_seconds"] = {
        "type": "number",
        "description": NO_OPTION["daemon_idle_seconds"],
    }
    privacy = {
        name.removeprefix("privacy_"): settings[name] for name in WRITTEN if "privacy" in name
    }
    settings["privacy"] = {
        "type": "object",
        "properties": privacy,
        "additionalProperties": False,
    }
    return {"type": "object", "properties": settings, "additionalProperties": False}


def _written(kind: Any) -> str:  # noqa: ANN401  # an annotation
    """A type as it is written in the source."""
    return re.sub(r"\b(?:collections\.abc|os)\.", "", str(kind.__origin__))


def _setting(types: str, about: str) -> Schema:
    allowed = [_SETTINGS[each] for each in types.removesuffix(" | None").split(" | ")]
    distinct = [each for at, each in enumerate(allowed) if each not in allowed[:at]]
    kind = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    return {"description": about, **kind}


def _about(name: str) -> str:
    return FILES.get(name) or f"`memory-mesh {name} --json`: {COMMANDS[name]}"


def _page(names: Sequence[str]) -> str:
    rows = "\n".join(f"| [{name}]({name}.json) | {_about(name)} |" for name in names)
    return f"""\
# Schemas

JSON schemas of what the commands print with `--json` and of the files in a store, a backup and an
archive. They are read from real output: a key that is not in a schema does not occur, and one that
is `required` is always there. `python tools/schemas.py` writes them; CI fails when a shape changed
and its schema did not.

The answers of the MCP tools have theirs as `outputSchema` in [tools.json]({TOOLS}).

| schema | what it describes |
|---|---|
{rows}
"""


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
